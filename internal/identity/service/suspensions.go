package service

import (
	"context"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/token"
)

// SuspendPerson ends all sessions, API tokens, webhooks, links, downloads and uploads of a person, and keeps the person from signing in. No
// mail is sent, and nobody who knows the password learns of it (contract 9.4). A suspended person stays as it is.
// Errors: identity.ErrPersonNotFound.
func (s *Service) SuspendPerson(ctx context.Context, by audit.Actor, reference string) error {
	p, err := s.find(ctx, reference)
	if err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		ended, err := tx.Suspend(ctx, p, s.now())
		if err != nil || ended == uuid.Nil {
			return err
		}
		if err := s.endAll(ctx, tx, p, by, id.Organization{}); err != nil {
			return err
		}
		if s.webhooks != nil {
			if err := s.webhooks.PauseOfPerson(ctx, tx.Tx(), p, pausedSecurity); err != nil {
				return err
			}
		}
		if err := s.revocations.Publish(ctx, tx.Tx(), token.Revocation{Ended: ended}); err != nil {
			return err
		}
		return s.recordStanding(ctx, tx, by, p, "person.suspend")
	})
}

// ReactivatePerson ends the suspension of a person. Links work again, and the person can sign in. API tokens stay deleted and webhooks
// paused.
// Errors: identity.ErrPersonNotFound.
func (s *Service) ReactivatePerson(ctx context.Context, by audit.Actor, reference string) error {
	p, err := s.find(ctx, reference)
	if err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		suspended, err := tx.Reactivate(ctx, p)
		if err != nil || !suspended {
			return err
		}
		return s.recordStanding(ctx, tx, by, p, "person.reactivate")
	})
}

// recordStanding records a suspension or its end, also for the administrators of the person's organization, and clears the microcaches of
// all replicas.
func (s *Service) recordStanding(ctx context.Context, tx *postgres.Store, by audit.Actor, p id.Person, action string) error {
	if err := tx.NotifyDirectory(ctx); err != nil {
		return err
	}
	person, err := tx.Profile(ctx, p)
	if err != nil {
		return err
	}
	e := audit.Entry{Actor: by, Action: action, Object: p.String(), Target: p}
	if person.Organization != nil {
		e.Organization = person.Organization.UID
	}
	return s.record(ctx, tx, e)
}
