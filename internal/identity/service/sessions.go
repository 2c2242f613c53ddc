package service

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/token"
)

// Credentials are what a login presents.
type Credentials struct {
	Email string
	Type  string // bcrypt, totp or recovery
	Key   string
	// MFA is the mfa token of the first step, for the second; nil: none, or one that does not verify.
	MFA *token.Caller
}

// Check validates credentials and normalizes the address, under which the login bucket counts.
// Errors: fault.ErrInvalid, identity.ErrUnsupportedType.
func (c *Credentials) Check() error {
	var problems fault.Problems
	normalized, err := NormalizeAddress("email", c.Email)
	if err != nil {
		var invalid *fault.Error
		if errors.As(err, &invalid) {
			problems = append(problems, invalid.Details...)
		}
	}
	c.Email = normalized
	if c.Type == "" {
		problems.Add("type", "is required")
	}
	if c.Key == "" {
		problems.Add("key", "is required")
	}
	if err := problems.Err(); err != nil {
		return err
	}
	switch c.Type {
	case credential.TypeBcrypt, credential.TypeTOTP, credential.TypeRecovery:
		return nil
	}
	return identity.ErrUnsupportedType
}

// Login takes checked credentials and returns an ID token, or after the first of two factors an mfa token. The caller
// has taken the drop of the login bucket. Errors: identity.ErrCredentials; *identity.WrongHost for right credentials at
// another organization's host; of the second step identity.ErrMFAToken and identity.ErrFactorNotVerified.
func (s *Service) Login(ctx context.Context, c token.Client, in Credentials) (raw string, err error) {
	if in.Type != credential.TypeBcrypt {
		return s.loginFactor(ctx, c, in)
	}
	const tries = 3 // a change of the person's rights in between makes a login start over
	var compared []byte
	for try := range tries {
		login, err := s.store.Login(ctx, in.Email)
		if err != nil && !errors.Is(err, identity.ErrPersonNotFound) {
			return "", err
		}
		if try == 0 || !bytes.Equal(login.Hash, compared) {
			// Nobody's address costs a comparison too, so that the time does not tell it from somebody's.
			ok, err := s.bcrypt.Compare(ctx, login.Hash, in.Key)
			if err != nil {
				return "", err
			}
			if !ok {
				return "", identity.ErrCredentials
			}
			compared = login.Hash
		}
		if login.Organization != c.Host.Organization {
			return "", &identity.WrongHost{Host: login.Host}
		}
		raw, err := s.loginPassed(ctx, c, login)
		if errors.Is(err, identity.ErrPersonNotFound) {
			continue
		}
		if err == nil && s.bcrypt.Outdated(login.Hash) {
			s.rehash(ctx, login, in.Key)
		}
		return raw, describe("log in", err)
	}
	return "", identity.ErrCredentials
}

// loginPassed goes on after the right password: to the second factor, or into a session.
// Errors: identity.ErrPersonNotFound when the person has changed since login was read.
func (s *Service) loginPassed(ctx context.Context, c token.Client, login postgres.Login) (string, error) {
	if slices.Contains(login.Factors, credential.TypeTOTP) {
		return s.mfaToken(ctx, s.store, login.Person, login.Epoch, login.Factors, false)
	}
	var issued postgres.Issued
	err := s.store.InTx(ctx, func(tx *postgres.Store) (err error) {
		issued, err = s.beginSession(ctx, tx, c, newSession{person: login.Person, epoch: login.Epoch, level: identity.LevelOne, login: true})
		if err != nil {
			return err
		}
		return s.recordLogin(ctx, tx, c, issued, credential.TypeBcrypt)
	})
	if err != nil {
		return "", err
	}
	return s.idToken(ctx, issued)
}

// mfaToken stores and signs the token that waits for a second factor. Errors: identity.ErrPersonNotFound.
func (s *Service) mfaToken(ctx context.Context, store *postgres.Store, p id.Person, epoch int64, factors []string, setPassword bool) (string, error) {
	now, jti := s.now(), id.New[id.Token]()
	expires := now.Add(s.issuer.Lifetimes().MFA)
	if err := store.InsertPending(ctx, p, epoch, jti, setPassword, expires); err != nil {
		return "", err
	}
	return s.issuer.Issue(ctx, token.KindMFA, token.Claims{
		Person: p, JTI: jti, IssuedAt: now, ExpiresAt: expires, Authenticators: factors, SetPassword: setPassword,
	})
}

// rehash brings a stored hash to the current cost. A failure costs nothing but another try at the next login.
func (s *Service) rehash(ctx context.Context, login postgres.Login, password string) {
	hash, err := s.bcrypt.Hash(ctx, password)
	if err == nil {
		err = s.store.UpgradeHash(ctx, login.Person, login.Hash, hash)
	}
	if err != nil {
		s.log.WarnContext(ctx, "a password hash keeps its old cost", "error", err)
	}
}

// loginFactor is the second step of a login. A wrong code leaves the mfa token for another try.
func (s *Service) loginFactor(ctx context.Context, c token.Client, in Credentials) (string, error) {
	if in.MFA == nil || in.MFA.Kind != token.KindMFA {
		return "", identity.ErrMFAToken
	}
	person := in.MFA.Person
	if pending, err := s.store.IsPending(ctx, person, in.MFA.JTI, s.now()); err != nil {
		return "", err
	} else if !pending {
		return "", identity.ErrMFAToken
	}
	login, err := s.store.Login(ctx, in.Email)
	if err != nil && !errors.Is(err, identity.ErrPersonNotFound) {
		return "", err
	}
	if err != nil || login.Person != person {
		return "", identity.ErrCredentials // one person's mfa token with another's address (contract 7)
	}
	if login.Organization != c.Host.Organization {
		return "", &identity.WrongHost{Host: login.Host}
	}
	use, err := s.checkFactor(ctx, s.store, person, in.Type, in.Key)
	if err != nil {
		return "", err
	}
	var issued postgres.Issued
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockPerson(ctx, person); err != nil {
			return err
		}
		if err := use(ctx, tx); err != nil {
			return err
		}
		setPassword, err := tx.TakePending(ctx, person, in.MFA.JTI, s.now())
		if err != nil {
			return err
		}
		epoch, err := tx.Epoch(ctx, person)
		if err != nil {
			return err
		}
		n := newSession{person: person, epoch: epoch, level: identity.LevelTwo, login: true}
		if setPassword {
			n.setPasswordUntil = s.now().Add(s.settings.SetPassword)
		}
		if issued, err = s.beginSession(ctx, tx, c, n); err != nil {
			return err
		}
		return s.recordLogin(ctx, tx, c, issued, in.Type)
	})
	if err != nil {
		return "", describe("log in with second factor", err)
	}
	return s.idToken(ctx, issued)
}

// checkFactor compares a code with a person's authenticator and returns the statement that uses it up, to be run in the
// transaction of what it permits: only that one decides among parallel uses.
// Errors: identity.ErrCredentials, identity.ErrFactorNotVerified.
func (s *Service) checkFactor(ctx context.Context, store *postgres.Store, p id.Person, kind, code string) (use func(context.Context, *postgres.Store) error, err error) {
	factor, err := store.Factor(ctx, p, kind)
	if err != nil {
		return nil, err
	}
	if kind == credential.TypeRecovery {
		hash := credential.HashRecoveryCode(factor.Salt, code)
		return func(ctx context.Context, tx *postgres.Store) error { return tx.UseRecoveryCode(ctx, factor.UID, hash) }, nil
	}
	secret, err := s.secrets.Open(factor.Secret, factor.UID.UUID[:])
	if err != nil {
		return nil, describe("open TOTP secret", err)
	}
	step, ok := credential.TOTPStep(secret, code, s.now())
	if !ok {
		return nil, identity.ErrCredentials
	}
	return func(ctx context.Context, tx *postgres.Store) error { return tx.UseStep(ctx, factor.UID, step) }, nil
}

// newSession is a session to begin.
type newSession struct {
	person           id.Person
	epoch            int64
	level            int
	login            bool
	setPasswordUntil time.Time
	federated        bool   // begins at an external provider
	externalSID      string // that provider's name for its session; may be empty
}

func (s *Service) beginSession(ctx context.Context, tx *postgres.Store, c token.Client, n newSession) (postgres.Issued, error) {
	now, life := s.now(), s.issuer.Lifetimes()
	return tx.BeginSession(ctx, postgres.NewSession{
		Person: n.person, Epoch: n.epoch, JTI: id.New[id.Token](), SID: id.New[id.Session](), AuthLevel: n.level, Now: now,
		ExpiresAt: now.Add(life.ID), SignupExpiresAt: now.Add(life.Signup), UserAgent: userAgent(c), IP: address(c),
		SetPasswordUntil: n.setPasswordUntil, Login: n.login, Federated: n.federated, ExternalSID: n.externalSID,
	})
}

func (s *Service) recordLogin(ctx context.Context, tx *postgres.Store, c token.Client, t postgres.Issued, factor string) error {
	return s.record(ctx, tx, audit.Entry{
		Actor: t.Person, Action: "session.login", Object: t.SID.String(), Target: t.Person, Organization: t.Organization, Client: c,
		Details: map[string]string{"factor": factor},
	})
}

// Sessions lists the caller's usable ID tokens, newest first. Errors: token.ErrEnded.
func (s *Service) Sessions(ctx context.Context, caller token.Caller) ([]identity.Session, error) {
	list, err := s.store.Sessions(ctx, caller.Person, s.now())
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(list, func(t identity.Session) bool { return t.JTI == caller.JTI }) {
		return nil, token.ErrEnded
	}
	return list, nil
}

// LogoutAll as jti ends every session of the caller.
const LogoutAll = "all"

// Logout ends the caller's session, or with a jti that token's, or with LogoutAll every one, and access with them.
// Errors: token.ErrEnded, fault.ErrInvalid for a jti that is none, identity.ErrForeignToken, identity.ErrTokenNotFound.
func (s *Service) Logout(ctx context.Context, caller token.Caller, jti string) error {
	var other id.Token
	if jti != "" && jti != LogoutAll {
		var err error
		if other, err = id.Parse[id.Token](jti); err != nil {
			return fault.ErrInvalid.With("jti: " + err.Error() + ", nor the word all")
		}
	}
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockPerson(ctx, caller.Person); errors.Is(err, identity.ErrPersonNotFound) {
			return token.ErrEnded
		} else if err != nil {
			return err
		}
		if _, err := tx.Usable(ctx, caller.Person, caller.JTI, s.now()); err != nil {
			return ended(err)
		}
		if jti == LogoutAll {
			return s.endAll(ctx, tx, caller.Person, caller)
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
		return s.endSession(ctx, tx, caller, sid)
	})
	return describe("log out", err)
}

// endSession ends one session of the caller, which is locked.
func (s *Service) endSession(ctx context.Context, tx *postgres.Store, caller token.Caller, sid id.Session) error {
	if err := tx.EndSession(ctx, caller.Person, sid, s.now()); err != nil {
		return err
	}
	if err := s.revocations.Publish(ctx, tx.Querier(), token.Revocation{Session: sid}); err != nil {
		return err
	}
	return s.record(ctx, tx, audit.Entry{Actor: caller.Person, Action: "session.end", Object: sid.String(), Target: caller.Person, Client: caller.Client})
}

// endAll ends every session of a person, and every access token issued so far.
func (s *Service) endAll(ctx context.Context, tx *postgres.Store, p id.Person, by token.Caller) error {
	epoch, err := tx.RaiseEpoch(ctx, p)
	if err != nil {
		return err
	}
	if err := tx.EndSessions(ctx, p, id.Session{}, s.now()); err != nil {
		return err
	}
	if err := s.revocations.Publish(ctx, tx.Querier(), token.Revocation{Person: p, Epoch: epoch}); err != nil {
		return err
	}
	return s.record(ctx, tx, audit.Entry{Actor: by.Person, Action: "session.end-all", Object: p.String(), Target: p, Client: by.Client})
}
