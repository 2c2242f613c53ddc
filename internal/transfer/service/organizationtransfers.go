// What administrators see and change of the transfers of their organization.

package service

import (
	"context"
	"slices"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

// Methods for administrators of an organization (contract 4.28). They show what the console shows, of the caller's organization alone.

// errFree: administrators of the free organization have no lists.
var errFree = fault.ErrForbidden.With("people without an organization share the limits of the free organization, so it has no such lists")

// overseen returns the organization that the caller administers, which has members only.
// Errors: those of administered, fault.ErrForbidden.
func (s *Service) overseen(ctx context.Context, caller token.Caller) (id.Organization, error) {
	o, err := s.administered(ctx, caller)
	if err != nil {
		return o, err
	}
	free, err := s.store.SharesLimits(ctx, o)
	if err == nil && free {
		err = errFree
	}
	return o, err
}

// Overseen is overseen, for package holding.
func (s *Service) Overseen(ctx context.Context, caller token.Caller) (id.Organization, error) {
	return s.overseen(ctx, caller)
}

// OrganizationTransfers selects transfers of an organization for an administrator.
type OrganizationTransfers struct {
	Person string // uid or address of the member whose volume they use; empty: all
	State  transfer.State
	After  string // next of the page before; empty: the newest
}

// OrganizationTransfers lists the transfers that use the limits of the caller's organization, newest first. next is empty on the last page.
// With a state, a page may be empty and have a next one.
// Errors: those of overseen, fault.ErrInvalid.
func (s *Service) OrganizationTransfers(ctx context.Context, caller token.Caller,
	in OrganizationTransfers) (list []transfer.ListedTransfer, next string, err error) {
	o, err := s.overseen(ctx, caller)
	if err != nil {
		return nil, "", err
	}
	q, err := s.transferSearch(in.State, in.After)
	if err != nil {
		return nil, "", err
	}
	q.Organization = o
	if in.Person != "" {
		if q.Owner, err = s.PersonNamed(ctx, in.Person); err != nil || q.Owner.IsZero() {
			return nil, "", err
		}
	}
	return s.findTransfers(ctx, q)
}

// OrganizationTransfer returns a transfer that uses the limits of the caller's organization, with its recipients.
// Errors: those of overseen, transfer.ErrNotFound.
func (s *Service) OrganizationTransfer(ctx context.Context, caller token.Caller, uid id.Transfer) (TransferReport, error) {
	o, err := s.overseen(ctx, caller)
	if err != nil {
		return TransferReport{}, err
	}
	r, err := s.ReportTransfer(ctx, uid)
	if err == nil && r.Organization != o {
		err = transfer.ErrNotFound
	}
	return r, err
}

// ExtendOrganizationTransfer makes a transfer of the caller's organization available for some days from now, as long as a sender can at
// most.
// Errors: those of overseen, transfer.ErrServiceDisabled, transfer.ErrNotFound, transfer.ErrEnded, fault.ErrInvalid.
func (s *Service) ExtendOrganizationTransfer(ctx context.Context, caller token.Caller, reason string, uid id.Transfer, days int) error {
	o, err := s.overseen(ctx, caller)
	if err != nil {
		return err
	}
	admin, err := s.store.Owner(ctx, caller.Person, s.scope(caller))
	switch {
	case err != nil:
		return err
	case !admin.ServiceEnabled:
		return transfer.ErrServiceDisabled
	}
	return s.extendIn(ctx, administrator(caller, reason), o, uid, days, int(slices.Max(admin.AvailableTTL)))
}

// RevokeOrganizationTransfer ends a transfer of the caller's organization and erases its content.
// Errors: those of overseen, transfer.ErrNotFound, transfer.ErrEnded.
func (s *Service) RevokeOrganizationTransfer(ctx context.Context, caller token.Caller, reason string, uid id.Transfer) error {
	o, err := s.overseen(ctx, caller)
	if err != nil {
		return err
	}
	return s.revokeIn(ctx, administrator(caller, reason), o, uid)
}

// administrator returns the caller as an actor in place of a member.
func administrator(caller token.Caller, reason string) audit.Actor {
	by := audit.Of(caller).As(audit.Administrator)
	by.Reason = reason
	return by
}
