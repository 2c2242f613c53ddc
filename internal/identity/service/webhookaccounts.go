// What the other domains need of people and organizations.

package service

import (
	"context"
	"errors"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/notice"
	"github.com/consign-dev/consign/internal/token"
)

// The reasons of export targets that pause: somebody else may have made them; their maker is no longer an administrator.
const (
	pausedSecurity = "SECURITY"
	pausedMaker    = "MAKER"
)

// Administers checks that the caller is an administrator of an organization. tx may be nil.
// Errors: those of authorize.
func (s *Service) Administers(ctx context.Context, tx database.Tx, caller token.Caller, o id.Organization) error {
	store := s.store
	if tx != nil {
		store = store.Within(tx)
	}
	return s.authorize(ctx, store, caller, o, identity.RoleOrganizationAdmin)
}

// LockOwner locks an organization, which the caller must administer, unless it is zero, and then the caller.
// Errors: identity.ErrPersonNotFound, those of authorize.
func (s *Service) LockOwner(ctx context.Context, tx database.Tx, caller token.Caller, o id.Organization) error {
	store := s.store.Within(tx)
	if !o.IsZero() {
		if err := store.LockOrganizations(ctx, o); err != nil {
			return err
		}
		if err := s.authorize(ctx, store, caller, o, identity.RoleOrganizationAdmin); err != nil {
			return err
		}
	}
	return store.LockPerson(ctx, caller.Person)
}

// StepUp checks that the caller has proved who it is. use consumes the proof, in the transaction of the change.
// Errors: those of guard.
func (s *Service) StepUp(ctx context.Context, caller token.Caller,
	p token.Proof) (use func(context.Context, database.Tx) error, err error) {
	consume, err := s.guard(ctx, caller, true, p)
	return func(ctx context.Context, tx database.Tx) error { return consume(ctx, s.store.Within(tx)) }, err
}

// Elsewhere is the service for the transfer API, where the codes of refused proofs mean something else: those of package token stand
// for them.
type Elsewhere struct{ *Service }

// StepUp is Service.StepUp.
// Errors: token.ErrSensitive, token.ErrProofMissing, token.ErrProofWrong, token.ErrFactorMissing, token.ErrFactorWrong; the last also from
// use.
func (e Elsewhere) StepUp(ctx context.Context, caller token.Caller,
	p token.Proof) (use func(context.Context, database.Tx) error, err error) {
	consume, err := e.Service.StepUp(ctx, caller, p)
	return func(ctx context.Context, tx database.Tx) error { return elsewhere(consume(ctx, tx)) }, elsewhere(err)
}

// elsewhere maps the refusals of a proof.
func elsewhere(err error) error {
	for from, to := range map[*fault.Error]*fault.Error{
		identity.ErrSessionNotYoung: token.ErrProofMissing, identity.ErrKeyChange: token.ErrProofWrong,
		identity.ErrFactorFirst: token.ErrFactorMissing, identity.ErrVerificationFailed: token.ErrFactorWrong,
	} {
		if errors.Is(err, from) {
			return to.Because(err)
		}
	}
	return err
}

// MailChange mails the caller about a change of what the account depends on, with a link that undoes it.
func (s *Service) MailChange(ctx context.Context, tx database.Tx, caller token.Caller, template string, data map[string]any) error {
	return s.notices.Secure(ctx, s.store.Within(tx), caller.Person, caller.Client, notice.Notice{Template: template, Data: data})
}
