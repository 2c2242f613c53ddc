package service

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// administered returns the organization that the caller administers.
// Errors: transfer.ErrAdminRole, transfer.ErrNotFound
// when the request came to another host than the organization's.
func (s *Service) administered(ctx context.Context, caller token.Caller) (id.Organization, error) {
	if caller.Organization.IsZero() || !caller.Has(transfer.RoleOrganizationAdmin) {
		return id.Organization{}, transfer.ErrAdminRole
	}
	return caller.Organization, s.store.AtHome(ctx, caller.Organization, s.scope(caller))
}

// Adminunit returns the transfer settings of the caller's organization to every member.
// Errors: transfer.ErrNotFound without an organization, and when the request came to another host than the organization's.
func (s *Service) Adminunit(ctx context.Context, caller token.Caller) (transfer.Adminunit, error) {
	if caller.Organization.IsZero() {
		return transfer.Adminunit{}, transfer.ErrNotFound
	}
	if err := s.store.AtHome(ctx, caller.Organization, s.scope(caller)); err != nil {
		return transfer.Adminunit{}, err
	}
	return s.store.Adminunit(ctx, caller.Organization, s.defaults.Adminunit)
}

// DefaultAdminunit returns the settings of an organization that has stored none.
func (s *Service) DefaultAdminunit() transfer.Adminunit { return s.defaults.Adminunit }

// Organizations guards sensitive changes of organizations. The service of identity implements it. Refusals are fault.Errors.
type Organizations interface {
	// StepUp checks that the caller has proved who it is. use consumes the proof, in the transaction of the change.
	StepUp(ctx context.Context, caller token.Caller, p token.Proof) (use func(context.Context, database.Tx) error, err error)
	// ChangeOrganization records a sensitive change and mails the administrators, in the transaction of the change and before it.
	ChangeOrganization(ctx context.Context, tx database.Tx, caller token.Caller, o id.Organization, c token.SensitiveChange) error
}

// GuardBy sets who guards the sensitive changes of organizations. Call it before the first request.
func (s *Service) GuardBy(o Organizations) { s.organizations = o }

// PutAdminunit replaces the transfer settings of the caller's organization. They apply to reservations made from now on. Settings that
// protect less, or keep things longer or shorter, are a sensitive change.
// Errors: transfer.ErrAdminRole, transfer.ErrNotFound, fault.ErrInvalid; those of Organizations.
func (s *Service) PutAdminunit(ctx context.Context, caller token.Caller, u transfer.Adminunit, proof token.Proof) error {
	o, err := s.administered(ctx, caller)
	if err != nil {
		return err
	}
	if err := u.Check(); err != nil {
		return err
	}
	before, err := s.store.Adminunit(ctx, o, s.defaults.Adminunit)
	if err != nil {
		return err
	}
	sensitive := before.Sensitive(u)
	use := func(context.Context, database.Tx) error { return nil }
	if sensitive {
		if use, err = s.organizations.StepUp(ctx, caller, proof); err != nil {
			return err
		}
	}
	defer s.ForgetOrganizations()
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if sensitive {
			err := s.organizations.ChangeOrganization(ctx, tx.Tx(), caller, o, token.SensitiveChange{Kind: token.RulesLowered, Before: before})
			if err != nil {
				return err
			}
		}
		if err := use(ctx, tx.Tx()); err != nil {
			return err
		}
		if err := s.storeAdminunit(ctx, tx, o, u); err != nil {
			return err
		}
		return s.record(ctx, tx, administrator(caller, ""), audit.Entry{Action: "adminunit.put", Object: o.String(), Organization: o})
	})
}

// RestoreAdminunit stores the settings of an organization as they were before a change, in the transaction of identity.
func (s *Service) RestoreAdminunit(ctx context.Context, tx database.Tx, o id.Organization, before json.RawMessage) error {
	var u transfer.Adminunit
	if err := json.Unmarshal(before, &u); err != nil {
		return fmt.Errorf("decode settings of transfers: %w", err)
	}
	return s.storeAdminunit(ctx, s.store.Within(tx), o, u)
}

// storeAdminunit stores settings, and enqueues what the rules of retention change of delivered transfers.
func (s *Service) storeAdminunit(ctx context.Context, tx *postgres.Store, o id.Organization, u transfer.Adminunit) error {
	if err := tx.PutAdminunit(ctx, o, u, s.now()); err != nil {
		return err
	}
	return s.enqueue(ctx, tx.Tx(), retentionJob{Organization: o})
}

// ForgetOrganizations empties the microcaches of organizations and mailboxes after a change of an organization. It empties
// the organizations first: a mailbox read in between would be cached with the old settings.
func (s *Service) ForgetOrganizations() {
	s.store.ForgetOrganizations()
	s.mailboxes.Invalidate()
}
