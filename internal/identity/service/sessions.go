// Login, step by step, in equal time for known and unknown addresses; the list and the end of sessions.

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

// Credentials are the input of a login.
type Credentials struct {
	Email string // not looked at with type webauthn
	Type  string // bcrypt, totp, webauthn or recovery
	Key   string

	MFA     *token.Caller     // second step: the mfa token of the first step; nil: none, or an invalid one
	Devices []identity.Device // of the device cookie
	Device  id.Device         // the known one of the person with the address; zero: none
}

// credentials lets Checked have the fields of Credentials, and nobody else make one.
type credentials = Credentials

// Checked are valid credentials, whose address is normalized. Only Check makes them.
type Checked struct{ credentials }

// WithDevice returns the credentials with the known device of the person with the address.
func (c Checked) WithDevice(d id.Device) Checked {
	c.Device = d
	return c
}

// WithMFA returns the credentials with the mfa token of the first step; nil: none, or an invalid one.
func (c Checked) WithMFA(mfa *token.Caller) Checked {
	c.MFA = mfa
	return c
}

// Check validates credentials and normalizes the address, which is the key of the login bucket.
// Errors: fault.ErrInvalid, identity.ErrUnsupportedType.
func (c Credentials) Check() (Checked, error) {
	var problems fault.Problems
	normalized, err := identity.NormalizeAddress("email", c.Email)
	if err != nil && !(c.Email == "" && c.Type == credential.TypePasskey) {
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
		return Checked{}, err
	}
	switch c.Type {
	case credential.TypeBcrypt, credential.TypeTOTP, credential.TypePasskey, credential.TypeRecovery:
		return Checked{c}, nil
	}
	return Checked{}, identity.ErrUnsupportedType
}

// Login returns an ID token, or after the first of two factors an mfa token. The handler
// has taken a token from the login bucket of the address or of the device.
// Errors: identity.ErrCredentials, *identity.WrongHost for right credentials at another organization's host, and in the
// second step identity.ErrMFAToken and identity.ErrFactorNotVerified.
func (s *Service) Login(ctx context.Context, c token.Client, in Checked) (SignedIn, error) {
	switch in.Type {
	case credential.TypeTOTP, credential.TypeRecovery:
		return s.loginFactor(ctx, c, in)
	case credential.TypePasskey:
		return s.loginPasskey(ctx, c, in)
	}
	const tries = 3 // the login starts over when the person's epoch has changed
	var compared []byte
	for try := range tries {
		login, err := s.store.Login(ctx, in.Email)
		if err != nil && !errors.Is(err, identity.ErrPersonNotFound) {
			return SignedIn{}, err
		}
		if try == 0 || !bytes.Equal(login.Hash, compared) {
			// An unknown address costs a comparison, too, so that the duration does not reveal it.
			ok, err := s.hasher.Compare(ctx, login.Hash, in.Key)
			if err != nil {
				return SignedIn{}, err
			}
			if !ok {
				return SignedIn{}, identity.ErrCredentials
			}
			compared = login.Hash
		}
		if !login.ServedBy(c.Host.Organization) {
			return SignedIn{}, &identity.WrongHost{Host: login.Host}
		}
		signedIn, err := s.loginAfterPassword(ctx, c, login, in.Devices)
		if errors.Is(err, identity.ErrPersonNotFound) {
			continue
		}
		if err == nil && s.hasher.Outdated(login.Hash) {
			s.rehash(ctx, login, in.Key)
		}
		return signedIn, err
	}
	return SignedIn{}, identity.ErrCredentials
}

// loginAfterPassword returns an mfa token for a person with TOTP or a passkey, and else the ID token of a new session.
// Errors: identity.ErrPersonNotFound when the person's epoch has changed since login was read.
func (s *Service) loginAfterPassword(ctx context.Context, c token.Client, login postgres.Login,
	devices []identity.Device) (SignedIn, error) {
	if credential.Needed(login.Factors) {
		raw, err := s.mfaToken(ctx, s.store, login.Person, login.Epoch, login.Factors, false)
		return SignedIn{Token: raw, Kind: token.KindMFA}, err
	}
	var session begun
	err := s.store.InTx(ctx, func(tx *postgres.Store) (err error) {
		session, err = s.beginSession(ctx, tx, c, newSession{
			person: login.Person, epoch: login.Epoch, level: identity.LevelOne, login: true, devices: devices,
		})
		if err != nil {
			return err
		}
		return s.recordLogin(ctx, tx, c, session, credential.TypeBcrypt)
	})
	if err != nil {
		return SignedIn{}, err
	}
	return s.signedIn(ctx, session)
}

// mfaToken stores a pending login and returns its signed mfa token.
// Errors: identity.ErrPersonNotFound.
func (s *Service) mfaToken(ctx context.Context, store *postgres.Store, p id.Person, epoch int64, factors []string,
	setPassword bool) (string, error) {
	now, jti := s.now(), id.New[id.Token]()
	expires := now.Add(s.issuer.Lifetimes().MFA)
	if err := store.InsertPending(ctx, p, epoch, jti, setPassword, expires); err != nil {
		return "", err
	}
	return s.issuer.Issue(ctx, token.KindMFA, token.Claims{
		Person: p, JTI: jti, IssuedAt: now, ExpiresAt: expires, Authenticators: factors, SetPassword: setPassword,
	})
}

// rehash replaces a stored hash by one of the current cost. After a failure the next login tries again.
func (s *Service) rehash(ctx context.Context, login postgres.Login, password string) {
	hash, err := s.hasher.Hash(ctx, password)
	if err == nil {
		err = s.store.UpgradeHash(ctx, login.Person, login.Hash, hash)
	}
	if err != nil {
		s.log.WarnContext(ctx, "password hash not upgraded to the current cost", "error", err)
	}
}

// loginFactor is the second step of a login. After a wrong code the mfa token stays valid.
func (s *Service) loginFactor(ctx context.Context, c token.Client, in Checked) (SignedIn, error) {
	if in.MFA == nil {
		return SignedIn{}, identity.ErrMFAToken
	}
	person := in.MFA.Person
	if err := s.checkPending(ctx, *in.MFA); err != nil {
		return SignedIn{}, err
	}
	login, err := s.store.Login(ctx, in.Email)
	if err != nil && !errors.Is(err, identity.ErrPersonNotFound) {
		return SignedIn{}, err
	}
	if err != nil || login.Person != person {
		return SignedIn{}, identity.ErrCredentials // the mfa token is another person's (contract 7)
	}
	if !login.ServedBy(c.Host.Organization) {
		return SignedIn{}, &identity.WrongHost{Host: login.Host}
	}
	use, err := s.checkFactor(ctx, factorTry{by: *in.MFA, client: c, source: factorSource(*in.MFA, in.Device), kind: in.Type, code: in.Key})
	if err != nil {
		return SignedIn{}, err
	}
	return s.loginTwo(ctx, c, in, person, use)
}

// loginTwo begins a session with two factors: use consumes the second one, or the passkey that is both.
func (s *Service) loginTwo(ctx context.Context, c token.Client, in Checked, person id.Person,
	use func(context.Context, *postgres.Store) error) (SignedIn, error) {
	var session begun
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockPerson(ctx, person); errors.Is(err, identity.ErrPersonNotFound) {
			return identity.ErrCredentials
		} else if err != nil {
			return err
		}
		if err := use(ctx, tx); err != nil {
			return err
		}
		setPassword := false
		if in.MFA != nil {
			var err error
			if setPassword, err = tx.TakePending(ctx, person, in.MFA.JTI, s.now()); err != nil {
				return err
			}
		}
		epoch, err := tx.Epoch(ctx, person)
		if err != nil {
			return err
		}
		n := newSession{person: person, epoch: epoch, level: identity.LevelTwo, login: true, devices: in.Devices}
		if setPassword {
			n.setPasswordUntil = s.now().Add(s.settings.SetPassword)
		}
		if session, err = s.beginSession(ctx, tx, c, n); err != nil {
			return err
		}
		return s.recordLogin(ctx, tx, c, session, in.Type)
	})
	if err != nil {
		return SignedIn{}, err
	}
	return s.signedIn(ctx, session)
}

// newSession is the input of beginSession.
type newSession struct {
	person           id.Person
	epoch            int64
	level            int
	login            bool // counts as a login in the profile
	setPasswordUntil time.Time
	federated        bool   // the login was at an external provider
	externalSID      string // the provider's session identifier; may be empty
	devices          []identity.Device
	authTime         time.Time // zero: now
}

func (s *Service) beginSession(ctx context.Context, tx *postgres.Store, c token.Client, n newSession) (begun, error) {
	now, life := s.now(), s.issuer.Lifetimes()
	b, err := tx.BeginSession(ctx, postgres.NewSession{
		Person: n.person, Epoch: n.epoch, JTI: id.New[id.Token](), SID: id.New[id.Session](), AuthLevel: n.level, Now: now,
		ExpiresAt: now.Add(life.ID), SignupExpiresAt: now.Add(life.Signup), UserAgent: userAgent(c), IP: address(c),
		SetPasswordUntil: n.setPasswordUntil, AuthTime: n.authTime, Login: n.login, Federated: n.federated, ExternalSID: n.externalSID,
	})
	if err != nil {
		return begun{}, err
	}
	d, known := s.knownDevice(n.devices, n.person, b.DeviceEpoch)
	if !known {
		d = identity.Device{UID: id.New[id.Device](), Person: n.person, Epoch: b.DeviceEpoch}
	}
	d.At = now
	return begun{Issued: b.Issued, device: d, knownDevice: known, firstLogin: b.FirstLogin}, nil
}

// RecordFailedLogin writes the audit entry of a login with a wrong password or code. The tried address is not recorded,
// because people also type passwords there. Known and unknown addresses take the same time.
func (s *Service) RecordFailedLogin(ctx context.Context, c token.Client, address, factor string) error {
	login, err := s.store.Login(ctx, address)
	if err != nil && !errors.Is(err, identity.ErrPersonNotFound) {
		return err
	}
	return s.record(ctx, s.store, audit.Entry{
		Actor: audit.By(id.Person{}, c), Action: "session.refuse", Target: login.Person, Details: map[string]string{"factor": factor},
	})
}

// recordLogin appends the audit entry of a login, and mails the person if the device is new.
func (s *Service) recordLogin(ctx context.Context, tx *postgres.Store, c token.Client, b begun, factor string) error {
	if err := s.mailNewDevice(ctx, tx, c, b); err != nil {
		return err
	}
	device := "new"
	if b.knownDevice {
		device = "known"
	}
	return s.record(ctx, tx, audit.Entry{
		Actor: audit.By(b.Person, c), Action: "session.login", Object: b.SID.String(), Target: b.Person, Organization: b.Organization,
		Details: map[string]string{"factor": factor, "device": device},
	})
}

// Sessions lists the caller's usable ID tokens, newest first.
// Errors: token.ErrEnded.
func (s *Service) Sessions(ctx context.Context, caller token.Caller) ([]identity.Session, error) {
	list, err := s.store.Sessions(ctx, caller.Person, s.now(), s.idleSince())
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(list, func(t identity.Session) bool { return t.JTI == caller.JTI }) {
		if _, err := s.active(ctx, s.store, caller); err != nil {
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
func (s *Service) Logout(ctx context.Context, caller token.Caller, jti string) error {
	var other id.Token
	if jti != "" && jti != LogoutAll {
		var err error
		if other, err = id.Parse[id.Token](jti); err != nil {
			return fault.ErrInvalid.With("jti: " + err.Error() + ", nor the word all")
		}
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockPerson(ctx, caller.Person); errors.Is(err, identity.ErrPersonNotFound) {
			return token.ErrEnded
		} else if err != nil {
			return err
		}
		if _, err := s.usable(ctx, tx, caller); err != nil {
			return err
		}
		if jti == LogoutAll {
			return s.endSessions(ctx, tx, caller.Person, audit.Of(caller), id.Organization{})
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
}

// endSession ends one session of the caller and revokes its access tokens. The person is locked.
func (s *Service) endSession(ctx context.Context, tx *postgres.Store, caller token.Caller, sid id.Session) error {
	if err := tx.EndSession(ctx, caller.Person, sid, s.now()); err != nil {
		return err
	}
	if err := s.revocations.Publish(ctx, tx.Tx(), token.Revocation{Ended: sid.UUID}); err != nil {
		return err
	}
	return s.record(ctx, tx, audit.Entry{Actor: audit.Of(caller), Action: "session.end", Object: sid.String(), Target: caller.Person})
}

// endAll ends every session and every API token of a person, and pauses its export targets: somebody else may have made them. Signing out
// everywhere keeps the API tokens, see endSessions.
func (s *Service) endAll(ctx context.Context, tx *postgres.Store, p id.Person, by audit.Actor, o id.Organization) error {
	if err := tx.DeleteAPITokens(ctx, p); err != nil {
		return err
	}
	if s.webhooks != nil {
		if _, err := s.webhooks.PauseTargets(ctx, tx.Tx(), p, id.Organization{}, pausedSecurity); err != nil {
			return err
		}
	}
	return s.endSessions(ctx, tx, p, by, o)
}

// endSessions ends every session of a person and revokes all access tokens.
func (s *Service) endSessions(ctx context.Context, tx *postgres.Store, p id.Person, by audit.Actor, o id.Organization) error {
	epoch, err := tx.RaiseEpoch(ctx, p)
	if err != nil {
		return err
	}
	if err := tx.EndSessions(ctx, p, id.Session{}, s.now()); err != nil {
		return err
	}
	if err := s.revocations.Publish(ctx, tx.Tx(), token.Revocation{Person: p, Epoch: epoch}); err != nil {
		return err
	}
	return s.record(ctx, tx, audit.Entry{Actor: by, Action: "session.end-all", Object: p.String(), Target: p, Organization: o})
}
