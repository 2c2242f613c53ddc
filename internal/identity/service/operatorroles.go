package service

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/identity/session"
	"github.com/consign-dev/consign/internal/token"
)

// OperatorRole returns what a person may do in the console (contract 9.1), empty for most.
func (s *Service) OperatorRole(ctx context.Context, p id.Person) (token.OperatorRole, error) {
	return s.store.OperatorRole(ctx, p)
}

// AddOperator gives a person a role in the console, instead of the one that the person has.
// Errors: identity.ErrPersonNotFound.
func (s *Service) AddOperator(ctx context.Context, by audit.Actor, reference string, role token.OperatorRole) error {
	details := map[string]string{"role": string(role)}
	return s.changeOperator(ctx, by, reference, "operator.add", details, func(tx *postgres.Store, p id.Person) (bool, error) {
		return tx.AddOperator(ctx, p, role, s.now())
	})
}

// RemoveOperator ends the role of an operator. The next calls of the person are refused within a second.
// Errors: identity.ErrPersonNotFound.
func (s *Service) RemoveOperator(ctx context.Context, by audit.Actor, reference string) error {
	return s.changeOperator(ctx, by, reference, "operator.remove", nil, func(tx *postgres.Store, p id.Person) (bool, error) {
		return tx.RemoveOperator(ctx, p)
	})
}

// changeOperator runs change, and records it if it changed something.
func (s *Service) changeOperator(ctx context.Context, by audit.Actor, reference, action string, details map[string]string,
	change func(*postgres.Store, id.Person) (bool, error)) error {
	p, err := s.find(ctx, reference)
	if err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockPerson(ctx, p); err != nil {
			return err
		}
		changed, err := change(tx, p)
		if err != nil || !changed {
			return err
		}
		return s.record(ctx, tx, audit.Entry{Actor: by, Action: action, Object: p.String(), Target: p, Details: details})
	})
}

// Operators lists the operators of the installation.
func (s *Service) Operators(ctx context.Context) ([]identity.Operator, error) {
	return s.store.Operators(ctx)
}

// ChangesUntil returns until when the login of an operator's token suffices for changes.
func (s *Service) ChangesUntil(caller token.Caller) time.Time {
	return caller.AuthTime.Add(s.settings.YoungSession)
}

// RenewOperatorSession returns an access token of the caller's session whose login is as old as the proof of who the caller is
// (contract 9.1). The session itself stays as old as it is, and the token cannot renew itself without another proof.
// Errors: those of stepUp.
func (s *Service) RenewOperatorSession(ctx context.Context, caller token.Caller, p token.Proof) (session.Access, error) {
	shown, err := s.prove(ctx, caller, p)
	if err != nil {
		return session.Access{}, err
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error { return shown.consume(ctx, tx) })
	if err != nil {
		return session.Access{}, err
	}
	claims := token.Claims{
		Person: caller.Person, Session: caller.Session, Organization: caller.Organization, Roles: caller.Roles, AuthLevel: caller.AuthLevel,
		AuthTime: shown.at, IssuedAt: s.now(), Email: caller.Email, Epoch: caller.Epoch, SetPassword: caller.SetPassword,
	}
	claims.ExpiresAt = claims.IssuedAt.Add(s.issuer.Lifetimes().Access)
	raw, err := s.issuer.Issue(ctx, token.KindAccess, claims)
	return session.Access{Token: raw, ExpiresAt: claims.ExpiresAt}, err
}
