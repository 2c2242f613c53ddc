// Login, step by step, in equal time for known and unknown addresses; the list and the end of sessions.

package service

import (
	"bytes"
	"context"
	"errors"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/identity/session"
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
func (s *Service) Login(ctx context.Context, c token.Client, in Checked) (session.SignedIn, error) {
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
			return session.SignedIn{}, err
		}
		if try == 0 || !bytes.Equal(login.Hash, compared) {
			// An unknown address costs a comparison, too, so that the duration does not reveal it.
			ok, err := s.hasher.Compare(ctx, login.Hash, in.Key)
			if err != nil {
				return session.SignedIn{}, err
			}
			if !ok {
				return session.SignedIn{}, identity.ErrCredentials
			}
			s.hasher.Forgive(ctx)
			compared = login.Hash
		}
		if !login.ServedBy(c.Host.Organization) {
			return session.SignedIn{}, &identity.WrongHost{Host: login.Host}
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
	return session.SignedIn{}, identity.ErrCredentials
}

// loginAfterPassword returns an mfa token for a person with TOTP or a passkey, and else the ID token of a new session.
// Errors: identity.ErrPersonNotFound when the person's epoch has changed since login was read.
func (s *Service) loginAfterPassword(ctx context.Context, c token.Client, login postgres.Login,
	devices []identity.Device) (session.SignedIn, error) {
	if credential.Needed(login.Factors) {
		raw, err := s.MFAToken(ctx, s.store, login.Person, login.Epoch, login.Factors, false)
		return session.SignedIn{Token: raw, Kind: token.KindMFA}, err
	}
	var begun session.Begun
	err := s.store.InTx(ctx, func(tx *postgres.Store) (err error) {
		begun, err = s.BeginSession(ctx, tx, c, session.NewSession{
			Person: login.Person, Epoch: login.Epoch, Level: identity.LevelOne, Login: true, Devices: devices,
		})
		if err != nil {
			return err
		}
		return s.RecordLogin(ctx, tx, c, begun, credential.TypeBcrypt)
	})
	if err != nil {
		return session.SignedIn{}, err
	}
	return s.SignIn(ctx, begun)
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
func (s *Service) loginFactor(ctx context.Context, c token.Client, in Checked) (session.SignedIn, error) {
	if in.MFA == nil {
		return session.SignedIn{}, identity.ErrMFAToken
	}
	person := in.MFA.Person
	if err := s.checkPending(ctx, *in.MFA); err != nil {
		return session.SignedIn{}, err
	}
	login, err := s.store.Login(ctx, in.Email)
	if err != nil && !errors.Is(err, identity.ErrPersonNotFound) {
		return session.SignedIn{}, err
	}
	if err != nil || login.Person != person {
		return session.SignedIn{}, identity.ErrCredentials // the mfa token is another person's (contract 7)
	}
	if !login.ServedBy(c.Host.Organization) {
		return session.SignedIn{}, &identity.WrongHost{Host: login.Host}
	}
	use, err := s.checkFactor(ctx, factorTry{by: *in.MFA, client: c, source: factorSource(*in.MFA, in.Device), kind: in.Type, code: in.Key})
	if err != nil {
		return session.SignedIn{}, err
	}
	return s.loginTwo(ctx, c, in, person, use)
}

// loginTwo begins a session with two factors: use consumes the second one, or the passkey that is both.
func (s *Service) loginTwo(ctx context.Context, c token.Client, in Checked, person id.Person,
	use func(context.Context, *postgres.Store) error) (session.SignedIn, error) {
	var begun session.Begun
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
		n := session.NewSession{Person: person, Epoch: epoch, Level: identity.LevelTwo, Login: true, Devices: in.Devices}
		if setPassword {
			n.SetPasswordUntil = s.now().Add(s.settings.SetPassword)
		}
		if begun, err = s.BeginSession(ctx, tx, c, n); errors.Is(err, identity.ErrPersonNotFound) {
			return identity.ErrCredentials // suspended
		} else if err != nil {
			return err
		}
		return s.RecordLogin(ctx, tx, c, begun, in.Type)
	})
	if err != nil {
		return session.SignedIn{}, err
	}
	return s.SignIn(ctx, begun)
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
	return s.EndSessions(ctx, tx, p, by, o)
}
