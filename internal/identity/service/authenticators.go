package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
	case credential.TypeBcrypt, credential.TypeTOTP, credential.TypeRecovery:
		return nil
	}
	return identity.ErrUnsupportedType
}

// Registered is a new authenticator with its secret, which is shown only once.
type Registered struct {
	identity.Authenticator
	Key     string // the TOTP secret in base32, or the recovery codes separated by spaces
	DataURI string // TOTP only: the secret as a QR code
	URI     string // TOTP only: what the QR code says
}

// RegisterAuthenticator registers a second factor. TOTP counts once it is verified, and replaces one that was never
// verified. Recovery codes count at once and replace all earlier ones.
// Errors: fault.ErrInvalid, identity.ErrUnsupportedType, identity.ErrFederated, identity.ErrTypeRegistered,
// identity.ErrFactorFirst, identity.ErrSessionNotYoung, identity.ErrEmailNotRecent, identity.ErrPersonNotFound.
func (s *Service) RegisterAuthenticator(ctx context.Context, caller token.Caller, n NewAuthenticator) (Registered, error) {
	if err := n.check(); err != nil {
		return Registered{}, err
	}
	registrant, err := s.store.Registrant(ctx, caller.Person)
	if err != nil {
		return Registered{}, err
	}
	if err := s.checkRegistration(registrant, n.Type, caller.AuthTime); err != nil {
		return Registered{}, err
	}
	var r Registered
	if n.Type == credential.TypeTOTP {
		r, err = s.registerTOTP(ctx, caller, n.Name, registrant.Email)
	} else {
		r, err = s.registerRecovery(ctx, caller, n.Name)
	}
	return r, err
}

// checkRegistration decides who may register an authenticator of a type (contract 3.4).
// Errors: identity.ErrFederated, identity.ErrTypeRegistered, identity.ErrSessionNotYoung, identity.ErrEmailNotRecent.
func (s *Service) checkRegistration(r postgres.Registrant, kind string, authTime time.Time) error {
	now := s.now()
	switch {
	case r.Federated:
		return identity.ErrFederated
	case kind == credential.TypeBcrypt, kind == credential.TypeTOTP && r.HasTOTP:
		return identity.ErrTypeRegistered
	case now.Sub(authTime) > s.settings.YoungSession:
		return identity.ErrSessionNotYoung
	case r.EmailProvedAt == nil || now.Sub(*r.EmailProvedAt) > s.settings.RecentEmail:
		return identity.ErrEmailNotRecent
	}
	return nil
}

func (s *Service) registerTOTP(ctx context.Context, caller token.Caller, name, account string) (Registered, error) {
	uid, secret := id.New[id.Authenticator](), credential.NewTOTPSecret()
	uri := credential.TOTPURI(secret, s.settings.ProductName, account)
	image, err := credential.TOTPImage(uri)
	if err != nil {
		return Registered{}, err
	}
	r := Registered{Key: credential.TOTPKey(secret), DataURI: image, URI: uri}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockPerson(ctx, caller.Person); err != nil {
			return err
		}
		if err := tx.InsertTOTP(ctx, caller.Person, uid, name, s.secrets.Seal(secret, uid.UUID[:]), false, s.now()); err != nil {
			return err
		}
		if err := s.recordOwn(ctx, tx, caller, "factor.register", uid.String(), map[string]string{"type": credential.TypeTOTP}); err != nil {
			return err
		}
		r.Authenticator, err = tx.Authenticator(ctx, caller.Person, uid)
		return err
	})
	return r, err
}

func (s *Service) registerRecovery(ctx context.Context, caller token.Caller, name string) (Registered, error) {
	uid := id.New[id.Authenticator]()
	codes, salt := credential.NewRecoveryCodes()
	hashes := make([][]byte, len(codes))
	for i, c := range codes {
		hashes[i] = credential.HashRecoveryCode(salt, c)
	}
	r := Registered{Key: strings.Join(codes, " ")}
	err := s.store.InTx(ctx, func(tx *postgres.Store) (err error) {
		if err := tx.LockPerson(ctx, caller.Person); err != nil {
			return err
		}
		if err := requireFactors(ctx, tx, caller); err != nil {
			return err
		}
		if err := s.secure(ctx, tx, caller.Person, caller.Client, factorNotice(mail.FactorAdded, credential.TypeRecovery, name)); err != nil {
			return err
		}
		if err := tx.ReplaceRecovery(ctx, caller.Person, uid, name, salt, hashes, s.now()); err != nil {
			return err
		}
		if r.Authenticator, err = tx.Authenticator(ctx, caller.Person, uid); err != nil {
			return err
		}
		return s.factorChanged(ctx, tx, caller, "factor.add", r.Authenticator)
	})
	return r, err
}

// requireFactors refuses a session without the second factor if the person has TOTP. The person is locked.
// Errors: identity.ErrFactorFirst.
func requireFactors(ctx context.Context, tx *postgres.Store, caller token.Caller) error {
	factors, err := tx.Factors(ctx, caller.Person)
	if err == nil && slices.Contains(factors, credential.TypeTOTP) && caller.AuthLevel < identity.LevelTwo {
		return identity.ErrFactorFirst
	}
	return err
}

// factorNotice returns the notice of a change of a second factor.
func factorNotice(template, kind, name string) notice {
	data := map[string]any{"type": kind}
	if name != "" {
		data["name"] = name
	}
	return notice{template: template, detail: " " + kind, data: data}
}

// factorChanged revokes every access token and records a change of second factors. The person is locked.
func (s *Service) factorChanged(ctx context.Context, tx *postgres.Store, caller token.Caller, action string, a identity.Authenticator) error {
	epoch, err := tx.RaiseEpoch(ctx, caller.Person)
	if err != nil {
		return err
	}
	if err := s.recordOwn(ctx, tx, caller, action, a.UID.String(), map[string]string{"type": a.Type}); err != nil {
		return err
	}
	return s.revocations.Publish(ctx, tx.Tx(), token.Revocation{Person: caller.Person, Epoch: epoch})
}

// VerifyAuthenticator tests checked credentials against one of the caller's authenticators. For a TOTP authenticator
// that is not verified yet, a right code verifies it: logins then need two factors, the caller's session counts as one
// with two, and idToken is its new ID token. Otherwise idToken is empty; a right code is consumed like in a login.
// Errors: identity.ErrVerificationFailed, identity.ErrAuthenticatorNotFound, fault.ErrInvalid when the type is not the
// authenticator's.
func (s *Service) VerifyAuthenticator(ctx context.Context, caller token.Caller, a id.Authenticator, in Credentials) (idToken string, err error) {
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
	if secret.Type == credential.TypeTOTP && !secret.Verified {
		return s.verifyTOTP(ctx, caller, a, secret.Secret, in.Key)
	}
	return "", s.testAuthenticator(ctx, caller, a, secret, in.Key)
}

func (s *Service) verifyTOTP(ctx context.Context, caller token.Caller, a id.Authenticator, sealed []byte, code string) (idToken string, err error) {
	secret, err := s.secrets.Open(sealed, a.UUID[:])
	if err != nil {
		return "", fmt.Errorf("open TOTP secret: %w", err)
	}
	step, ok := credential.TOTPStep(secret, code, s.now())
	if !ok {
		return "", identity.ErrVerificationFailed
	}
	var issued *postgres.Issued
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockPerson(ctx, caller.Person); err != nil {
			return err
		}
		verified, err := tx.Authenticator(ctx, caller.Person, a)
		if err != nil {
			return err
		}
		if err := s.secure(ctx, tx, caller.Person, caller.Client, factorNotice(mail.FactorAdded, verified.Type, verified.Name)); err != nil {
			return err
		}
		if err := tx.VerifyTOTP(ctx, a, step, s.now()); err != nil {
			return err
		}
		if err := tx.RaiseLevel(ctx, caller.Person, caller.Session); err != nil {
			return err
		}
		if issued, err = s.renewSession(ctx, tx, caller); err != nil {
			return err
		}
		return s.factorChanged(ctx, tx, caller, "factor.add", verified)
	})
	if err != nil {
		return "", err
	}
	return s.signRenewed(ctx, issued)
}

// testAuthenticator checks a key against a verified authenticator.
// Errors: identity.ErrVerificationFailed.
func (s *Service) testAuthenticator(ctx context.Context, caller token.Caller, a id.Authenticator, secret postgres.Secret, key string) error {
	if secret.Type == credential.TypeBcrypt {
		ok, err := s.hasher.Compare(ctx, secret.Secret, key)
		if err == nil && !ok {
			return identity.ErrVerificationFailed
		}
		return err
	}
	use, err := s.checkFactor(ctx, factorTry{by: caller, client: caller.Client, source: caller.Session.UUID, kind: secret.Type, code: key})
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
func (s *Service) PutAuthenticator(ctx context.Context, caller token.Caller, a id.Authenticator, c AuthenticatorChange) (after identity.Authenticator, err error) {
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
func (s *Service) rename(ctx context.Context, tx *postgres.Store, caller token.Caller, a id.Authenticator, name *string) (identity.Authenticator, error) {
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

// DeleteAuthenticator unregisters one of the caller's second factors. Once TOTP is gone, logins need one factor and
// every session counts as one with one factor. While there is TOTP the session must have presented both factors.
// Otherwise a session that began with the password alone could remove the second factor.
// Errors: identity.ErrCannotUnregister, identity.ErrFactorFirst, identity.ErrAuthenticatorNotFound.
func (s *Service) DeleteAuthenticator(ctx context.Context, caller token.Caller, a id.Authenticator) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockPerson(ctx, caller.Person); err != nil {
			return err
		}
		removed, err := tx.Authenticator(ctx, caller.Person, a)
		switch {
		case err != nil:
			return err
		case removed.Type == credential.TypeBcrypt:
			return identity.ErrCannotUnregister
		}
		if err := requireFactors(ctx, tx, caller); err != nil {
			return err
		}
		if removed.Verified {
			if err := s.secure(ctx, tx, caller.Person, caller.Client, factorNotice(mail.FactorRemoved, removed.Type, removed.Name)); err != nil {
				return err
			}
		}
		if err := tx.DeleteAuthenticator(ctx, caller.Person, a); err != nil {
			return err
		}
		if !removed.Verified {
			return s.recordOwn(ctx, tx, caller, "factor.discard", a.String(), map[string]string{"type": removed.Type})
		}
		if removed.Type == credential.TypeTOTP {
			if err := tx.LowerLevels(ctx, caller.Person); err != nil {
				return err
			}
		}
		return s.factorChanged(ctx, tx, caller, "factor.remove", removed)
	})
}
