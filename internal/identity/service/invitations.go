// Rules of invitations: who may invite, with which roles, and what accepting one does.

package service

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
)

// InvitationsForCaller lists the invitations that the caller can accept: the free organization's shared ones and those
// for the caller's verified addresses.
func (s *Service) InvitationsForCaller(ctx context.Context, caller token.Caller) ([]identity.Invitation, error) {
	return s.store.InvitationsFor(ctx, caller.Person, s.now())
}

// PublicInvitation returns an invitation to the holder of its key. It consumes nothing.
// Errors: identity.ErrInvitationNotFound.
func (s *Service) PublicInvitation(ctx context.Context, key string) (identity.PublicInvitation, error) {
	if !isKey(key) {
		return identity.PublicInvitation{}, identity.ErrInvitationNotFound
	}
	return s.store.PublicInvitation(ctx, key, s.now())
}

// InvitationLogo returns the avatar of an invitation's organization to the holder of the key, in the stored size closest
// to height (pixels; 0: the largest).
// Errors: identity.ErrInvitationNotFound, identity.ErrAvatarNotFound.
func (s *Service) InvitationLogo(ctx context.Context, key string, height int) (identity.Avatar, error) {
	i, err := s.PublicInvitation(ctx, key)
	if err != nil {
		return identity.Avatar{}, err
	}
	return s.avatar(ctx, postgres.AvatarOwner{Organization: i.Organization.UID}, height)
}

// AcceptInvitation makes the caller a member of an invitation's organization. A personalized invitation is consumed. With
// leave the caller's other membership ends in the same transaction; without it a member is refused. Every ID token of the
// caller ends; idToken is the session's new one.
// Errors: identity.ErrInvitationNotFound, identity.ErrInvitationAddress, identity.ErrStillMember, identity.ErrLastAdmin
// of the organization to leave, identity.ErrUserLimit; those of guard for an administrator who leaves.
func (s *Service) AcceptInvitation(ctx context.Context, caller token.Caller, key string, leave bool,
	proof token.Proof) (idToken string, err error) {
	if !isKey(key) {
		return "", identity.ErrInvitationNotFound
	}
	use, err := s.guardLeaving(ctx, caller, leave, proof)
	if err != nil {
		return "", err
	}
	var issued *postgres.Issued
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		i, err := tx.Invitation(ctx, key, s.now())
		if err != nil {
			return err
		}
		before, err := tx.Membership(ctx, caller.Person)
		if err != nil {
			return err
		}
		o := i.Organization.UID
		if err := tx.LockOrganizations(ctx, o, before.Organization); err != nil {
			return err
		}
		roles, err := tx.TakeInvitation(ctx, key, s.now())
		if err != nil {
			return err
		}
		if err := s.checkInvitee(ctx, tx, caller.Person, i); err != nil {
			return err
		}
		epoch, err := tx.RaiseEpoch(ctx, caller.Person)
		if err != nil {
			return err
		}
		if leave && before.Organization != o {
			err = s.leaveLocked(ctx, tx, caller, before.Organization, use)
		}
		if err != nil {
			return err
		}
		if m, err := tx.Membership(ctx, caller.Person); err != nil {
			return err
		} else if !m.Organization.IsZero() {
			return identity.ErrStillMember
		}
		if err := s.admit(ctx, tx, o, caller.Person, roles); err != nil {
			return err
		}
		if err := s.administratorsChanged(ctx, tx, audit.Of(caller), o, caller.Person, postgres.Standing{}, roles, true); err != nil {
			return err
		}
		issued, err = s.ownMembershipChanged(ctx, tx, caller, o, epoch, "invitation.accept")
		return err
	})
	if err != nil {
		return "", err
	}
	return s.signRenewed(ctx, issued)
}

// guardLeaving is guard for a caller who leaves an organization, which is a sensitive change of its administrators.
// Errors: those of guard.
func (s *Service) guardLeaving(ctx context.Context, caller token.Caller, leave bool, proof token.Proof) (consume, error) {
	m, err := s.store.Membership(ctx, caller.Person)
	if err != nil {
		return nil, err
	}
	return s.guard(ctx, caller, leave && slices.Contains(m.Roles, identity.RoleOrganizationAdmin), proof)
}

// leaveLocked ends the caller's membership of an organization that the caller leaves for another one. The organization and
// the caller are locked. It does nothing when the caller is not a member.
// Errors: identity.ErrLastAdmin.
func (s *Service) leaveLocked(ctx context.Context, tx *postgres.Store, caller token.Caller, o id.Organization, use consume) error {
	before, err := tx.Standing(ctx, o, caller.Person)
	if errors.Is(err, identity.ErrOrganizationNotFound) || err == nil && !before.Member {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.demote(ctx, tx, caller, o, caller.Person, before, use); err != nil {
		return err
	}
	if err := s.notices.Left(ctx, tx, o, caller); err != nil {
		return err
	}
	if err := tx.DeleteMember(ctx, o, caller.Person); err != nil {
		return err
	}
	if err := s.administratorsChanged(ctx, tx, audit.Of(caller), o, caller.Person, before, nil, false); err != nil {
		return err
	}
	return s.recordOf(ctx, tx, audit.Of(caller), o, "organization.leave", nil)
}

// isKey reports whether key has the form of an invitation's key. The database compares these keys as text, not by hash.
func isKey(key string) bool { return text.Line(key, text.MaxName) == nil }

// checkInvitee checks that a personalized invitation is for an address of the person.
// Errors: identity.ErrInvitationAddress.
func (s *Service) checkInvitee(ctx context.Context, tx *postgres.Store, p id.Person, i identity.Invitation) error {
	if i.Shared() {
		return nil
	}
	own, err := tx.HasVerified(ctx, p, i.Address)
	if err == nil && !own {
		return identity.ErrInvitationAddress
	}
	return err
}

// Invitations lists an organization's invitations to an administrator, newest first.
// Errors: identity.ErrOrganizationNotFound, identity.ErrNotMember, identity.ErrRoleMissing.
func (s *Service) Invitations(ctx context.Context, caller token.Caller, o id.Organization) ([]identity.Invitation, error) {
	if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin); err != nil {
		return nil, err
	}
	return s.store.InvitationsOf(ctx, o, s.now())
}

// CreateInvitation issues an invitation on behalf of an administrator. An invitation for an address is mailed and
// replaces an earlier one for that address.
// Errors: those of Invitations, fault.ErrInvalid, identity.ErrSharedRoles, identity.ErrAlreadyMember,
// identity.ErrUserLimit, those of guard for an invitation of an administrator.
func (s *Service) CreateInvitation(ctx context.Context, caller token.Caller, o id.Organization, in identity.NewInvitation,
	proof token.Proof) (invitation identity.Invitation, err error) {
	if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin); err != nil {
		return invitation, err
	}
	if err := in.Check(); err != nil {
		return invitation, err
	}
	sensitive := slices.Contains(in.Roles, identity.RoleOrganizationAdmin)
	use, err := s.guard(ctx, caller, sensitive, proof)
	if err != nil {
		return invitation, err
	}
	err = s.administer(ctx, caller, o, func(tx *postgres.Store) error {
		if err := use.used(ctx, tx, sensitive); err != nil {
			return err
		}
		if invitation, err = s.invite(ctx, tx, administrator(caller), o, in); err != nil || !sensitive {
			return err
		}
		return s.notices.Change(ctx, tx, administrator(caller), o, token.SensitiveChange{
			Kind: token.AdministratorInvited, Object: in.Address, Subject: in.Address, Before: in.Address})
	})
	return invitation, err
}

func (s *Service) invite(ctx context.Context, tx *postgres.Store, by audit.Actor, o id.Organization,
	in identity.NewInvitation) (identity.Invitation, error) {
	if err := s.checkUserLimit(ctx, tx, o); err != nil {
		return identity.Invitation{}, err
	}
	n := postgres.NewInvitation{
		Key: seal.NewKey(), Organization: o, Address: in.Address, Roles: in.Roles, Inviter: by.Person, CreatedAt: s.now(),
	}
	if !in.Shared {
		n.ExpiresAt = s.now().Add(s.settings.Invitation)
		if member, err := tx.IsMemberAddress(ctx, o, in.Address); err != nil {
			return identity.Invitation{}, err
		} else if member {
			return identity.Invitation{}, identity.ErrAlreadyMember
		}
	}
	if err := tx.PutInvitation(ctx, n); err != nil {
		return identity.Invitation{}, err
	}
	invitation, err := tx.Invitation(ctx, n.Key, s.now())
	if err != nil {
		return identity.Invitation{}, err
	}
	if !in.Shared {
		if err := s.mailInvitation(ctx, tx, invitation, n.ExpiresAt); err != nil {
			return identity.Invitation{}, err
		}
	}
	return invitation, s.recordInvitation(ctx, tx, by, o, "invitation.create", in.Address, in.Roles)
}

// mailInvitation queues the mail to the invited address. It is in the organization's language, since the reader's
// language is unknown.
func (s *Service) mailInvitation(ctx context.Context, tx *postgres.Store, i identity.Invitation, expires time.Time) error {
	o := i.Organization
	data := map[string]any{"organization": o.Name, "expiresAt": expires}
	if i.Inviter != nil {
		inviter, err := tx.Contact(ctx, *i.Inviter)
		if err != nil {
			return err
		}
		data["inviter"] = cmp.Or(inviter.Name, inviter.Email)
	}
	_, err := s.mailer.Queue(ctx, tx.Tx(), mail.Message{
		To: i.Address, Locale: o.Locale, TimeZone: o.TimeZone, Template: mail.Invitation, Reference: o.UID.String(), Data: data,
		Secret: map[string]string{"link": s.notices.Link(o.Hostname, "/invitation/"+i.Key)}, GiveUpAt: expires,
	})
	return err
}

// RevokeInvitation revokes an invitation.
// Errors: those of Invitations, identity.ErrInvitationNotFound.
func (s *Service) RevokeInvitation(ctx context.Context, caller token.Caller, o id.Organization, key string) error {
	return s.administer(ctx, caller, o, func(tx *postgres.Store) error {
		if !isKey(key) {
			return identity.ErrInvitationNotFound
		}
		address, err := tx.DeleteInvitation(ctx, o, key, s.now())
		if err != nil {
			return err
		}
		return s.recordInvitation(ctx, tx, administrator(caller), o, "invitation.revoke", address, nil)
	})
}

// recordInvitation appends an audit entry about an invitation. It names the address, never the key, which grants
// membership.
func (s *Service) recordInvitation(ctx context.Context, tx *postgres.Store, by audit.Actor, o id.Organization, action, address string,
	roles []string) error {
	return s.record(ctx, tx, audit.Entry{
		Actor: by, Action: action, Object: cmp.Or(address, "shared"), Organization: o,
		Details: map[string]string{"roles": strings.Join(roles, " ")},
	})
}
