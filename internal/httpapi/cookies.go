package httpapi

import (
	"net/http"
	"net/url"
)

// SecureCookies reports whether cookies have the attribute Secure: everywhere but on http://localhost (contract 2.6).
func SecureCookies(public *url.URL) bool {
	return public.Scheme != "http" || public.Hostname() != "localhost"
}

// HostCookieName returns the name of a host-only cookie. Browsers accept the prefix from https only, with Secure, Path=/
// and no Domain, so that another host of the domain cannot set the cookie.
func HostCookieName(name string, secure bool) string {
	if secure {
		return "__Host-" + name
	}
	return name
}

// HostCookie returns a host-only session cookie of the browser that scripts cannot read. The caller sets its life.
func HostCookie(name, value string, secure bool, site http.SameSite) *http.Cookie {
	return &http.Cookie{
		Name: HostCookieName(name, secure), Value: value, Path: "/", HttpOnly: true, Secure: secure, SameSite: site,
	}
}
