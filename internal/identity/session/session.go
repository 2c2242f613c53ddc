// Package session holds the ID tokens and sessions of people: how they begin, are replaced, parked, exchanged and end. The rules of the
// identity domain, in package service, build on it. The package knows no HTTP.
package session

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/notice"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
)

// Settings are the values that an operator can change. All are required unless noted.
type Settings struct {
	PublicURL       *url.URL
	RedirectOrigins []string      // scheme://host[:port], allowed as redirects besides the organization's hosts; may be empty
	Idle            time.Duration // how long an ID token may stay unused
	Device          time.Duration // how long after its last sign-in a device is known
}

// Options are the dependencies of Tokens. All are required.
type Options struct {
	Store       *postgres.Store
	Issuer      *token.Issuer
	Revocations *token.Revocations
	Notices     *notice.Notices
	Sealer      *seal.Sealer
	Hosts       *hosts.Directory
	Settings    Settings
	Now         func() time.Time
}

// Tokens are the ID tokens and sessions of people. It is safe for concurrent use.
type Tokens struct {
	store       *postgres.Store
	issuer      *token.Issuer
	revocations *token.Revocations
	notices     *notice.Notices
	sealer      *seal.Sealer
	hosts       *hosts.Directory
	settings    Settings
	now         func() time.Time
}

// New returns Tokens.
func New(o Options) *Tokens {
	return &Tokens{
		store: o.Store, issuer: o.Issuer, revocations: o.Revocations, notices: o.Notices, sealer: o.Sealer, hosts: o.Hosts,
		settings: o.Settings, now: o.Now,
	}
}

// record appends an audit entry in the transaction of store, if it is in one.
func (ts *Tokens) record(ctx context.Context, store *postgres.Store, e audit.Entry) error {
	return audit.Append(ctx, store.Querier(), ts.now(), e)
}

// IDToken returns the signed ID token of a stored row.
func (ts *Tokens) IDToken(ctx context.Context, t postgres.Issued) (string, error) {
	return ts.issuer.Issue(ctx, token.KindID, ts.claims(t))
}

// claims returns the claims of a stored row's ID token. An access token holds a part of them.
func (ts *Tokens) claims(t postgres.Issued) token.Claims {
	return token.Claims{
		Person: t.Person, Session: t.SID, JTI: t.JTI, Organization: t.Organization, Roles: t.Roles, AuthLevel: t.AuthLevel,
		AuthTime: t.AuthTime, IssuedAt: t.IssuedAt, ExpiresAt: t.ExpiresAt, Email: t.Email, EmailVerified: t.EmailVerified,
		Locale: t.Locale, ZoneInfo: t.TimeZone, Epoch: t.Epoch, FactorRequired: FactorRequired(t),
		SetPassword: t.SetPasswordUntil != nil && ts.now().Before(*t.SetPasswordUntil),
	}
}

// FactorRequired reports whether a session lacks the second factor that the organization requires. A login at an
// external provider counts as one (contract 3.2).
func FactorRequired(t postgres.Issued) bool {
	return t.MFARequired && t.AuthLevel < identity.LevelTwo && !t.Federated
}

// Replacement returns the ID token that is to replace another one.
func (ts *Tokens) Replacement(c token.Client) postgres.Replacement {
	now := ts.now()
	return postgres.Replacement{
		JTI: id.New[id.Token](), Now: now, IdleSince: ts.IdleSince(), RaisedExpires: now.Add(ts.issuer.Lifetimes().ID), UserAgent: UserAgent(c),
		IP: Address(c),
	}
}

// IdleSince returns the moment since which an ID token must have been used (contract 2.1).
func (ts *Tokens) IdleSince() time.Time { return ts.now().Add(-ts.settings.Idle) }

// EndedError maps identity.ErrTokenNotFound to token.ErrEnded: the presented token is not usable. Other errors stay.
func EndedError(err error) error {
	if errors.Is(err, identity.ErrTokenNotFound) {
		return token.ErrEnded
	}
	return err
}

// overlap is how long a replaced ID token of the session cookie stands for its successor (contract 2.9). It covers calls of
// several tabs at the same time, and a lost answer.
const overlap = time.Minute

// Usable returns the row of the caller's ID token, which may be graced. For a token of the session cookie that was just
// replaced it returns the successor's, whose JTI is another one.
// Errors: token.ErrEnded.
func (ts *Tokens) Usable(ctx context.Context, store *postgres.Store, caller token.Caller) (postgres.Issued, error) {
	t, err := store.Usable(ctx, caller.Person, caller.JTI, ts.now(), ts.IdleSince())
	if caller.Cookie && errors.Is(err, identity.ErrTokenNotFound) {
		return ts.successor(ctx, store, caller)
	}
	return t, EndedError(err)
}

// successor returns the row of the ID token that replaced the caller's within overlap.
// Errors: token.ErrEnded.
func (ts *Tokens) successor(ctx context.Context, store *postgres.Store, caller token.Caller) (postgres.Issued, error) {
	now := ts.now()
	jti, err := store.Successor(ctx, caller.Person, caller.JTI, caller.Cookie, now.Add(-overlap))
	if err != nil {
		return postgres.Issued{}, EndedError(err)
	}
	t, err := store.Usable(ctx, caller.Person, jti, now, ts.IdleSince())
	return t, EndedError(err)
}

// Active returns the row of the caller's ID token.
// Errors: token.ErrEnded.
func (ts *Tokens) Active(ctx context.Context, store *postgres.Store, caller token.Caller) (postgres.Issued, error) {
	t, err := ts.Usable(ctx, store, caller)
	if err != nil {
		return t, err
	}
	if t.State != "active" {
		return t, token.ErrEnded
	}
	return t, nil
}

// UserAgent returns the part of the User-Agent header that a session keeps.
func UserAgent(c token.Client) string { return identity.Printable(c.UserAgent, identity.MaxUserAgent) }

// Address returns the client's IP address as text, empty if unknown.
func Address(c token.Client) string {
	if !c.Address.IsValid() {
		return ""
	}
	return c.Address.String()
}
