// Step-up: a caller proves who it is before a change of what the account depends on (contract 3.21).

package service

import (
	"context"
	"errors"
	"time"

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

// proofCounts is how long a proof counts for its session.
const proofCounts = 10 * time.Minute

// proved is a proof that was checked.
type proved struct {
	use    func(context.Context, *postgres.Store) error // consumes the code or the signature; nil: nothing to consume
	factor bool                                         // a second factor was shown
	at     time.Time                                    // of the oldest of what counted: the login, or an earlier proof
}

// stepUp checks that the caller logged in recently or proves the password. A person with TOTP or a passkey also needs a second factor,
// unless the recent login had it. A passkey whose authenticator verified the person needs no password besides. What the session has
// proved within proofCounts counts. use consumes the code or signature; run it in the transaction of the change.
// Errors: identity.ErrSessionNotYoung, identity.ErrKeyChange, identity.ErrFactorFirst, identity.ErrUnsupportedType,
// identity.ErrVerificationFailed, also from use.
func (s *Service) stepUp(ctx context.Context, caller token.Caller,
	p token.Proof) (use func(context.Context, *postgres.Store) error, err error) {
	shown, err := s.prove(ctx, caller, p)
	return shown.consume, err
}

// consume calls use, if there is something to consume.
func (p proved) consume(ctx context.Context, tx *postgres.Store) error {
	if p.use == nil {
		return nil
	}
	return p.use(ctx, tx)
}

// prove is stepUp with the result as it is.
func (s *Service) prove(ctx context.Context, caller token.Caller, p token.Proof) (proved, error) {
	now := s.now()
	young := now.Sub(caller.AuthTime) <= s.settings.YoungSession
	if young && caller.AuthLevel >= identity.LevelTwo && p.Factor == nil && p.Key == nil {
		return proved{at: caller.AuthTime}, nil
	}
	kept, err := s.keptProofs(ctx, caller)
	if err != nil {
		return proved{}, err
	}
	if p.Factor != nil && p.Factor.Type == credential.TypePasskey {
		return s.provePasskey(ctx, caller, p, young, kept)
	}
	shown := proved{at: caller.AuthTime}
	switch {
	case p.Key != nil || !young && kept.PasswordProvedAt == nil: // what is given is checked, also where it is not needed
		if err := s.checkPassword(ctx, caller, p.Key); err != nil {
			return proved{}, err
		}
		if err := s.store.KeepProof(ctx, caller.Person, caller.Session, kept.DeviceEpoch, true, false, now); err != nil {
			return proved{}, err
		}
		shown.at = now
	case !young:
		shown.at = *kept.PasswordProvedAt
	}
	if young && caller.AuthLevel >= identity.LevelTwo && p.Factor == nil {
		return shown, nil
	}
	return s.proveFactor(ctx, caller, p, kept, shown)
}

// keptProofs returns what the caller's session has proved and still counts.
func (s *Service) keptProofs(ctx context.Context, caller token.Caller) (postgres.Proofs, error) {
	kept, err := s.store.Proofs(ctx, caller.Person, caller.Session)
	since := s.now().Add(-min(proofCounts, s.settings.YoungSession))
	for _, at := range []**time.Time{&kept.PasswordProvedAt, &kept.FactorProvedAt} {
		if *at != nil && (*at).Before(since) {
			*at = nil
		}
	}
	return kept, err
}

// proveFactor checks the code of an authenticator app or a recovery code, if the person needs one. shown is what was proved before.
func (s *Service) proveFactor(ctx context.Context, caller token.Caller, p token.Proof, kept postgres.Proofs,
	shown proved) (proved, error) {
	factors, err := s.store.Factors(ctx, caller.Person)
	switch {
	case err != nil:
		return proved{}, err
	case !credential.Needed(factors):
		return shown, nil
	case p.Factor == nil && kept.FactorProvedAt != nil:
		shown.factor = true
		if kept.FactorProvedAt.Before(shown.at) {
			shown.at = *kept.FactorProvedAt
		}
		return shown, nil
	case p.Factor == nil:
		return proved{}, errStepUpFactor
	case p.Factor.Type != credential.TypeTOTP && p.Factor.Type != credential.TypeRecovery:
		return proved{}, errFactorType
	}
	use, err := s.checkFactor(ctx, factorTry{
		by: caller, client: caller.Client, source: caller.Session.UUID, kind: p.Factor.Type, code: p.Factor.Key,
	})
	if err != nil {
		return proved{}, factorError(err)
	}
	shown.factor, shown.use = true, s.keeping(caller, kept, false, use)
	return shown, nil
}

// keeping returns use, which then keeps the proof of a second factor, and of the password if password is set, for the caller's session.
func (s *Service) keeping(caller token.Caller, kept postgres.Proofs, password bool, use consume) consume {
	return func(ctx context.Context, tx *postgres.Store) error {
		if err := factorError(use(ctx, tx)); err != nil {
			return err
		}
		return tx.KeepProof(ctx, caller.Person, caller.Session, kept.DeviceEpoch, password, true, s.now())
	}
}

// provePasskey checks a passkey, and the password if neither the login nor a proof of it is young and the authenticator did not verify
// the person.
func (s *Service) provePasskey(ctx context.Context, caller token.Caller, p token.Proof, young bool,
	kept postgres.Proofs) (proved, error) {
	k, err := s.checkPasskey(ctx, passkeyTry{
		client: caller.Client, purpose: challengeProof, subject: caller.Session.UUID, person: caller.Person, answer: p.Factor.Key,
	})
	if err != nil {
		return proved{}, factorError(err)
	}
	shown := proved{factor: true, at: caller.AuthTime}
	checks := p.Key != nil || !young && !k.verified && kept.PasswordProvedAt == nil
	switch {
	case checks:
		if err := s.checkPassword(ctx, caller, p.Key); err != nil {
			return proved{}, err
		}
		shown.at = s.now()
	case k.verified:
		shown.at = s.now()
	case !young:
		shown.at = *kept.PasswordProvedAt
	}
	shown.use = s.keeping(caller, kept, checks || k.verified, k.use)
	return shown, nil
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
