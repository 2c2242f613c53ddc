package service

import (
	"context"
	"errors"
	"slices"

	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/token"
)

// Proof is what a request shows besides its access token, so that a leaked token alone cannot take over an account
// (contract 3.21). The zero Proof is a request that relies on a recent login.
type Proof struct {
	Key    *string // the password
	Factor *Factor // the second factor
}

// Factor is a code of a second factor.
type Factor struct {
	Type string // totp or recovery
	Key  string
}

// The refusals of stepUp say what would be right.
var (
	errStepUp         = identity.ErrSessionNotYoung.With("your last login is too long ago for this; log in again, or send authKey (your password)")
	errStepUpExternal = identity.ErrSessionNotYoung.With("your last login is too long ago for this; log in again at your external provider")
	errStepUpKey      = identity.ErrKeyChange.With("authKey: is not your password")
	errStepUpFactor   = identity.ErrFactorFirst.With("send authFactor: {type, key} with type totp or recovery, or log in again with your second factor")
	errFactorType     = identity.ErrUnsupportedType.With("authFactor.type: must be totp or recovery")
	errFactorWrong    = identity.ErrVerificationFailed.With("authFactor: the code is wrong or was used")
)

// stepUp checks that the caller logged in recently or sends the password. A person with TOTP also needs its second
// factor, unless the recent login had it. use consumes the code; run it in the transaction of the change.
// Errors: identity.ErrSessionNotYoung, identity.ErrKeyChange, identity.ErrFactorFirst, identity.ErrUnsupportedType,
// identity.ErrVerificationFailed, also from use.
func (s *Service) stepUp(ctx context.Context, caller token.Caller, p Proof) (use func(context.Context, *postgres.Store) error, err error) {
	young := s.now().Sub(caller.AuthTime) <= s.settings.YoungSession
	if !young {
		if err := s.checkPassword(ctx, caller, p.Key); err != nil {
			return nil, err
		}
	}
	none := func(context.Context, *postgres.Store) error { return nil }
	if young && caller.AuthLevel >= identity.LevelTwo {
		return none, nil
	}
	factors, err := s.store.Factors(ctx, caller.Person)
	switch {
	case err != nil:
		return nil, err
	case !slices.Contains(factors, credential.TypeTOTP):
		return none, nil
	case p.Factor == nil:
		return nil, errStepUpFactor
	case p.Factor.Type != credential.TypeTOTP && p.Factor.Type != credential.TypeRecovery:
		return nil, errFactorType
	}
	consume, err := s.checkFactor(ctx, factorTry{
		by: caller, client: caller.Client, source: caller.Session.UUID, kind: p.Factor.Type, code: p.Factor.Key,
	})
	if err != nil {
		return nil, factorError(err)
	}
	return func(ctx context.Context, tx *postgres.Store) error { return factorError(consume(ctx, tx)) }, nil
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
