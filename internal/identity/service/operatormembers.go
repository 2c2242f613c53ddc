// Memberships and shared invitations as operators see and change them.

package service

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
)

// OrganizationMembers lists the members of an organization, oldest membership first. after is next of the page before. next is empty on
// the last page.
// Errors: fault.ErrInvalid, identity.ErrOrganizationNotFound.
func (s *Service) OrganizationMembers(ctx context.Context, o id.Organization,
	after string) (list []identity.JoinedMember, next string, err error) {
	var last identity.JoinedMember
	var ok bool
	if last.UID, last.Since, ok = id.ParseTimePosition[id.Person](after); !ok {
		return nil, "", fault.ErrInvalid.With("after: " + id.NotNext)
	}
	if _, err := s.store.Organization(ctx, o); err != nil {
		return nil, "", err
	}
	list, err = s.store.MembersAfter(ctx, o, last, operatorPage+1)
	if err == nil && len(list) > operatorPage {
		list = list[:operatorPage]
		m := list[operatorPage-1]
		next = id.TimePosition(m.UID, m.Since)
	}
	return list, next, err
}

// SetMember makes a person a member of an organization with exactly these roles, or replaces the roles of a member. The
// roles take effect at once: access tokens are revoked, and each ID token can be replaced once.
// Errors: fault.ErrInvalid, identity.ErrPersonNotFound, identity.ErrOrganizationNotFound, identity.ErrMemberElsewhere,
// identity.ErrMemberNotVerified, identity.ErrLastAdmin.
func (s *Service) SetMember(ctx context.Context, by audit.Actor, organization, person string, roles []string) error {
	var problems fault.Problems
	roles = identity.CheckRoles(&problems, roles)
	if err := problems.Err(); err != nil {
		return err
	}
	return s.withMember(ctx, organization, person, func(tx *postgres.Store, o id.Organization, p id.Person, before postgres.Standing) error {
		if !slices.Contains(roles, identity.RoleOrganizationAdmin) {
			if err := s.checkNotLastAdmin(ctx, tx, o, p, before.Roles); err != nil {
				return err
			}
		}
		profile, err := tx.Profile(ctx, p)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(profile.Emails, func(a identity.Address) bool { return a.Verified }) {
			return identity.ErrMemberNotVerified
		}
		epoch, err := tx.RaiseEpoch(ctx, p)
		if err != nil {
			return err
		}
		joined, err := tx.SetMember(ctx, o, p, roles, s.now())
		if err != nil {
			return err
		}
		if err := s.administratorsChanged(ctx, tx, by, o, p, before, roles, true); err != nil {
			return err
		}
		return s.privilegesChanged(ctx, tx, privilegeChange{
			by: by, organization: o, person: p, epoch: epoch, action: "member.set", roles: roles, grace: true, membership: joined,
		})
	})
}

// UnsetMember ends a membership and the member's sessions.
// Errors: identity.ErrPersonNotFound, identity.ErrOrganizationNotFound, identity.ErrMemberNotFound,
// identity.ErrLastAdmin.
func (s *Service) UnsetMember(ctx context.Context, by audit.Actor, organization, person string) error {
	return s.withMember(ctx, organization, person, func(tx *postgres.Store, o id.Organization, p id.Person, before postgres.Standing) error {
		if err := s.checkNotLastAdmin(ctx, tx, o, p, before.Roles); err != nil {
			return err
		}
		return s.endMembership(ctx, tx, by, o, p)
	})
}

// withMember resolves the references of a command and calls change with the organization locked. before is the standing
// of the person in the organization.
func (s *Service) withMember(ctx context.Context, organization, person string,
	change func(tx *postgres.Store, o id.Organization, p id.Person, before postgres.Standing) error) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		o, err := tx.FindOrganization(ctx, organization)
		if err != nil {
			return err
		}
		p, err := tx.FindPerson(ctx, strings.ToLower(strings.TrimSpace(person)))
		if err != nil {
			return err
		}
		before, err := s.lockMember(ctx, tx, o, p)
		if err != nil && !errors.Is(err, identity.ErrMemberNotFound) {
			return err
		}
		return change(tx, o, p, before)
	})
}

// CreateSharedInvitation issues a shared invitation.
// Errors: fault.ErrInvalid, identity.ErrSharedRoles, identity.ErrOrganizationNotFound, identity.ErrUserLimit.
func (s *Service) CreateSharedInvitation(ctx context.Context, by audit.Actor, organization string,
	roles []string) (invitation identity.Invitation, err error) {
	in := identity.NewInvitation{Shared: true, Roles: roles}
	if err := in.Check(); err != nil {
		return invitation, err
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		o, err := tx.FindOrganization(ctx, organization)
		if err != nil {
			return err
		}
		invitation, err = s.invite(ctx, tx, by, o, in)
		return err
	})
	return invitation, err
}
