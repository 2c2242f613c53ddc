// Step-up: a caller proves who it is before a change of what the account depends on (contract 3.21).

package service

import (
	"context"
	"errors"

	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/token"
)

// The refusals of stepUp say what would be right.
var (
	errStepUp = identity.ErrSessionNotYoung.With(
		"your last login is too long ago for this; log in again, or send authKey (your password)")
	errStepUpExternal = identity.ErrSessionNotYoung.With("your last login is too long ago for this; log in again at your external provider")
	errStepUpKey      = identity.ErrKeyChange.With("authKey: is not your password")
	errStepUpFactor   = identity.ErrFactorFirst.With(
		"send authFactor: {type, key} with type totp, webauthn or recovery, or log in again with your second factor")
	errFactorType  = identity.ErrUnsupportedType.With("authFactor.type: must be totp, webauthn or recovery")
	errFactorWrong = identity.ErrVerificationFailed.With("authFactor: the code or the signature is wrong or was used")
)

// proved is a proof that was checked.
type proved struct {
	use    func(context.Context, *postgres.Store) error // consumes the code or the signature; nil: nothing to consume
	factor bool                                         // a second factor was shown
}

// stepUp checks that the caller logged in recently or sends the password. A person with TOTP or a passkey also needs a second
// factor, unless the recent login had it. A passkey whose authenticator verified the person needs no password besides. use consumes
// the code or signature; run it in the transaction of the change.
// Errors: identity.ErrSessionNotYoung, identity.ErrKeyChange, identity.ErrFactorFirst, identity.ErrUnsupportedType,
// identity.ErrVerificationFailed, also from use.
func (s *Service) stepUp(ctx context.Context, caller token.Caller,
	p token.Proof) (use func(context.Context, *postgres.Store) error, err error) {
	shown, err := s.prove(ctx, caller, p)
	if err == nil && shown.use == nil {
		return func(context.Context, *postgres.Store) error { return nil }, nil
	}
	return shown.use, err
}

// prove is stepUp with the result as it is.
func (s *Service) prove(ctx context.Context, caller token.Caller, p token.Proof) (proved, error) {
	young := s.now().Sub(caller.AuthTime) <= s.settings.YoungSession
	if p.Factor != nil && p.Factor.Type == credential.TypePasskey {
		return s.provePasskey(ctx, caller, p, young)
	}
	if !young || p.Key != nil { // what is given is checked, also where it is not needed
		if err := s.checkPassword(ctx, caller, p.Key); err != nil {
			return proved{}, err
		}
	}
	if young && caller.AuthLevel >= identity.LevelTwo && p.Factor == nil {
		return proved{}, nil
	}
	factors, err := s.store.Factors(ctx, caller.Person)
	switch {
	case err != nil:
		return proved{}, err
	case !credential.Needed(factors):
		return proved{}, nil
	case p.Factor == nil:
		return proved{}, errStepUpFactor
	case p.Factor.Type != credential.TypeTOTP && p.Factor.Type != credential.TypeRecovery:
		return proved{}, errFactorType
	}
	consume, err := s.checkFactor(ctx, factorTry{
		by: caller, client: caller.Client, source: caller.Session.UUID, kind: p.Factor.Type, code: p.Factor.Key,
	})
	if err != nil {
		return proved{}, factorError(err)
	}
	return proved{factor: true, use: func(ctx context.Context, tx *postgres.Store) error { return factorError(consume(ctx, tx)) }}, nil
}

// provePasskey checks a passkey, and the password if the login is not young and the authenticator did not verify the person.
func (s *Service) provePasskey(ctx context.Context, caller token.Caller, p token.Proof, young bool) (proved, error) {
	k, err := s.checkPasskey(ctx, passkeyTry{
		client: caller.Client, purpose: challengeProof, subject: caller.Session.UUID, person: caller.Person, answer: p.Factor.Key,
	})
	if err != nil {
		return proved{}, factorError(err)
	}
	if !young && !k.verified || p.Key != nil {
		if err := s.checkPassword(ctx, caller, p.Key); err != nil {
			return proved{}, err
		}
	}
	return proved{factor: true, use: func(ctx context.Context, tx *postgres.Store) error { return factorError(k.use(ctx, tx)) }}, nil
}

// factorError maps the errors of a wrong code.
func factorError(err error) error {
	if errors.Is(err, identity.ErrCredentials) || errors.Is(err, identity.ErrFactorNotVerified) {
		return errFactorWrong
	}
	return err
}

// checkPassword compares the caller's password.
// Errors: identity.ErrSessionNotYoung without one, identity.ErrKeyChange for a wrong one.
func (s *Service) checkPassword(ctx context.Context, caller token.Caller, key *string) error {
	hash, err := s.store.PasswordHash(ctx, caller.Person)
	switch {
	case errors.Is(err, identity.ErrAuthenticatorNotFound):
		return errStepUpExternal
	case err != nil:
		return err
	case key == nil:
		return errStepUp
	}
	ok, err := s.hasher.Compare(ctx, hash, *key)
	if err == nil && !ok {
		return errStepUpKey
	}
	return err
}
