package service

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
)

// Access is the result of POST /auth/access.
type Access struct {
	Token     string // the access token
	ExpiresAt time.Time
	IDToken   string // replaces the presented one; else empty
}

// IssueAccess exchanges an ID token for an access token, in one database round trip unless the ID token is replaced: one that
// was blacklisted with grace, once (contract 2.4), and one whose primary address was verified since (contract 2.2).
// Errors: token.ErrEnded.
func (s *Service) IssueAccess(ctx context.Context, caller token.Caller) (Access, error) {
	t, err := s.current(ctx, caller)
	if err != nil {
		return Access{}, err
	}
	var a Access
	if t.JTI != caller.JTI {
		if a.IDToken, err = s.idToken(ctx, t); err != nil {
			return Access{}, err
		}
	}
	issued, err := s.access(ctx, t)
	a.Token, a.ExpiresAt = issued.Token, issued.ExpiresAt
	return a, err
}

// access issues an access token for a stored ID token.
func (s *Service) access(ctx context.Context, t postgres.Issued) (a Access, err error) {
	claims := s.claims(t)
	claims.JTI, claims.IssuedAt = id.New[id.Token](), s.now()
	claims.ExpiresAt = claims.IssuedAt.Add(s.issuer.Lifetimes().Access)
	if claims.ExpiresAt.After(t.ExpiresAt) {
		claims.ExpiresAt = t.ExpiresAt
	}
	a.ExpiresAt = claims.ExpiresAt
	a.Token, err = s.issuer.Issue(ctx, token.KindAccess, claims)
	return a, err
}

// current returns the row of the caller's ID token, or of the one that replaces it. A call that replaced it at the same
// time wins.
// Errors: token.ErrEnded.
func (s *Service) current(ctx context.Context, caller token.Caller) (postgres.Issued, error) {
	const tries = 3 // each further try follows a parallel replacement
	for range tries {
		t, err := s.usable(ctx, s.store, caller)
		if errors.Is(err, token.ErrEnded) && !caller.Cookie {
			t, err = s.successor(ctx, s.store, caller)
		}
		raised := t.AuthLevel == 0 && t.EmailVerified
		if err != nil || t.State == "active" && !raised {
			return t, err
		}
		r := s.replacement(caller.Client)
		r.Overlap = t.State == "active" // several calls may find a raised level; of calls with a graced token one succeeds
		t, err = s.store.ReplaceToken(ctx, caller.Person, t.JTI, r)
		if !errors.Is(err, identity.ErrTokenNotFound) {
			return t, err
		}
	}
	return postgres.Issued{}, token.ErrEnded
}

// UpgradeToken replaces the caller's ID token by one with current claims, in one database round trip. The expiry stays
// unless authLevel rises. A token of the cookie that another call has just replaced is not replaced again.
// Errors: token.ErrEnded.
func (s *Service) UpgradeToken(ctx context.Context, caller token.Caller) (idToken string, err error) {
	t, err := s.store.ReplaceToken(ctx, caller.Person, caller.JTI, s.replacement(caller.Client))
	if caller.Cookie && errors.Is(err, identity.ErrTokenNotFound) {
		t, err = s.successor(ctx, s.store, caller)
	}
	if err != nil {
		return "", endedError(err)
	}
	return s.idToken(ctx, t)
}

// KeepSession records that the caller's ID token goes into the session cookie (contract 2.9).
// Errors: token.ErrEnded.
func (s *Service) KeepSession(ctx context.Context, caller token.Caller) error {
	return endedError(s.store.PutInCookie(ctx, caller.Person, caller.JTI, s.now(), s.idleSince()))
}

// IssueUIDToken returns a token that identifies the caller, never expires and grants nothing.
// Errors: token.ErrEnded, token.ErrFactorRequired.
func (s *Service) IssueUIDToken(ctx context.Context, caller token.Caller) (string, error) {
	t, err := s.active(ctx, s.store, caller)
	if err != nil {
		return "", err
	}
	if factorRequired(t) {
		return "", token.ErrFactorRequired
	}
	if err := s.recordOwn(ctx, s.store, caller, "token.uid", caller.Person.String(), nil); err != nil {
		return "", err
	}
	return s.issuer.Issue(ctx, token.KindUID, token.Claims{Person: caller.Person, Epoch: t.Epoch})
}

// ParkToken issues a pickup token that a client at another origin exchanges for an ID token. Unless the session is
// kept, the caller's ID token ends.
// Errors: fault.ErrInvalid, identity.ErrRedirectURI, token.ErrEnded, token.ErrFactorRequired,
// identity.ErrPersonNotFound.
func (s *Service) ParkToken(ctx context.Context, caller token.Caller, in identity.Parking) (pickup string, err error) {
	if err := in.Check(); err != nil {
		return "", err
	}
	t, err := s.active(ctx, s.store, caller)
	if err != nil {
		return "", s.endedOrDeleted(ctx, caller, err)
	}
	if factorRequired(t) {
		return "", token.ErrFactorRequired
	}
	if err := s.checkRedirect(ctx, caller.Person, caller.Client.Host, *in.RedirectURI); err != nil {
		return "", err
	}
	now := s.now()
	k := postgres.Parking{Pickup: id.New[id.Token](), Now: now, ExpiresAt: now.Add(s.issuer.Lifetimes().Pickup)}
	claims := token.Claims{Person: caller.Person, JTI: k.Pickup, IssuedAt: now, ExpiresAt: k.ExpiresAt}
	if in.KeepSession {
		k.NewSID = id.New[id.Session]()
	}
	if in.Challenge != nil {
		k.Challenge = *in.Challenge
	}
	if in.State != nil {
		claims.Nonce = *in.State
	}
	if claims.Session, err = s.store.Park(ctx, caller.Person, t.JTI, k); err != nil {
		return "", s.endedOrDeleted(ctx, caller, endedError(err))
	}
	return s.issuer.Issue(ctx, token.KindPickup, claims)
}

// endedOrDeleted maps token.ErrEnded to identity.ErrPersonNotFound if the person no longer exists. Other errors stay.
func (s *Service) endedOrDeleted(ctx context.Context, caller token.Caller, err error) error {
	if !errors.Is(err, token.ErrEnded) {
		return err
	}
	exists, failed := s.store.PersonExists(ctx, caller.Person)
	switch {
	case failed != nil:
		return failed
	case !exists:
		return identity.ErrPersonNotFound
	}
	return err
}

// PickUpToken exchanges the caller's pickup token, once, for an ID token with the expiry of the parked one. After a
// wrong verifier the token stays parked.
// Errors: identity.ErrVerifier, identity.ErrNothingParked.
func (s *Service) PickUpToken(ctx context.Context, caller token.Caller, verifier string) (idToken string, err error) {
	challenge := ""
	if verifier != "" {
		sum := sha256.Sum256([]byte(verifier))
		challenge = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	t, err := s.store.Pickup(ctx, caller.Person, caller.JTI, challenge, s.replacement(caller.Client))
	if err != nil {
		return "", err
	}
	return s.idToken(ctx, t)
}

// checkRedirect checks a redirect URL (contract 3.14): https, or http on localhost and names below it (RFC 6761, section 6.3), at the
// active hostname of the person's organization (without person: of the request host's), at PUBLIC_URL's host, or at an origin in
// RedirectOrigins.
// Errors: identity.ErrRedirectURI.
func (s *Service) checkRedirect(ctx context.Context, p id.Person, requestHost hosts.Host, raw string) error {
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
	allowed := slices.ContainsFunc(s.settings.RedirectOrigins, func(o string) bool {
		other, err := url.Parse(o)
		return err == nil && originOf(other) == origin
	})
	if allowed {
		return nil
	}
	active, err := s.store.ActiveHost(ctx, p, requestHost.Organization)
	if err != nil {
		return err
	}
	for _, name := range []string{active, s.settings.PublicURL.Hostname()} {
		home, err := url.Parse(s.hosts.URL(name, ""))
		if err != nil {
			continue
		}
		home.Scheme = u.Scheme // https is allowed even if PUBLIC_URL is http
		if home.Port() == "" && s.settings.PublicURL.Scheme != u.Scheme {
			home.Host = net.JoinHostPort(home.Hostname(), defaultPort(s.settings.PublicURL.Scheme))
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
