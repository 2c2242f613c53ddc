// Which issuer belongs to a provider, which of them may vouch for whom, and which one organization controls.

package oidc

import (
	"net/url"
	"strings"

	"github.com/google/uuid"
)

// Microsoft's multi-tenant issuers. The issuer in their discovery document is a template with {tenantid}. The iss of a
// token is the template with the token's tid. Personal accounts are one tenant.
const (
	tenantPlaceholder = "{tenantid}"
	everyTenant       = "common"
	workTenants       = "organizations"
	personalTenants   = "consumers"
	personalTenant    = "9188040d-6c67-4c5b-b112-36a304b66dad" // the tenant of personal accounts
)

// Google's issuer, and its spelling in some tokens.
const (
	google     = "https://accounts.google.com"
	googleBare = "accounts.google.com"
)

// issuerRule decides which iss belongs to a configured issuer. A Microsoft issuer whose path begins with common,
// organizations or consumers is a template. A token of it must have a tid that is the UUID of an allowed tenant, the
// iss that results from it, and the signature of a key for that iss. That iss identifies the person, so that no tenant
// can issue tokens for persons of another.
type issuerRule struct {
	configured string
	template   string // empty: iss is the configured issuer
	tenants    string // common, organizations or consumers; only with template
}

func ruleOf(c Client) issuerRule {
	rule := issuerRule{configured: c.Issuer}
	u, err := url.Parse(c.Issuer)
	if c.Type != Microsoft || err != nil {
		return rule
	}
	first, rest, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	switch first {
	case everyTenant, workTenants, personalTenants:
		rule.tenants = first
		rule.template = u.Scheme + "://" + u.Host + "/" + tenantPlaceholder
		if rest != "" || strings.HasSuffix(u.Path, "/") {
			rule.template += "/" + rest
		}
	}
	return rule
}

// singleTenant reports whether one organization controls every account of the issuer.
func singleTenant(c Client) bool {
	switch c.Type {
	case Keycloak:
		return true
	case Microsoft:
		return ruleOf(c).template == "" && !strings.Contains(c.Issuer, personalTenant)
	default: // anybody can have an account of Google or Apple
		return false
	}
}

// documented reports whether issuer is the right one in the discovery document of the configured issuer.
func (r issuerRule) documented(issuer string) bool {
	if r.template == "" {
		return issuer == r.configured
	}
	return issuer == r.template || r.tenants == personalTenants && issuer == r.of(personalTenant)
}

// issued returns the normalized iss of a token with these claims, and whether the configured issuer covers it.
func (r issuerRule) issued(iss, tenant string) (string, bool) {
	if r.template == "" {
		if iss == googleBare && r.configured == google {
			return google, true
		}
		return iss, iss == r.configured
	}
	parsed, err := uuid.Parse(tenant)
	if err != nil || parsed.String() != tenant {
		return "", false
	}
	if personal := tenant == personalTenant; personal && r.tenants == workTenants || !personal && r.tenants == personalTenants {
		return "", false
	}
	return iss, iss == r.of(tenant)
}

// covers reports whether iss can be the iss of a token of the configured issuer.
func (r issuerRule) covers(iss string) bool {
	before, after, many := strings.Cut(r.template, tenantPlaceholder)
	if !many {
		return iss == r.configured
	}
	rest, starts := strings.CutPrefix(iss, before)
	tenant, ends := strings.CutSuffix(rest, after)
	if !starts || !ends {
		return false
	}
	_, issued := r.issued(iss, tenant)
	return issued
}

// signs reports whether a key with the member issuer in the key set may sign tokens of iss. Microsoft publishes the
// keys of all tenants in one set and marks those that are for some tenants only.
func (r issuerRule) signs(keyIssuer, iss, tenant string) bool {
	if r.template == "" || keyIssuer == "" {
		return true
	}
	return strings.Replace(keyIssuer, tenantPlaceholder, tenant, 1) == iss
}

func (r issuerRule) of(tenant string) string {
	return strings.Replace(r.template, tenantPlaceholder, tenant, 1)
}
