package token

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/hosts"
)

// Client holds facts of a request about its sender. It is set for anonymous callers too.
type Client struct {
	Address   netip.Addr // behind a trusted proxy, the address that the proxy reports (contract 1.7)
	UserAgent string
	Browser   bool       // it keeps our cookies: it sent one, or its browser says that a page of this host sends the request
	Host      hosts.Host // the organization that the request's host selects
	HostName  string     // the name of the request's host, normalized; clients without a DNS name choose it freely

	SameOrigin bool // its browser says that a page of the same origin sends the request (contract 2.9)
}

// callerKey is the context key of the caller, a *Caller.
type callerKey struct{}

// WithCaller returns a context that carries the caller of a request. Handlers read it with CallerFrom and pass it to
// services as an argument; services and repositories do not read it from the context.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, &c)
}

// CallerFrom returns the caller that WithCaller stored, else an anonymous one.
func CallerFrom(ctx context.Context) Caller {
	if c, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return *c
	}
	return Caller{}
}

// CookieName is the cookie with an access token for images and documents, which browsers fetch without an Authorization
// header.
const CookieName = "acct"

// AcctCookie returns the cookie that POST /auth/access?cookie=true sets (contract 2.6): host-only, HttpOnly and
// SameSite=Strict. secure is false on http://localhost only. The name is the
// specification's, without a prefix.
func AcctCookie(raw string, expires time.Time, secure bool) *http.Cookie {
	return &http.Cookie{
		Name:     CookieName,
		Value:    raw,
		Path:     "/",
		Expires:  expires,
		HttpOnly: true,
		Secure:   secure,
		SameSite: http.SameSiteStrictMode,
	}
}

// staysPrefix marks the value of a session cookie that survives closing the browser. Requests do not carry its life.
const staysPrefix = "stay~"

// SessionCookieValue returns the value of the session cookie with an ID token (contract 2.9).
func SessionCookieValue(raw string, stays bool) string {
	if stays {
		return staysPrefix + raw
	}
	return raw
}

// SessionToken returns the ID token of a request's session cookie, whose name is given, and whether the cookie survives
// closing the browser. present is false without that cookie.
func SessionToken(r *http.Request, name string) (raw string, stays, present bool) {
	c, err := r.Cookie(name)
	if err != nil {
		return "", false, false
	}
	raw, stays = strings.CutPrefix(c.Value, staysPrefix)
	return raw, stays, true
}

// Bearer returns the token of a request's Authorization header. present is false without such a header. A header of
// another scheme, or more than one header, is present with an empty token.
func Bearer(r *http.Request) (raw string, present bool) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", false
	}
	scheme, rest, found := strings.Cut(values[0], " ")
	if len(values) > 1 || !found || !strings.EqualFold(scheme, "Bearer") {
		return "", true
	}
	return strings.Trim(rest, " "), true
}
