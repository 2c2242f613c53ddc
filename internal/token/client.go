package token

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/hosts"
)

// Client is what a request itself tells of its sender. It is set for anonymous callers too.
type Client struct {
	Address   netip.Addr // behind a trusted proxy the one it reports (contract 1.7)
	UserAgent string
	Host      hosts.Host // the host the request was sent to
}

// CallerKey is what the caller of a request, a *Caller, is called in its context.
type CallerKey struct{}

// WithCaller returns a context that carries the caller of a request. Handlers read it with CallerFrom and pass it on
// as an argument; nothing below them looks into the context.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, CallerKey{}, &c)
}

// CallerFrom returns the caller that WithCaller put there, else an anonymous one.
func CallerFrom(ctx context.Context) Caller {
	if c, ok := ctx.Value(CallerKey{}).(*Caller); ok {
		return *c
	}
	return Caller{}
}

// CookieName is the cookie that carries an access token to images and documents, which browsers fetch without headers.
const CookieName = "acct"

// AcctCookie makes the cookie that POST /auth/access?cookie=true sets (contract 2.6): for this host only, out of reach of
// scripts, never sent from another site. secure is false only where the public URL is http.
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

// Bearer returns the token of a request's Authorization header. present is false when there is no such header at all;
// a header of another scheme, or more than one, counts as present with an empty token.
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
