package service

import (
	"context"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// administered is the organization that the caller administers, on its home host. ErrAdminRole, ErrNotFound.
func (s *Service) administered(ctx context.Context, c token.Caller) (id.Organization, error) {
	if c.Organization.IsZero() || !c.Has(transfer.RoleOrganizationAdmin) {
		return id.Organization{}, transfer.ErrAdminRole
	}
	return c.Organization, s.store.AtHome(ctx, c.Organization, s.scope(c))
}

// Adminunit returns what the caller's organization has decided about transfers. ErrAdminRole, ErrNotFound.
func (s *Service) Adminunit(ctx context.Context, c token.Caller) (transfer.Adminunit, error) {
	o, err := s.administered(ctx, c)
	if err != nil {
		return transfer.Adminunit{}, err
	}
	return s.store.Adminunit(ctx, o, s.defaults.Adminunit)
}

// DefaultAdminunit returns the settings of an organization that has stored none.
func (s *Service) DefaultAdminunit() transfer.Adminunit { return s.defaults.Adminunit }

// PutAdminunit replaces what the caller's organization has decided; it holds for what begins from now on. ErrAdminRole,
// ErrNotFound, ErrInvalid.
func (s *Service) PutAdminunit(ctx context.Context, c token.Caller, u transfer.Adminunit) error {
	o, err := s.administered(ctx, c)
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
		return s.audit(ctx, tx, c, audit.Entry{Action: "adminunit.put", Object: o.String(), Organization: o})
	})
}

// ForgetOrganizations has the next request read what organizations have decided and subscribed to: something of it has changed. The
// mailboxes come after what they are completed with, else one that is read in between would show the old state for a moment more.
func (s *Service) ForgetOrganizations() {
	s.store.ForgetOrganizations()
	s.mailboxes.Invalidate()
}
