// The beginning, list and end of sessions.

package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/token"
)

// MFAToken stores a pending login and returns its signed mfa token.
// Errors: identity.ErrPersonNotFound.
func (ts *Tokens) MFAToken(ctx context.Context, store *postgres.Store, p id.Person, epoch int64, factors []string,
	setPassword bool) (string, error) {
	now, jti := ts.now(), id.New[id.Token]()
	expires := now.Add(ts.issuer.Lifetimes().MFA)
	if err := store.InsertPending(ctx, p, epoch, jti, setPassword, expires); err != nil {
		return "", err
	}
	return ts.issuer.Issue(ctx, token.KindMFA, token.Claims{
		Person: p, JTI: jti, IssuedAt: now, ExpiresAt: expires, Authenticators: factors, SetPassword: setPassword,
	})
}

// NewSession is the input of BeginSession.
type NewSession struct {
	Person           id.Person
	Epoch            int64
	Level            int
	Login            bool // counts as a login in the profile
	SetPasswordUntil time.Time
	Federated        bool   // the login was at an external provider
	ExternalSID      string // the provider's session identifier; may be empty
	Devices          []identity.Device
	AuthTime         time.Time // zero: now
}

// BeginSession stores a new session with its first ID token.
// Errors: identity.ErrPersonNotFound, also when the epoch has changed.
func (ts *Tokens) BeginSession(ctx context.Context, tx *postgres.Store, c token.Client, n NewSession) (Begun, error) {
	now, life := ts.now(), ts.issuer.Lifetimes()
	b, err := tx.BeginSession(ctx, postgres.NewSession{
		Person: n.Person, Epoch: n.Epoch, JTI: id.New[id.Token](), SID: id.New[id.Session](), AuthLevel: n.Level, Now: now,
		ExpiresAt: now.Add(life.ID), SignupExpiresAt: now.Add(life.Signup), UserAgent: UserAgent(c), IP: Address(c),
		SetPasswordUntil: n.SetPasswordUntil, AuthTime: n.AuthTime, Login: n.Login, Federated: n.Federated, ExternalSID: n.ExternalSID,
	})
	if err != nil {
		return Begun{}, err
	}
	d, known := ts.knownDevice(n.Devices, n.Person, b.DeviceEpoch)
	if !known {
		d = identity.Device{UID: id.New[id.Device](), Person: n.Person, Epoch: b.DeviceEpoch}
	}
	d.At = now
	return Begun{Issued: b.Issued, Device: d, KnownDevice: known, MakesAccount: b.FirstLogin && n.Federated}, nil
}

// RecordFailedLogin writes the audit entry of a login with a wrong password or code. The tried address is not recorded,
// because people also type passwords there. Known and unknown addresses take the same time.
func (ts *Tokens) RecordFailedLogin(ctx context.Context, c token.Client, address, factor string) error {
	login, err := ts.store.Login(ctx, address)
	if err != nil && !errors.Is(err, identity.ErrPersonNotFound) {
		return err
	}
	return ts.record(ctx, ts.store, audit.Entry{
		Actor: audit.By(id.Person{}, c), Action: "session.refuse", Target: login.Person, Details: map[string]string{"factor": factor},
	})
}

// RecordLogin appends the audit entry of a login, and mails the person if the device is new.
func (ts *Tokens) RecordLogin(ctx context.Context, tx *postgres.Store, c token.Client, b Begun, factor string) error {
	if err := ts.MailNewDevice(ctx, tx, c, b); err != nil {
		return err
	}
	device := "new"
	if b.KnownDevice {
		device = "known"
	}
	return ts.record(ctx, tx, audit.Entry{
		Actor: audit.By(b.Person, c), Action: "session.login", Object: b.SID.String(), Target: b.Person, Organization: b.Organization,
		Details: map[string]string{"factor": factor, "device": device},
	})
}

// Sessions lists the caller's usable ID tokens, newest first.
// Errors: token.ErrEnded.
func (ts *Tokens) Sessions(ctx context.Context, caller token.Caller) ([]identity.Session, error) {
	list, err := ts.store.Sessions(ctx, caller.Person, ts.now(), ts.IdleSince())
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(list, func(t identity.Session) bool { return t.JTI == caller.JTI }) {
		if _, err := ts.Active(ctx, ts.store, caller); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// LogoutAll is the jti with which Logout ends every session of the caller.
const LogoutAll = "all"

// Logout ends the caller's session, the session of the ID token jti if jti is not empty, or every session for
// LogoutAll. It revokes the access tokens of the sessions.
// Errors: token.ErrEnded, fault.ErrInvalid for a malformed jti, identity.ErrForeignToken, identity.ErrTokenNotFound.
func (ts *Tokens) Logout(ctx context.Context, caller token.Caller, jti string) error {
	var other id.Token
	if jti != "" && jti != LogoutAll {
		var err error
		if other, err = id.Parse[id.Token](jti); err != nil {
			return fault.ErrInvalid.With("jti: " + err.Error() + ", nor the word all")
		}
	}
	return ts.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockPerson(ctx, caller.Person); errors.Is(err, identity.ErrPersonNotFound) {
			return token.ErrEnded
		} else if err != nil {
			return err
		}
		if _, err := ts.Usable(ctx, tx, caller); err != nil {
			return err
		}
		if jti == LogoutAll {
			return ts.EndSessions(ctx, tx, caller.Person, audit.Of(caller), id.Organization{})
		}
		sid := caller.Session
		if !other.IsZero() {
			owner, of, err := tx.Owner(ctx, other)
			if err != nil {
				return err
			}
			if owner != caller.Person {
				return identity.ErrForeignToken
			}
			sid = of
		}
		return ts.endSession(ctx, tx, caller, sid)
	})
}

// endSession ends one session of the caller and revokes its access tokens. The person is locked.
func (ts *Tokens) endSession(ctx context.Context, tx *postgres.Store, caller token.Caller, sid id.Session) error {
	if err := tx.EndSession(ctx, caller.Person, sid, ts.now()); err != nil {
		return err
	}
	if err := ts.revocations.Publish(ctx, tx.Tx(), token.Revocation{Ended: sid.UUID}); err != nil {
		return err
	}
	return ts.record(ctx, tx, audit.Entry{Actor: audit.Of(caller), Action: "session.end", Object: sid.String(), Target: caller.Person})
}

// EndSessions ends every session of a person and revokes all access tokens.
func (ts *Tokens) EndSessions(ctx context.Context, tx *postgres.Store, p id.Person, by audit.Actor, o id.Organization) error {
	epoch, err := tx.RaiseEpoch(ctx, p)
	if err != nil {
		return err
	}
	if err := tx.EndSessions(ctx, p, id.Session{}, ts.now()); err != nil {
		return err
	}
	if err := ts.revocations.Publish(ctx, tx.Tx(), token.Revocation{Person: p, Epoch: epoch}); err != nil {
		return err
	}
	return ts.record(ctx, tx, audit.Entry{Actor: by, Action: "session.end-all", Object: p.String(), Target: p, Organization: o})
}
