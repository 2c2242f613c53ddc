package service

import (
	"context"

	"github.com/consign-dev/consign/internal/audit"
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

// PutAdminunit replaces the transfer settings of the caller's organization. They apply to reservations made from now on.
// Errors: transfer.ErrAdminRole, transfer.ErrNotFound, fault.ErrInvalid.
func (s *Service) PutAdminunit(ctx context.Context, caller token.Caller, u transfer.Adminunit) error {
	o, err := s.administered(ctx, caller)
	if err != nil {
		return err
	}
	if err := u.Check(); err != nil {
		return err
	}
	defer s.ForgetOrganizations()
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.PutAdminunit(ctx, o, u, s.now()); err != nil {
			return err
		}
		return s.record(ctx, tx, administrator(caller, ""), audit.Entry{Action: "adminunit.put", Object: o.String(), Organization: o})
	})
}

// ForgetOrganizations empties the microcaches of organizations and mailboxes after a change of an organization. It empties
// the organizations first: a mailbox read in between would be cached with the old settings.
func (s *Service) ForgetOrganizations() {
	s.store.ForgetOrganizations()
	s.mailboxes.Invalidate()
}
