package service

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/notice"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/token"
)

// NewOrganization is the input of a new organization.
type NewOrganization struct {
	Name     string // empty: unset
	Locale   string // empty: the creator's
	TimeZone string // empty: the creator's
}

// CreateOrganization creates an organization with the caller as its only member and administrator. The caller leaves
// the free organization. Every ID token of the caller ends; idToken is the session's new one.
// Errors: fault.ErrInvalid, identity.ErrStillMember, identity.ErrTooManyOrganizations, identity.ErrLastAdmin of the free organization.
func (s *Service) CreateOrganization(ctx context.Context, caller token.Caller,
	in NewOrganization) (o identity.OrganizationDetails, idToken string, err error) {
	var problems fault.Problems
	identity.CheckProfile(&problems, in.Name, in.Locale, in.TimeZone)
	if err := problems.Err(); err != nil {
		return o, "", err
	}
	if in.Locale == "" || in.TimeZone == "" {
		person, err := s.store.Contact(ctx, caller.Person)
		if err != nil {
			return o, "", err
		}
		in.Locale, in.TimeZone = cmp.Or(in.Locale, person.Locale), cmp.Or(in.TimeZone, person.TimeZone)
	}
	uid := id.New[id.Organization]()
	var issued *postgres.Issued
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		epoch, err := s.leaveFree(ctx, tx, caller.Person)
		if err != nil {
			return err
		}
		if err := tx.CountMade(ctx, caller.Person, s.now()); err != nil {
			return err
		}
		if err := s.insertOrganization(ctx, tx, uid, in, true); err != nil {
			return err
		}
		roles := []string{identity.RoleOrganizationAdmin, identity.RoleTransferUse}
		if err := tx.InsertMember(ctx, uid, caller.Person, roles, s.now()); err != nil {
			return err
		}
		if o, err = tx.Organization(ctx, uid); err != nil {
			return err
		}
		issued, err = s.ownMembershipChanged(ctx, tx, caller, uid, epoch, "organization.create")
		return err
	})
	if errors.Is(err, identity.ErrMemberElsewhere) {
		err = identity.ErrStillMember.Because(err)
	}
	if err != nil {
		return o, "", err
	}
	idToken, err = s.signRenewed(ctx, issued)
	return o, idToken, err
}

// insertOrganization stores an organization, whose limitation users is its own, and so are the volumes of one that a person makes. Its
// other limitations follow the plan.
func (s *Service) insertOrganization(ctx context.Context, tx *postgres.Store, uid id.Organization, in NewOrganization,
	personal bool) error {
	limits := identity.LimitsChange{Users: identity.To(identity.NewOrganizationUsers)}
	if personal {
		volume := identity.To(float64(s.settings.UploadVolumeGB))
		limits.TransferVolumeGB, limits.StorageVolumeGB = volume, volume
	}
	columns, err := limits.Columns()
	if err != nil {
		return err
	}
	n := postgres.NewOrganization{UID: uid, Name: in.Name, Locale: in.Locale, TimeZone: in.TimeZone, CreatedAt: s.now(), Personal: personal}
	if err := tx.InsertOrganization(ctx, n); err != nil {
		return err
	}
	return tx.SetLimits(ctx, uid, columns)
}

// leaveFree ends a person's membership of the free organization, if any, and returns the person's new epoch. Afterwards
// the person is locked and in no organization.
// Errors: identity.ErrStillMember, identity.ErrLastAdmin.
func (s *Service) leaveFree(ctx context.Context, tx *postgres.Store, p id.Person) (epoch int64, err error) {
	m, err := tx.Membership(ctx, p)
	if err != nil {
		return 0, err
	}
	if !m.Organization.IsZero() {
		if err := tx.LockOrganizations(ctx, m.Organization); err != nil {
			return 0, err
		}
	}
	if epoch, err = tx.RaiseEpoch(ctx, p); err != nil {
		return 0, err
	}
	current, err := tx.Membership(ctx, p)
	switch {
	case err != nil:
		return 0, err
	case current.Organization.IsZero():
		return epoch, nil
	case !current.Free || current.Organization != m.Organization:
		return 0, identity.ErrStillMember
	}
	if err := s.checkNotLastAdmin(ctx, tx, current.Organization, p, current.Roles); err != nil {
		return 0, err
	}
	return epoch, tx.DeleteMember(ctx, current.Organization, p)
}

// Organization returns an organization to one of its members.
// Errors: identity.ErrOrganizationNotFound, identity.ErrNotMember.
func (s *Service) Organization(ctx context.Context, caller token.Caller, o id.Organization) (identity.OrganizationDetails, error) {
	if err := s.authorize(ctx, s.store, caller, o); err != nil {
		return identity.OrganizationDetails{}, err
	}
	return s.store.Organization(ctx, o)
}

// HostClaim returns the hostname that an organization claims and whose TXT record is missing, or the zero claim.
// Members who are not administrators always get the zero claim.
// Errors: identity.ErrOrganizationNotFound, identity.ErrNotMember.
func (s *Service) HostClaim(ctx context.Context, caller token.Caller, o id.Organization) (identity.HostClaim, error) {
	err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin)
	if errors.Is(err, identity.ErrRoleMissing) {
		return identity.HostClaim{}, nil
	}
	if err != nil {
		return identity.HostClaim{}, err
	}
	return s.store.HostClaim(ctx, o)
}

// PutOrganizationProfile replaces an organization's profile, and its hostnames by the rules of contract 3.11. claim is
// the hostname that still needs a TXT record.
// Errors: fault.ErrInvalid, identity.ErrOrganizationNotFound, identity.ErrNotMember, identity.ErrRoleMissing, and those
// of changeHostnames; those of guard for other hostnames.
func (s *Service) PutOrganizationProfile(ctx context.Context, caller token.Caller, o id.Organization, p identity.OrganizationProfile,
	proof token.Proof) (after identity.OrganizationDetails, claim identity.HostClaim, err error) {
	if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin); err != nil {
		return after, claim, err
	}
	if err := p.Check(); err != nil {
		return after, claim, err
	}
	use, err := s.guardHostnames(ctx, caller, o, p, proof)
	if err != nil {
		return after, claim, err
	}
	verified, err := s.verifiedClaim(ctx, o, p.Hostname)
	if err != nil {
		return after, claim, err
	}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockHosts(ctx); err != nil {
			return err
		}
		if err := tx.LockOrganizations(ctx, o); err != nil {
			return err
		}
		if err := s.authorize(ctx, tx, caller, o, identity.RoleOrganizationAdmin); err != nil {
			return err
		}
		before, err := tx.Organization(ctx, o)
		if err != nil {
			return err
		}
		if err := tx.UpdateOrganizationProfile(ctx, o, p, s.now()); err != nil {
			return err
		}
		if claim, err = s.changeHostnames(ctx, tx, before, hostnames{active: p.Hostname, keep: p.InactiveHostnames}, verified); err != nil {
			return err
		}
		if after, err = tx.Organization(ctx, o); err != nil {
			return err
		}
		if err := use.used(ctx, tx, otherHostnames(before.Profile, p)); err != nil {
			return err
		}
		if err := s.hostnamesChanged(ctx, tx, administrator(caller), before, after); err != nil {
			return err
		}
		if err := s.recordOf(ctx, tx, administrator(caller), o, "organization.update", nil); err != nil {
			return err
		}
		return s.announceToMembers(ctx, tx, o, profileUpdated)
	})
	return after, claim, err
}

// LeaveOrganization ends the caller's membership. Every ID token of the caller ends; idToken is the session's new one.
// Errors: identity.ErrOrganizationNotFound, identity.ErrNotMember, identity.ErrLastAdmin; those of guard for an administrator.
func (s *Service) LeaveOrganization(ctx context.Context, caller token.Caller, o id.Organization,
	proof token.Proof) (idToken string, err error) {
	use, err := s.guardLeaving(ctx, caller, true, proof)
	if err != nil {
		return "", err
	}
	var issued *postgres.Issued
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		before, err := s.lockMember(ctx, tx, o, caller.Person)
		if errors.Is(err, identity.ErrMemberNotFound) {
			return identity.ErrNotMember
		}
		if err != nil {
			return err
		}
		if err := s.demote(ctx, tx, caller, o, caller.Person, before, use); err != nil {
			return err
		}
		epoch, err := tx.RaiseEpoch(ctx, caller.Person)
		if err != nil {
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
		issued, err = s.ownMembershipChanged(ctx, tx, caller, o, epoch, "organization.leave")
		return err
	})
	if err != nil {
		return "", err
	}
	return s.signRenewed(ctx, issued)
}

// DeleteOrganization deletes an organization and ends the tokens of all its members; idToken is the new ID token of the
// caller's session.
// Errors: identity.ErrOrganizationNotFound, identity.ErrNotMember, identity.ErrRoleMissing,
// identity.ErrFreeOrganization, and those of stepUp.
func (s *Service) DeleteOrganization(ctx context.Context, caller token.Caller, o id.Organization,
	proof token.Proof) (idToken string, err error) {
	use, err := s.stepUp(ctx, caller, proof)
	if err != nil {
		return "", err
	}
	var issued *postgres.Issued
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockOrganizations(ctx, o); err != nil {
			return err
		}
		if err := s.authorize(ctx, tx, caller, o, identity.RoleOrganizationAdmin); err != nil {
			return err
		}
		if issued, err = s.deleteOrganization(ctx, tx, caller, o); err != nil {
			return err
		}
		return use(ctx, tx) // last: the members are locked in order
	})
	if err != nil {
		return "", err
	}
	return s.signRenewed(ctx, issued)
}

// deleteOrganization deletes a locked organization, ends its members' sessions, calls the hooks, mails the members and
// announces the change.
func (s *Service) deleteOrganization(ctx context.Context, tx *postgres.Store, caller token.Caller,
	o id.Organization) (*postgres.Issued, error) {
	raised, err := tx.RaiseEpochs(ctx, o)
	if err != nil {
		return nil, err
	}
	deleted, err := tx.Organization(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := tx.DeleteOrganization(ctx, o); err != nil {
		return nil, err
	}
	issued, err := s.renewSession(ctx, tx, caller)
	if err != nil {
		return nil, err
	}
	var members []id.Person
	var others []id.Person
	var ended []token.Revocation
	for _, r := range raised {
		members = append(members, r.Person)
		ended = append(ended, token.Revocation{Person: r.Person, Epoch: r.Epoch})
		if r.Person != caller.Person {
			others = append(others, r.Person)
		}
	}
	if err := tx.EndSessionsOf(ctx, others, s.now()); err != nil {
		return nil, err
	}
	if err := tx.EndSessions(ctx, caller.Person, caller.Session, s.now()); err != nil {
		return nil, err
	}
	if s.hooks != nil {
		if err := s.hooks.MembershipChanged(ctx, tx.Tx(), members...); err != nil {
			return nil, err
		}
		if err := s.hooks.OrganizationDeleted(ctx, tx.Tx(), o); err != nil {
			return nil, err
		}
	}
	if err := s.notices.Farewell(ctx, tx, members, deleted.Profile.Name); err != nil {
		return nil, err
	}
	if err := tx.NotifyDirectory(ctx); err != nil {
		return nil, err
	}
	if err := s.recordOf(ctx, tx, administrator(caller), o, "organization.delete", nil); err != nil {
		return nil, err
	}
	if err := events.AppendOwn(ctx, tx.Tx(), s.now(), events.PrivilegesUpdated, members); err != nil {
		return nil, err
	}
	return issued, s.revocations.Publish(ctx, tx.Tx(), ended...)
}

var color = regexp.MustCompile(`^#[0-9a-f]{6}$`)

// PutTheme sets the colors of an organization's pages. The zero theme removes them.
// Errors: fault.ErrInvalid, identity.ErrOrganizationNotFound, identity.ErrNotMember, identity.ErrRoleMissing.
func (s *Service) PutTheme(ctx context.Context, caller token.Caller, o id.Organization, t identity.Theme) (identity.Theme, error) {
	if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin); err != nil {
		return t, err
	}
	t.PrimaryColor, t.BackgroundColor = strings.ToLower(t.PrimaryColor), strings.ToLower(t.BackgroundColor)
	var problems fault.Problems
	for _, c := range []struct{ member, value string }{{"primaryColor", t.PrimaryColor}, {"backgroundColor", t.BackgroundColor}} {
		if c.value != "" && !color.MatchString(c.value) {
			problems.Add(c.member, "is not a color like #1a2b3c")
		}
	}
	if err := problems.Err(); err != nil {
		return t, err
	}
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.SetTheme(ctx, o, t, s.now()); err != nil {
			return err
		}
		if err := tx.NotifyDirectory(ctx); err != nil {
			return err
		}
		if err := s.recordOf(ctx, tx, administrator(caller), o, "organization.theme", nil); err != nil {
			return err
		}
		return s.announceToMembers(ctx, tx, o, profileUpdated)
	})
	return t, err
}

// profileUpdated and avatarUpdated are the events about an organization that its members get.
const (
	profileUpdated = events.OrganizationProfileUpdated
	avatarUpdated  = events.OrganizationAvatarUpdated
)

// announceToMembers announces an event about an organization to its members.
func (s *Service) announceToMembers(ctx context.Context, tx *postgres.Store, o id.Organization, kind string) error {
	return s.notices.Announce(ctx, tx, notice.Announcement{Organization: o, Event: kind, Subject: o.String()})
}

// recordOf appends an audit entry about a change of an organization.
func (s *Service) recordOf(ctx context.Context, tx *postgres.Store, by audit.Actor, o id.Organization, action string,
	details map[string]string) error {
	return s.record(ctx, tx, audit.Entry{Actor: by, Action: action, Object: o.String(), Organization: o, Details: details})
}

// administrator returns the caller as an actor for an organization.
func administrator(caller token.Caller) audit.Actor { return audit.Of(caller).As(audit.Administrator) }
