package session

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/text"
)

// CheckRedirect checks a redirect URL (contract 3.14): https, or http on localhost and names below it (RFC 6761, section 6.3), at the
// Active hostname of the person's organization (without person: of the request host's), at PUBLIC_URL's host, or at an origin in
// RedirectOrigins.
// Errors: identity.ErrRedirectURI.
func (ts *Tokens) CheckRedirect(ctx context.Context, p id.Person, requestHost hosts.Host, raw string) error {
	u, err := url.Parse(raw)
	if err != nil || text.Line(raw, text.MaxURL) != nil || u.User != nil || u.Opaque != "" || u.Hostname() == "" ||
		strings.ContainsAny(raw, " \\") {
		return identity.ErrRedirectURI
	}
	name := strings.ToLower(u.Hostname())
	local := name == "localhost" || strings.HasSuffix(name, ".localhost")
	if u.Scheme != "https" && !(u.Scheme == "http" && local) {
		return identity.ErrRedirectURI
	}
	origin := originOf(u)
	allowed := slices.ContainsFunc(ts.settings.RedirectOrigins, func(o string) bool {
		other, err := url.Parse(o)
		return err == nil && originOf(other) == origin
	})
	if allowed {
		return nil
	}
	active, err := ts.store.ActiveHost(ctx, p, requestHost.Organization)
	if err != nil {
		return err
	}
	for _, name := range []string{active, ts.settings.PublicURL.Hostname()} {
		home, err := url.Parse(ts.hosts.URL(name, ""))
		if err != nil {
			continue
		}
		home.Scheme = u.Scheme // https is allowed even if PUBLIC_URL is http
		if home.Port() == "" && ts.settings.PublicURL.Scheme != u.Scheme {
			home.Host = net.JoinHostPort(home.Hostname(), defaultPort(ts.settings.PublicURL.Scheme))
		}
		if originOf(home) == origin {
			return nil
		}
	}
	return identity.ErrRedirectURI
}

// originOf returns the normalized origin of a URL: lower case, with an explicit port.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = defaultPort(u.Scheme)
	}
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

func defaultPort(scheme string) string {
	if strings.EqualFold(scheme, "http") {
		return "80"
	}
	return "443"
}
