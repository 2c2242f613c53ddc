package session

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
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
func (ts *Tokens) IssueAccess(ctx context.Context, caller token.Caller) (Access, error) {
	t, err := ts.current(ctx, caller)
	if err != nil {
		return Access{}, err
	}
	var a Access
	if t.JTI != caller.JTI {
		if a.IDToken, err = ts.IDToken(ctx, t); err != nil {
			return Access{}, err
		}
	}
	issued, err := ts.AccessToken(ctx, t)
	a.Token, a.ExpiresAt = issued.Token, issued.ExpiresAt
	return a, err
}

// AccessToken issues an access token for a stored ID token.
func (ts *Tokens) AccessToken(ctx context.Context, t postgres.Issued) (a Access, err error) {
	claims := ts.claims(t)
	claims.JTI, claims.IssuedAt = id.New[id.Token](), ts.now()
	claims.ExpiresAt = claims.IssuedAt.Add(ts.issuer.Lifetimes().Access)
	if claims.ExpiresAt.After(t.ExpiresAt) {
		claims.ExpiresAt = t.ExpiresAt
	}
	a.ExpiresAt = claims.ExpiresAt
	a.Token, err = ts.issuer.Issue(ctx, token.KindAccess, claims)
	return a, err
}

// current returns the row of the caller's ID token, or of the one that replaces it. A call that replaced it at the same
// time wins.
// Errors: token.ErrEnded.
func (ts *Tokens) current(ctx context.Context, caller token.Caller) (postgres.Issued, error) {
	const tries = 3 // each further try follows a parallel replacement
	for range tries {
		t, err := ts.Usable(ctx, ts.store, caller)
		if errors.Is(err, token.ErrEnded) && !caller.Cookie {
			t, err = ts.successor(ctx, ts.store, caller)
		}
		raised := t.AuthLevel == 0 && t.EmailVerified
		if err != nil || t.State == "active" && !raised {
			return t, err
		}
		r := ts.Replacement(caller.Client)
		r.Overlap = t.State == "active" // several calls may find a raised level; of calls with a graced token one succeeds
		t, err = ts.store.ReplaceToken(ctx, caller.Person, t.JTI, r)
		if !errors.Is(err, identity.ErrTokenNotFound) {
			return t, err
		}
	}
	return postgres.Issued{}, token.ErrEnded
}

// UpgradeToken replaces the caller's ID token by one with current claims, in one database round trip. The expiry stays
// unless authLevel rises. A token of the cookie that another call has just replaced is not replaced again.
// Errors: token.ErrEnded.
func (ts *Tokens) UpgradeToken(ctx context.Context, caller token.Caller) (idToken string, err error) {
	t, err := ts.store.ReplaceToken(ctx, caller.Person, caller.JTI, ts.Replacement(caller.Client))
	if caller.Cookie && errors.Is(err, identity.ErrTokenNotFound) {
		t, err = ts.successor(ctx, ts.store, caller)
	}
	if err != nil {
		return "", EndedError(err)
	}
	return ts.IDToken(ctx, t)
}

// KeepSession records that the caller's ID token goes into the session cookie (contract 2.9).
// Errors: token.ErrEnded.
func (ts *Tokens) KeepSession(ctx context.Context, caller token.Caller) error {
	return EndedError(ts.store.PutInCookie(ctx, caller.Person, caller.JTI, ts.now(), ts.IdleSince()))
}

// IssueUIDToken returns a token that identifies the caller, never expires and grants nothing.
// Errors: token.ErrEnded, token.ErrFactorRequired.
func (ts *Tokens) IssueUIDToken(ctx context.Context, caller token.Caller) (string, error) {
	t, err := ts.Active(ctx, ts.store, caller)
	if err != nil {
		return "", err
	}
	if FactorRequired(t) {
		return "", token.ErrFactorRequired
	}
	if err := ts.record(ctx, ts.store, audit.Entry{
		Actor: audit.Of(caller), Action: "token.uid", Object: caller.Person.String(), Target: caller.Person,
	}); err != nil {
		return "", err
	}
	return ts.issuer.Issue(ctx, token.KindUID, token.Claims{Person: caller.Person, Epoch: t.Epoch})
}

// ParkToken issues a pickup token that a client at another origin exchanges for an ID token. Unless the session is
// kept, the caller's ID token ends.
// Errors: fault.ErrInvalid, identity.ErrRedirectURI, token.ErrEnded, token.ErrFactorRequired,
// identity.ErrPersonNotFound.
func (ts *Tokens) ParkToken(ctx context.Context, caller token.Caller, in identity.Parking) (pickup string, err error) {
	if err := in.Check(); err != nil {
		return "", err
	}
	t, err := ts.Active(ctx, ts.store, caller)
	if err != nil {
		return "", ts.endedOrDeleted(ctx, caller, err)
	}
	if FactorRequired(t) {
		return "", token.ErrFactorRequired
	}
	if err := ts.CheckRedirect(ctx, caller.Person, caller.Client.Host, *in.RedirectURI); err != nil {
		return "", err
	}
	now := ts.now()
	k := postgres.Parking{Pickup: id.New[id.Token](), Now: now, ExpiresAt: now.Add(ts.issuer.Lifetimes().Pickup)}
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
	if claims.Session, err = ts.store.Park(ctx, caller.Person, t.JTI, k); err != nil {
		return "", ts.endedOrDeleted(ctx, caller, EndedError(err))
	}
	return ts.issuer.Issue(ctx, token.KindPickup, claims)
}

// endedOrDeleted maps token.ErrEnded to identity.ErrPersonNotFound if the person no longer exists. Other errors stay.
func (ts *Tokens) endedOrDeleted(ctx context.Context, caller token.Caller, err error) error {
	if !errors.Is(err, token.ErrEnded) {
		return err
	}
	exists, failed := ts.store.PersonExists(ctx, caller.Person)
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
func (ts *Tokens) PickUpToken(ctx context.Context, caller token.Caller, verifier string) (idToken string, err error) {
	challenge := ""
	if verifier != "" {
		sum := sha256.Sum256([]byte(verifier))
		challenge = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	t, err := ts.store.Pickup(ctx, caller.Person, caller.JTI, challenge, ts.Replacement(caller.Client))
	if err != nil {
		return "", err
	}
	return ts.IDToken(ctx, t)
}
