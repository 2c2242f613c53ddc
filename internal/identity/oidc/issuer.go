package oidc

import (
	"net/url"
	"strings"

	"github.com/google/uuid"
)

// Microsoft's issuers of many tenants. Their discovery document names no issuer but a template with {tenantid}; each
// token's iss is that template with the token's tid. Microsoft's personal accounts are one tenant of their own.
const (
	tenantMark      = "{tenantid}"
	everyTenant     = "common"
	workTenants     = "organizations"
	personalTenants = "consumers"
	personalTenant  = "9188040d-6c67-4c5b-b112-36a304b66dad"
)

// googleBare is how Google may spell its issuer in tokens.
const (
	google     = "https://accounts.google.com"
	googleBare = "accounts.google.com"
)

// issuerRule decides which iss belongs to a configured issuer. The decision for Microsoft: a configured issuer whose
// path begins with common, organizations or consumers is accepted as a template. A token must then hold tid, a UUID of
// the tenants meant, and exactly the iss that it gives, and be signed by a key that is good for that iss. The person is
// known by that iss, so that no tenant can speak for another.
type issuerRule struct {
	configured string
	template   string // empty: iss is the configured issuer itself
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
		rule.template = u.Scheme + "://" + u.Host + "/" + tenantMark
		if rest != "" || strings.HasSuffix(u.Path, "/") {
			rule.template += "/" + rest
		}
	}
	return rule
}

// singleTenant reports whether one organization decides about every account of the issuer.
func singleTenant(c Client) bool {
	switch c.Type {
	case Keycloak:
		return true
	case Microsoft:
		return ruleOf(c).template == "" && !strings.Contains(c.Issuer, personalTenant)
	default: // Google and Apple give accounts to everybody
		return false
	}
}

// documented reports whether a discovery document with this issuer is that of the configured one.
func (r issuerRule) documented(issuer string) bool {
	if r.template == "" {
		return issuer == r.configured
	}
	return issuer == r.template || r.tenants == personalTenants && issuer == r.of(personalTenant)
}

// issued returns how the issuer of a token with these claims is spelled, and whether it is the configured one.
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

// covers reports whether iss can be that of a token of the configured issuer.
func (r issuerRule) covers(iss string) bool {
	before, after, many := strings.Cut(r.template, tenantMark)
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

// signs reports whether a key that the key set ties to an issuer may sign for iss. Microsoft publishes the keys of all
// tenants in one set and marks those that are good for some only.
func (r issuerRule) signs(keyIssuer, iss, tenant string) bool {
	if r.template == "" || keyIssuer == "" {
		return true
	}
	return strings.Replace(keyIssuer, tenantMark, tenant, 1) == iss
}

func (r issuerRule) of(tenant string) string {
	return strings.Replace(r.template, tenantMark, tenant, 1)
}
