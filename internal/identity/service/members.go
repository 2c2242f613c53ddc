package service

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
)

// authorize checks that the caller is a member of an organization and has one of roles, if any are given.
// Errors: identity.ErrOrganizationNotFound, identity.ErrNotMember, identity.ErrRoleMissing.
func (s *Service) authorize(ctx context.Context, store *postgres.Store, caller token.Caller, o id.Organization, roles ...string) error {
	standing, err := store.Standing(ctx, o, caller.Person)
	switch {
	case err != nil:
		return err
	case !standing.Member:
		return identity.ErrNotMember
	case len(roles) > 0 && !slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(standing.Roles, r) }):
		return identity.ErrRoleMissing.With("needs the role " + strings.Join(roles, " or "))
	}
	return nil
}

// administer locks an organization, checks that the caller is one of its administrators, and calls change.
// Errors: those of authorize and of change.
func (s *Service) administer(ctx context.Context, caller token.Caller, o id.Organization, change func(tx *postgres.Store) error) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockOrganizations(ctx, o); err != nil {
			return err
		}
		if err := s.authorize(ctx, tx, caller, o, identity.RoleOrganizationAdmin); err != nil {
			return err
		}
		return change(tx)
	})
}

// lockMember locks an organization and returns the standing of one of its members.
// Errors: identity.ErrOrganizationNotFound, identity.ErrMemberNotFound.
func (s *Service) lockMember(ctx context.Context, tx *postgres.Store, o id.Organization, p id.Person) (postgres.Standing, error) {
	if err := tx.LockOrganizations(ctx, o); err != nil {
		return postgres.Standing{}, err
	}
	standing, err := tx.Standing(ctx, o, p)
	if err == nil && !standing.Member {
		err = identity.ErrMemberNotFound
	}
	return standing, err
}

// checkNotLastAdmin refuses a change that would leave an organization without administrator. The organization is
// locked. roles are the person's current roles.
// Errors: identity.ErrLastAdmin.
func (s *Service) checkNotLastAdmin(ctx context.Context, tx *postgres.Store, o id.Organization, p id.Person, roles []string) error {
	if !slices.Contains(roles, identity.RoleOrganizationAdmin) {
		return nil
	}
	other, err := tx.OtherAdmin(ctx, o, p)
	if err == nil && !other {
		return identity.ErrLastAdmin
	}
	return err
}

// admit makes a person a member of an organization. Both are locked, and the person is in no organization.
// Errors: identity.ErrUserLimit.
func (s *Service) admit(ctx context.Context, tx *postgres.Store, o id.Organization, p id.Person, roles []string) error {
	if err := s.checkUserLimit(ctx, tx, o); err != nil {
		return err
	}
	return tx.InsertMember(ctx, o, p, roles, s.now())
}

// checkUserLimit refuses when the organization has reached its limitation users.
// Errors: identity.ErrUserLimit.
func (s *Service) checkUserLimit(ctx context.Context, store *postgres.Store, o id.Organization) error {
	members, limit, err := store.CountMembers(ctx, o)
	if err == nil && members >= limit {
		return identity.ErrUserLimit.AtMost(int64(limit))
	}
	return err
}

// Members lists the members of an organization to an administrator, oldest membership first. The sequence reads them
// from the database in batches.
// Errors: identity.ErrOrganizationNotFound, identity.ErrNotMember, identity.ErrRoleMissing.
func (s *Service) Members(ctx context.Context, caller token.Caller, o id.Organization) (iter.Seq2[identity.Member, error], error) {
	if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin); err != nil {
		return nil, err
	}
	return s.members(ctx, o), nil
}

// membersBatch is how many members one query returns. Between batches no database connection is held, however slow the
// client is.
const membersBatch = 2000

func (s *Service) members(ctx context.Context, o id.Organization) iter.Seq2[identity.Member, error] {
	return func(yield func(identity.Member, error) bool) {
		var last identity.JoinedMember
		for more := true; more; {
			list, err := s.store.MembersAfter(ctx, o, last, membersBatch)
			if err != nil {
				yield(identity.Member{}, err)
				return
			}
			for _, m := range list {
				if !yield(m.Member, nil) {
					return
				}
				last = m
			}
			more = len(list) == membersBatch
		}
	}
}

// Member returns a member of an organization to an administrator.
// Errors: those of Members, identity.ErrMemberNotFound.
func (s *Service) Member(ctx context.Context, caller token.Caller, o id.Organization, p id.Person) (identity.Member, error) {
	if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin); err != nil {
		return identity.Member{}, err
	}
	return s.store.Member(ctx, o, p)
}

// PutMember replaces a member's roles, reference and externalUid. Changed roles take effect at once: the member's
// access tokens are revoked, and each ID token can be replaced once.
// Making somebody an administrator, or no longer one, is a sensitive change.
// Errors: those of Member and guard, fault.ErrInvalid, identity.ErrLastAdmin, identity.ErrJunior; fault.ErrForbidden for
// an externalUid of a local person.
func (s *Service) PutMember(ctx context.Context, caller token.Caller, o id.Organization, in identity.Member,
	proof token.Proof) (identity.Member, error) {
	if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin); err != nil {
		return identity.Member{}, err
	}
	use, err := s.guardRoles(ctx, caller, o, in.UID, in.Roles, proof)
	if err != nil {
		return identity.Member{}, err
	}
	var problems fault.Problems
	in.Roles = identity.CheckRoles(&problems, in.Roles)
	for _, c := range []struct{ member, value string }{{"reference", in.Reference}, {"externalUid", in.ExternalUID}} {
		if err := text.Line(c.value, text.MaxName); err != nil {
			problems.Add(c.member, err.Error())
		}
	}
	if err := problems.Err(); err != nil {
		return identity.Member{}, err
	}
	var after identity.Member
	err = s.administer(ctx, caller, o, func(tx *postgres.Store) error {
		before, err := tx.Member(ctx, o, in.UID)
		if err != nil {
			return err
		}
		if in.ExternalUID != "" && before.Issuer == "" {
			return fault.ErrForbidden.With("externalUid: only members who sign in at an identity provider have one")
		}
		sorted, _ := identity.SortRoles(before.Roles)
		if !slices.Equal(sorted, in.Roles) {
			err = s.setRoles(ctx, tx, caller, o, in, use)
		} else {
			err = tx.UpdateMember(ctx, o, in, s.now())
		}
		if err != nil {
			return err
		}
		after, err = tx.Member(ctx, o, in.UID)
		return err
	})
	return after, err
}

// guardRoles is guard for a change of a member's roles. nil roles end the membership.
// Errors: those of guard.
func (s *Service) guardRoles(ctx context.Context, caller token.Caller, o id.Organization, p id.Person, roles []string,
	proof token.Proof) (consume, error) {
	before, err := s.store.Standing(ctx, o, p)
	if err != nil {
		return nil, err
	}
	return s.guard(ctx, caller, (before.AdminSince != nil) != slices.Contains(roles, identity.RoleOrganizationAdmin), proof)
}

// demote checks that the caller may take the role of an administrator from a member, and consumes the proof.
// Errors: identity.ErrLastAdmin, identity.ErrJunior, those of consume.used.
func (s *Service) demote(ctx context.Context, tx *postgres.Store, caller token.Caller, o id.Organization, p id.Person,
	before postgres.Standing, use consume) error {
	if err := s.checkNotLastAdmin(ctx, tx, o, p, before.Roles); err != nil {
		return err
	}
	if p != caller.Person {
		own, err := tx.Standing(ctx, o, caller.Person)
		if err != nil {
			return err
		}
		if err := s.checkSenior(own, before); err != nil {
			return err
		}
	}
	return use.used(ctx, tx, before.AdminSince != nil)
}

// setRoles stores a member with changed roles and revokes its access tokens.
func (s *Service) setRoles(ctx context.Context, tx *postgres.Store, caller token.Caller, o id.Organization, m identity.Member,
	use consume) error {
	before, err := tx.Standing(ctx, o, m.UID)
	if err != nil {
		return err
	}
	if slices.Contains(m.Roles, identity.RoleOrganizationAdmin) {
		err = use.used(ctx, tx, before.AdminSince == nil)
	} else {
		err = s.demote(ctx, tx, caller, o, m.UID, before, use)
	}
	if err != nil {
		return err
	}
	epoch, err := tx.RaiseEpoch(ctx, m.UID)
	if err != nil {
		return err
	}
	if err := tx.UpdateMember(ctx, o, m, s.now()); err != nil {
		return err
	}
	if err := s.administratorsChanged(ctx, tx, administrator(caller), o, m.UID, before, m.Roles, true); err != nil {
		return err
	}
	return s.privilegesChanged(ctx, tx, privilegeChange{
		by: administrator(caller), organization: o, person: m.UID, epoch: epoch, action: "member.roles", roles: m.Roles, grace: true,
	})
}

// RemoveMember ends a member's membership and sessions. Removing an administrator is a sensitive change.
// Errors: those of Member and guard, identity.ErrSelfRemoval, identity.ErrLastAdmin, identity.ErrJunior.
func (s *Service) RemoveMember(ctx context.Context, caller token.Caller, o id.Organization, p id.Person, proof token.Proof) error {
	if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin); err != nil {
		return err
	}
	use, err := s.guardRoles(ctx, caller, o, p, nil, proof)
	if err != nil && p != caller.Person {
		return err
	}
	return s.administer(ctx, caller, o, func(tx *postgres.Store) error {
		if p == caller.Person { // so the caller stays administrator, and the removed member was not the last one
			if other, err := tx.OtherAdmin(ctx, o, p); err != nil {
				return err
			} else if !other { // leaving is no way out
				return identity.ErrLastAdmin
			}
			return identity.ErrSelfRemoval
		}
		before, err := tx.Standing(ctx, o, p)
		if err == nil && !before.Member {
			err = identity.ErrMemberNotFound
		}
		if err != nil {
			return err
		}
		if err := s.demote(ctx, tx, caller, o, p, before, use); err != nil {
			return err
		}
		return s.endMembership(ctx, tx, administrator(caller), o, p)
	})
}

// endMembership deletes an existing membership, ends the member's sessions, and mails the member.
func (s *Service) endMembership(ctx context.Context, tx *postgres.Store, by audit.Actor, o id.Organization, p id.Person) error {
	before, err := tx.Standing(ctx, o, p)
	if err != nil {
		return err
	}
	epoch, err := tx.RaiseEpoch(ctx, p)
	if err != nil {
		return err
	}
	if err := s.notices.Removed(ctx, tx, o, p); err != nil {
		return err
	}
	if err := tx.DeleteMember(ctx, o, p); err != nil {
		return err
	}
	if err := s.administratorsChanged(ctx, tx, by, o, p, before, nil, false); err != nil {
		return err
	}
	if err := tx.EndSessions(ctx, p, id.Session{}, s.now()); err != nil {
		return err
	}
	return s.privilegesChanged(ctx, tx, privilegeChange{by: by, organization: o, person: p, epoch: epoch, action: "member.remove",
		membership: true})
}

// privilegeChange is a change of a person's membership or roles that the person did not make.
type privilegeChange struct {
	by           audit.Actor
	organization id.Organization
	person       id.Person
	epoch        int64  // access tokens of a lower epoch are revoked
	action       string // of the audit entry
	roles        []string
	grace        bool // sessions continue: each ID token can be replaced once (contract 2.4); else they have been ended
	membership   bool // the membership has changed, not only the roles
}

// privilegesChanged blacklists the person's ID tokens, calls the hooks, revokes access tokens, and writes the audit
// entry and the event.
func (s *Service) privilegesChanged(ctx context.Context, tx *postgres.Store, c privilegeChange) error {
	if c.grace {
		if err := tx.GraceSessions(ctx, c.person); err != nil {
			return err
		}
	}
	if c.membership && s.hooks != nil {
		if err := s.hooks.MembershipChanged(ctx, tx.Tx(), c.person); err != nil {
			return err
		}
	}
	if err := s.record(ctx, tx, audit.Entry{
		Actor: c.by, Action: c.action, Object: c.person.String(), Target: c.person, Organization: c.organization,
		Details: map[string]string{"roles": strings.Join(c.roles, " ")},
	}); err != nil {
		return err
	}
	return s.endAccess(ctx, tx, c.person, c.epoch)
}

// endAccess writes PRIVILEGES_UPDATED into a person's feed and revokes the access tokens below an epoch.
func (s *Service) endAccess(ctx context.Context, tx *postgres.Store, p id.Person, epoch int64) error {
	if err := events.AppendOwn(ctx, tx.Tx(), s.now(), events.PrivilegesUpdated, []id.Person{p}); err != nil {
		return err
	}
	return s.revocations.Publish(ctx, tx.Tx(), token.Revocation{Person: p, Epoch: epoch})
}

// ownMembershipChanged finishes the caller's own change of membership. The person is locked and its epoch is raised. The other
// sessions end, the caller's session gets a new ID token, access tokens are revoked, and the hooks are called. It
// returns nil for a session without ID token.
func (s *Service) ownMembershipChanged(ctx context.Context, tx *postgres.Store, caller token.Caller, o id.Organization, epoch int64,
	action string) (*postgres.Issued, error) {
	issued, err := s.renewSession(ctx, tx, caller)
	if err != nil {
		return nil, err
	}
	if err := tx.EndSessions(ctx, caller.Person, caller.Session, s.now()); err != nil {
		return nil, err
	}
	if s.hooks != nil {
		if err := s.hooks.MembershipChanged(ctx, tx.Tx(), caller.Person); err != nil {
			return nil, err
		}
	}
	if err := s.recordOf(ctx, tx, audit.Of(caller), o, action, nil); err != nil {
		return nil, err
	}
	return issued, s.endAccess(ctx, tx, caller.Person, epoch)
}

// renewSession replaces the ID token of the caller's session. The person is locked. It returns nil for a session
// without ID token: it is parked, and the pickup returns a new token.
func (s *Service) renewSession(ctx context.Context, tx *postgres.Store, caller token.Caller) (*postgres.Issued, error) {
	t, err := tx.ReplaceSession(ctx, caller.Person, caller.Session, s.Replacement(caller.Client))
	if errors.Is(err, identity.ErrTokenNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &t, nil
}

// signRenewed returns the signed ID token of a renewed session, or "" for nil.
func (s *Service) signRenewed(ctx context.Context, issued *postgres.Issued) (string, error) {
	if issued == nil {
		return "", nil
	}
	return s.IDToken(ctx, *issued)
}
