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

// authorize checks that the caller is a member of an organization and, if roles are given, has one of them.
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

// administer runs change for an administrator of an organization, with the organization locked.
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

// lockMember locks an organization and returns the roles of one of its members.
// Errors: identity.ErrOrganizationNotFound, identity.ErrMemberNotFound.
func (s *Service) lockMember(ctx context.Context, tx *postgres.Store, o id.Organization, p id.Person) (roles []string, err error) {
	if err := tx.LockOrganizations(ctx, o); err != nil {
		return nil, err
	}
	standing, err := tx.Standing(ctx, o, p)
	if err == nil && !standing.Member {
		err = identity.ErrMemberNotFound
	}
	return standing.Roles, err
}

// keepAdmin refuses to take the last administrator from an organization, which is locked. roles are those that the person
// has so far. Errors: identity.ErrLastAdmin.
func (s *Service) keepAdmin(ctx context.Context, tx *postgres.Store, o id.Organization, p id.Person, roles []string) error {
	if !slices.Contains(roles, identity.RoleOrganizationAdmin) {
		return nil
	}
	other, err := tx.OtherAdmin(ctx, o, p)
	if err == nil && !other {
		return identity.ErrLastAdmin
	}
	return err
}

// admit makes a person, who is locked and nowhere a member, a member of an organization, which is locked.
// Errors: identity.ErrUserLimit.
func (s *Service) admit(ctx context.Context, tx *postgres.Store, o id.Organization, p id.Person, roles []string) error {
	if err := s.roomForOne(ctx, tx, o); err != nil {
		return err
	}
	return tx.InsertMember(ctx, o, p, roles, s.now())
}

// roomForOne refuses when an organization has as many members as it may have. Errors: identity.ErrUserLimit.
func (s *Service) roomForOne(ctx context.Context, store *postgres.Store, o id.Organization) error {
	members, limit, err := store.CountMembers(ctx, o)
	if err == nil && members >= limit {
		return identity.ErrUserLimit
	}
	return err
}

// Members lists the members of an organization for an administrator, oldest membership first. They are read as they are asked for.
// Errors: identity.ErrOrganizationNotFound, identity.ErrNotMember, identity.ErrRoleMissing.
func (s *Service) Members(ctx context.Context, caller token.Caller, o id.Organization) (iter.Seq2[identity.Member, error], error) {
	if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin); err != nil {
		return nil, err
	}
	return s.members(ctx, o)
}

// membersBatch is how many members are read at once: between batches a client may be slow, and no connection waits for it.
const membersBatch = 2000

func (s *Service) members(ctx context.Context, o id.Organization) (iter.Seq2[identity.Member, error], error) {
	persons, err := s.store.MembersByAge(ctx, o)
	return func(yield func(identity.Member, error) bool) {
		for batch := range slices.Chunk(persons, membersBatch) {
			list, err := s.store.Members(ctx, o, batch)
			if err != nil {
				yield(identity.Member{}, err)
				return
			}
			for _, m := range list {
				if !yield(m, nil) {
					return
				}
			}
		}
	}, err
}

// Member returns a member of an organization to an administrator. Errors: as Members, identity.ErrMemberNotFound.
func (s *Service) Member(ctx context.Context, caller token.Caller, o id.Organization, p id.Person) (identity.Member, error) {
	if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin); err != nil {
		return identity.Member{}, err
	}
	return s.store.Member(ctx, o, p)
}

// UpdateMember replaces what an organization decides about a member: roles, reference and externalUid. Changed roles reach
// the member's tokens at once: each ID token is good for one replacement. Errors: as Member, fault.ErrInvalid,
// identity.ErrLastAdmin.
func (s *Service) UpdateMember(ctx context.Context, caller token.Caller, o id.Organization, in identity.Member) (identity.Member, error) {
	if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin); err != nil {
		return identity.Member{}, err
	}
	var problems fault.Problems
	in.Roles = checkRoles(&problems, in.Roles)
	for _, c := range []struct{ member, value string }{{"reference", in.Reference}, {"externalUid", in.ExternalUID}} {
		if err := text.Line(c.value, text.MaxName); err != nil {
			problems.Add(c.member, err.Error())
		}
	}
	if err := problems.Err(); err != nil {
		return identity.Member{}, err
	}
	var after identity.Member
	err := s.administer(ctx, caller, o, func(tx *postgres.Store) error {
		before, err := tx.Member(ctx, o, in.UID)
		if err != nil {
			return err
		}
		sorted, _ := identity.SortRoles(before.Roles)
		if !slices.Equal(sorted, in.Roles) {
			err = s.setRoles(ctx, tx, caller, o, in, sorted)
		} else {
			err = tx.UpdateMember(ctx, o, in)
		}
		if err != nil {
			return err
		}
		after, err = tx.Member(ctx, o, in.UID)
		return err
	})
	return after, describe("update member", err)
}

// setRoles stores a member whose roles were others before, and tells everybody.
func (s *Service) setRoles(ctx context.Context, tx *postgres.Store, caller token.Caller, o id.Organization, m identity.Member, before []string) error {
	if !slices.Contains(m.Roles, identity.RoleOrganizationAdmin) {
		if err := s.keepAdmin(ctx, tx, o, m.UID, before); err != nil {
			return err
		}
	}
	epoch, err := tx.RaiseEpoch(ctx, m.UID)
	if err != nil {
		return err
	}
	if err := tx.UpdateMember(ctx, o, m); err != nil {
		return err
	}
	return s.privilegesChanged(ctx, tx, privileges{
		by: caller, organization: o, person: m.UID, epoch: epoch, action: "member.roles", roles: m.Roles, grace: true,
	})
}

// RemoveMember ends a member's membership and sessions. Errors: as Member, identity.ErrSelfRemoval.
func (s *Service) RemoveMember(ctx context.Context, caller token.Caller, o id.Organization, p id.Person) error {
	err := s.administer(ctx, caller, o, func(tx *postgres.Store) error {
		if p == caller.Person { // somebody else is administrator, so whoever is removed was not the last one
			return identity.ErrSelfRemoval
		}
		if _, err := tx.Member(ctx, o, p); err != nil {
			return err
		}
		return s.endMembership(ctx, tx, caller, o, p)
	})
	return describe("remove member", err)
}

// endMembership takes a member, who exists, out of an organization and ends its sessions.
func (s *Service) endMembership(ctx context.Context, tx *postgres.Store, by token.Caller, o id.Organization, p id.Person) error {
	epoch, err := tx.RaiseEpoch(ctx, p)
	if err != nil {
		return err
	}
	if err := tx.DeleteMember(ctx, o, p); err != nil {
		return err
	}
	if err := tx.EndSessions(ctx, p, id.Session{}, s.now()); err != nil {
		return err
	}
	return s.privilegesChanged(ctx, tx, privileges{by: by, organization: o, person: p, epoch: epoch, action: "member.remove", membership: true})
}

// SetMember makes a person a member of an organization with exactly these roles, or gives a member these roles, for an
// operator. Both are references: a uid, an address or a hostname, or FreeOrganization. The person's tokens follow at
// once. Errors: fault.ErrInvalid, identity.ErrPersonNotFound, identity.ErrOrganizationNotFound, identity.ErrMemberElsewhere,
// identity.ErrMemberNotVerified, identity.ErrLastAdmin.
func (s *Service) SetMember(ctx context.Context, organization, person string, roles []string) error {
	var problems fault.Problems
	roles = checkRoles(&problems, roles)
	if err := problems.Err(); err != nil {
		return err
	}
	err := s.operate(ctx, organization, person, func(tx *postgres.Store, o id.Organization, p id.Person, before []string) error {
		if !slices.Contains(roles, identity.RoleOrganizationAdmin) {
			if err := s.keepAdmin(ctx, tx, o, p, before); err != nil {
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
		return s.privilegesChanged(ctx, tx, privileges{
			organization: o, person: p, epoch: epoch, action: "member.set", roles: roles, grace: true, membership: joined,
		})
	})
	return describe("set member", err)
}

// DropMember ends a membership, for an operator; the references are those of SetMember.
// Errors: identity.ErrPersonNotFound, identity.ErrOrganizationNotFound, identity.ErrMemberNotFound, identity.ErrLastAdmin.
func (s *Service) DropMember(ctx context.Context, organization, person string) error {
	err := s.operate(ctx, organization, person, func(tx *postgres.Store, o id.Organization, p id.Person, before []string) error {
		if err := s.keepAdmin(ctx, tx, o, p, before); err != nil {
			return err
		}
		return s.endMembership(ctx, tx, token.Caller{}, o, p)
	})
	return describe("drop member", err)
}

// operate resolves the references of an operator's command and runs change with the organization locked; before are the
// roles that the person has in it, if any.
func (s *Service) operate(ctx context.Context, organization, person string, change func(tx *postgres.Store, o id.Organization, p id.Person, before []string) error) error {
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

// checkRoles sorts roles and notes those that are none.
func checkRoles(problems *fault.Problems, roles []string) []string {
	sorted, unknown := identity.SortRoles(roles)
	for _, r := range unknown {
		if text.Line(r, text.MaxName) != nil {
			r = "an entry"
		}
		problems.Add("roles", r+" is none of "+strings.Join(identity.Roles(), ", "))
	}
	return sorted
}

// privileges is somebody else's change of a person's membership or roles.
type privileges struct {
	by           token.Caller // zero: an operator
	organization id.Organization
	person       id.Person
	epoch        int64 // the lowest that is valid now
	action       string
	roles        []string
	grace        bool // sessions go on with a replacement each (contract 2.4); else they have been ended
	membership   bool // not only the roles have changed
}

// privilegesChanged tells everybody: tokens are blacklisted, access ends, the person's feed says so.
func (s *Service) privilegesChanged(ctx context.Context, tx *postgres.Store, c privileges) error {
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
		Actor: c.by.Person, Action: c.action, Object: c.person.String(), Target: c.person, Organization: c.organization, Client: c.by.Client,
		Details: map[string]string{"roles": strings.Join(c.roles, " ")},
	}); err != nil {
		return err
	}
	return s.endAccess(ctx, tx, c.person, c.epoch)
}

// endAccess puts PRIVILEGES_UPDATED into a person's feed and ends the access tokens below an epoch.
func (s *Service) endAccess(ctx context.Context, tx *postgres.Store, p id.Person, epoch int64) error {
	if err := events.AppendOwn(ctx, tx.Querier(), s.now(), events.PrivilegesUpdated, []id.Person{p}); err != nil {
		return err
	}
	return s.revocations.Publish(ctx, tx.Querier(), token.Revocation{Person: p, Epoch: epoch})
}

// renewOwn follows the caller's own change of membership, with the person locked and the epoch raised: every ID token
// ends, the session gets a new one, access ends, the feed says so. It returns nil for a session without ID token.
func (s *Service) renewOwn(ctx context.Context, tx *postgres.Store, caller token.Caller, o id.Organization, epoch int64, action string) (*postgres.Issued, error) {
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
	if err := s.recordOf(ctx, tx, caller, o, action, nil); err != nil {
		return nil, err
	}
	return issued, s.endAccess(ctx, tx, caller.Person, epoch)
}

// renewSession replaces the ID token of the caller's session, with the person locked. It returns nil if the session has
// none any more: it was parked, and whoever picks it up gets a token that is up to date.
func (s *Service) renewSession(ctx context.Context, tx *postgres.Store, caller token.Caller) (*postgres.Issued, error) {
	t, err := tx.ReplaceSession(ctx, caller.Person, caller.Session, s.replacement(caller.Client))
	if errors.Is(err, identity.ErrTokenNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &t, nil
}

// handOut signs the ID token of a session that was renewed; empty for none.
func (s *Service) handOut(ctx context.Context, issued *postgres.Issued) (string, error) {
	if issued == nil {
		return "", nil
	}
	return s.idToken(ctx, *issued)
}
