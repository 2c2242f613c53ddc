package service

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
)

// Authenticators lists the caller's verified authenticators, oldest first.
func (s *Service) Authenticators(ctx context.Context, caller token.Caller) ([]identity.Authenticator, error) {
	return s.store.Authenticators(ctx, caller.Person)
}

// Authenticator returns one of the caller's authenticators, verified or not.
// Errors: identity.ErrAuthenticatorNotFound.
func (s *Service) Authenticator(ctx context.Context, caller token.Caller, a id.Authenticator) (identity.Authenticator, error) {
	return s.store.Authenticator(ctx, caller.Person, a)
}

// NewAuthenticator is the input of a registration.
type NewAuthenticator struct {
	Type   string
	Name   string  // empty: unset
	PubKey *string // nil: not given; only passwords have one
}

// check validates the input.
// Errors: fault.ErrInvalid, identity.ErrUnsupportedType.
func (n NewAuthenticator) check() error {
	var problems fault.Problems
	if n.Type == "" {
		problems.Add("type", "is required")
	}
	if err := text.Line(n.Name, text.MaxName); err != nil {
		problems.Add("name", err.Error())
	}
	if n.PubKey != nil && n.Type != credential.TypeBcrypt {
		problems.Add("pubKey", "is possible with type bcrypt only")
	}
	if err := problems.Err(); err != nil {
		return err
	}
	switch n.Type {
	case credential.TypeBcrypt, credential.TypeTOTP, credential.TypePasskey, credential.TypeRecovery:
		return nil
	}
	return identity.ErrUnsupportedType
}

// Registered is a new authenticator with its secret, which is shown only once.
type Registered struct {
	identity.Authenticator
	Key     string          // the TOTP secret in base32, or the recovery codes separated by spaces
	DataURI string          // TOTP only: the secret as a QR code
	URI     string          // TOTP only: what the QR code says
	Options json.RawMessage // passkeys only: what the browser needs to make one
}

// RegisterAuthenticator registers a second factor. TOTP and passkeys count once they are verified, and replace one that was never
// verified. Recovery codes count at once and replace all earlier ones.
// Errors: fault.ErrInvalid, identity.ErrUnsupportedType, identity.ErrFederated, identity.ErrTypeRegistered, identity.ErrEmailNotRecent,
// identity.ErrPersonNotFound, identity.ErrTooManyPasskeys, identity.ErrPasskeyHost, and those of stepUp.
func (s *Service) RegisterAuthenticator(ctx context.Context, caller token.Caller, n NewAuthenticator,
	proof token.Proof) (Registered, error) {
	if err := n.check(); err != nil {
		return Registered{}, err
	}
	registrant, err := s.store.Registrant(ctx, caller.Person)
	if err != nil {
		return Registered{}, err
	}
	if err := registrable(registrant, n.Type); err != nil {
		return Registered{}, err
	}
	p, err := s.prove(ctx, caller, proof)
	if err != nil {
		return Registered{}, err
	}
	if at := registrant.EmailProvedAt; at == nil || s.now().Sub(*at) > s.settings.RecentEmail {
		return Registered{}, identity.ErrEmailNotRecent
	}
	switch n.Type {
	case credential.TypeTOTP:
		return s.registerTOTP(ctx, caller, n.Name, registrant.Email, p)
	case credential.TypePasskey:
		return s.registerPasskey(ctx, caller, n.Name, registrant.Email, p)
	}
	return s.registerRecovery(ctx, caller, n.Name, p)
}

// registrable decides whether a person may have another authenticator of a type.
// Errors: identity.ErrFederated, identity.ErrTypeRegistered.
func registrable(r postgres.Registrant, kind string) error {
	switch {
	case r.Federated:
		return identity.ErrFederated
	case kind == credential.TypeBcrypt, kind == credential.TypeTOTP && r.HasTOTP:
		return identity.ErrTypeRegistered
	}
	return nil
}

// VerifyAuthenticator tests checked credentials against one of the caller's authenticators. A TOTP authenticator or passkey
// that is not verified yet becomes verified: logins then need two factors, the caller's session counts as one
// with two, and idToken is its new ID token. Otherwise idToken is empty; a right code is consumed like in a login.
// Errors: identity.ErrVerificationFailed, identity.ErrAuthenticatorNotFound, fault.ErrInvalid when the type is not the
// authenticator's.
func (s *Service) VerifyAuthenticator(ctx context.Context, caller token.Caller, a id.Authenticator,
	in Checked) (idToken string, err error) {
	secret, err := s.store.Secret(ctx, caller.Person, a)
	if err != nil {
		return "", err
	}
	if in.Type != secret.Type {
		return "", fault.ErrInvalid.With("type: is not the authenticator's, " + secret.Type)
	}
	own, err := s.store.Addresses(ctx, caller.Person)
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(own, func(e identity.Address) bool { return e.Address == in.Email && (e.Primary || e.Verified) }) {
		return "", identity.ErrVerificationFailed
	}
	switch {
	case secret.Type == credential.TypePasskey && !secret.Verified:
		return s.verifyPasskey(ctx, caller, a, in.Key)
	case secret.Type == credential.TypeTOTP && !secret.Verified:
		return s.verifyTOTP(ctx, caller, a, secret.Secret, in.Key)
	}
	return "", s.testAuthenticator(ctx, caller, a, secret, in.Key)
}

// testAuthenticator checks a key against a verified authenticator.
// Errors: identity.ErrVerificationFailed.
func (s *Service) testAuthenticator(ctx context.Context, caller token.Caller, a id.Authenticator, secret postgres.Secret,
	key string) error {
	if secret.Type == credential.TypeBcrypt {
		ok, err := s.hasher.Compare(ctx, secret.Secret, key)
		if err == nil && !ok {
			return identity.ErrVerificationFailed
		}
		return err
	}
	use, err := s.useOwn(ctx, caller, a, token.Factor{Type: secret.Type, Key: key})
	if err == nil {
		err = s.store.InTx(ctx, func(tx *postgres.Store) error {
			if err := tx.LockPerson(ctx, caller.Person); err != nil {
				return err
			}
			if err := use(ctx, tx); err != nil {
				return err
			}
			return s.recordOwn(ctx, tx, caller, "factor.use", a.String(), map[string]string{"type": secret.Type})
		})
	}
	if errors.Is(err, identity.ErrCredentials) || errors.Is(err, identity.ErrFactorNotVerified) {
		return identity.ErrVerificationFailed
	}
	return err
}

// AuthenticatorChange is a change of an authenticator. Nil members stay unchanged.
type AuthenticatorChange struct {
	Type    *string // only the current type is valid
	Name    *string // empty: unset
	PubKey  *string // the new password
	AuthKey *string // the current password
}

// check validates a change of an authenticator of type kind. A password has at least minimum characters.
// Errors: fault.ErrInvalid.
func (c AuthenticatorChange) check(kind string, minimum int) error {
	var problems fault.Problems
	if c.Type != nil && *c.Type != kind {
		problems.Add("type", "cannot be changed")
	}
	if c.Name != nil {
		if err := text.Line(*c.Name, text.MaxName); err != nil {
			problems.Add("name", err.Error())
		}
	}
	switch {
	case c.PubKey == nil:
	case kind != credential.TypeBcrypt:
		problems.Add("pubKey", "can be changed with type bcrypt only")
	default:
		if err := credential.CheckPassword(*c.PubKey, minimum); err != nil {
			problems.Add("pubKey", err.Error())
		}
	}
	return problems.Err()
}

// PutAuthenticator renames an authenticator, changes the password, or both. A new password needs the current one or a
// session that began recently with a password reset. It ends every other session.
// Errors: fault.ErrInvalid, identity.ErrKeyChange, identity.ErrAuthenticatorNotFound.
func (s *Service) PutAuthenticator(ctx context.Context, caller token.Caller, a id.Authenticator,
	c AuthenticatorChange) (after identity.Authenticator, err error) {
	secret, err := s.store.Secret(ctx, caller.Person, a)
	if err != nil {
		return after, err
	}
	if err := c.check(secret.Type, s.settings.PasswordMinimum); err != nil {
		return after, err
	}
	if c.PubKey != nil {
		after, err = s.changePassword(ctx, caller, a, c)
	} else {
		err = s.store.InTx(ctx, func(tx *postgres.Store) error {
			after, err = s.rename(ctx, tx, caller, a, c.Name)
			return err
		})
	}
	return after, err
}

// rename sets the name of an authenticator unless name is nil, and returns the authenticator.
func (s *Service) rename(ctx context.Context, tx *postgres.Store, caller token.Caller, a id.Authenticator,
	name *string) (identity.Authenticator, error) {
	if name != nil {
		if err := tx.RenameAuthenticator(ctx, caller.Person, a, *name); err != nil {
			return identity.Authenticator{}, err
		}
		if err := s.recordOwn(ctx, tx, caller, "authenticator.rename", a.String(), nil); err != nil {
			return identity.Authenticator{}, err
		}
	}
	return tx.Authenticator(ctx, caller.Person, a)
}

// DeleteAuthenticator unregisters one of the caller's second factors. Once TOTP and all passkeys are gone, logins need one factor
// and every session counts as one with one factor. Until then the session must have presented both factors, or proof has
// the second one. Otherwise a session that began with the password alone could remove it. The password always stays.
// Errors: identity.ErrCannotUnregister, identity.ErrAuthenticatorNotFound, and those of stepUp.
func (s *Service) DeleteAuthenticator(ctx context.Context, caller token.Caller, a id.Authenticator, proof token.Proof) error {
	var p proved
	if caller.AuthLevel < identity.LevelTwo {
		kept, err := s.keptProofs(ctx, caller)
		if err != nil {
			return err
		}
		if p.factor = kept.FactorProvedAt != nil; proof.Factor != nil {
			if p, err = s.prove(ctx, caller, proof); err != nil {
				return err
			}
		}
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := s.lockProved(ctx, tx, caller, p); err != nil {
			return err
		}
		removed, err := tx.Authenticator(ctx, caller.Person, a)
		switch {
		case err != nil:
			return err
		case removed.Type == credential.TypeBcrypt:
			return identity.ErrCannotUnregister
		}
		if removed.Verified {
			n := factorNotice(mail.FactorRemoved, removed.Type, removed.Name)
			if err := s.notices.Secure(ctx, tx, caller.Person, caller.Client, n); err != nil {
				return err
			}
		}
		if err := tx.DeleteAuthenticator(ctx, caller.Person, a); err != nil {
			return err
		}
		if !removed.Verified {
			return s.recordOwn(ctx, tx, caller, "factor.discard", a.String(), map[string]string{"type": removed.Type})
		}
		left, err := tx.Factors(ctx, caller.Person)
		if err != nil {
			return err
		}
		if removed.Type != credential.TypeRecovery && !credential.Needed(left) {
			if err := tx.LowerLevels(ctx, caller.Person); err != nil {
				return err
			}
		}
		return s.factorChanged(ctx, tx, caller, "factor.remove", removed)
	})
}
