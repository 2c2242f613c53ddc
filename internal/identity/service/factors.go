package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/token"
)

// errFactorDelayed refuses a second factor before the delay of the last wrong one is over.
var errFactorDelayed = fault.ErrOverloaded.With("there were too many wrong codes; retry after the time that the Retry-After header says")

// factorTry is an attempt to verify a second factor.
type factorTry struct {
	by     token.Caller // the person, by an mfa token or an access token
	client token.Client
	source uuid.UUID // whose wrong codes are counted together
	kind   string
	code   string
}

// factorSource returns the source of a login's second factor. Somebody who knows the password can delay the codes of
// unknown browsers. A known device and a login after a reset are counted separately, so that the owner can log in.
func factorSource(mfa token.Caller, device id.Device) uuid.UUID {
	switch {
	case !device.IsZero():
		return device.UUID
	case mfa.SetPassword:
		return mfa.Person.UUID
	}
	return uuid.Nil
}

// checkFactor compares a code with the person's authenticator. use consumes the code; run it in the transaction of the
// login. Only use decides between parallel logins with the same code. After some wrong codes in a row each one delays the
// next try, and the person gets a mail (contract 3.2).
// Errors: identity.ErrCredentials, identity.ErrFactorNotVerified, fault.ErrOverloaded.
func (s *Service) checkFactor(ctx context.Context, t factorTry) (use func(context.Context, *postgres.Store) error, err error) {
	person := t.by.Person
	factor, err := s.store.Factor(ctx, person, t.kind)
	if err != nil {
		return nil, err
	}
	now := s.now()
	begun, err := s.store.BeginFactor(ctx, person, t.source, now)
	if err != nil {
		return nil, err
	}
	if begun.Failures == 0 {
		return nil, errFactorDelayed.WithRetryAfter(untilNext(begun, now))
	}
	consume, err := s.compareCode(ctx, factor, t)
	if errors.Is(err, identity.ErrCredentials) && begun.Failures%identity.FactorWarning == 0 {
		if err := s.warnOfGuesses(ctx, t); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, tx *postgres.Store) error {
		if err := consume(ctx, tx); err != nil {
			return err
		}
		return tx.ForgetFactor(ctx, person, t.source)
	}, nil
}

// untilNext returns the time until the next try of a refused one. Without a time, another try was counted in parallel.
func untilNext(t postgres.FactorTry, now time.Time) time.Duration {
	if t.NextAt == nil || !t.NextAt.After(now) {
		return time.Second
	}
	return t.NextAt.Sub(now)
}

// compareCode compares a code with the stored factor. consume uses it up.
// Errors: identity.ErrCredentials.
func (s *Service) compareCode(ctx context.Context, factor postgres.Factor, t factorTry) (consume func(context.Context, *postgres.Store) error, err error) {
	if t.kind == credential.TypeRecovery {
		hash := credential.HashRecoveryCode(factor.Salt, t.code)
		exists, err := s.store.HasRecoveryCode(ctx, factor.UID, hash)
		if err == nil && !exists {
			err = identity.ErrCredentials
		}
		return func(ctx context.Context, tx *postgres.Store) error { return tx.UseRecoveryCode(ctx, factor.UID, hash) }, err
	}
	secret, err := s.secrets.Open(factor.Secret, factor.UID.UUID[:])
	if err != nil {
		return nil, fmt.Errorf("open TOTP secret: %w", err)
	}
	step, ok := credential.TOTPStep(secret, t.code, s.now())
	if !ok {
		return nil, identity.ErrCredentials
	}
	return func(ctx context.Context, tx *postgres.Store) error { return tx.UseStep(ctx, factor.UID, step) }, nil
}

// warnOfGuesses mails the person about wrong codes.
func (s *Service) warnOfGuesses(ctx context.Context, t factorTry) error {
	by := token.Caller{Person: t.by.Person, Client: t.client}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		to, err := tx.Addressee(ctx, by.Person)
		if err != nil {
			return err
		}
		if err := s.inform(ctx, tx, to, by.Person, t.client, notice{template: mail.FactorGuesses}); err != nil {
			return err
		}
		return s.recordOwn(ctx, tx, by, "factor.guesses", by.Person.String(), nil)
	})
}
