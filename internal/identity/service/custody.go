// Sensitive changes of organizations: the step-up, the mails to all administrators, and what their link undoes (contract 3.29).

package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/notice"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/token"
)

// consume uses up a proof, in the transaction of the change.
type consume func(context.Context, *postgres.Store) error

// guard checks the proof of a sensitive change of an organization. If the change is not sensitive, it checks nothing, and use is nil.
// Errors: token.ErrSensitive, those of stepUp.
func (s *Service) guard(ctx context.Context, caller token.Caller, sensitive bool, p token.Proof) (use consume, err error) {
	switch {
	case !sensitive:
		return nil, nil
	case caller.Kind == token.KindAPI:
		return nil, token.ErrSensitive
	}
	return s.stepUp(ctx, caller, p)
}

// used consumes the proof of a change that has turned out to be sensitive in its transaction, or not.
// Errors: identity.ErrSessionNotYoung when it has become so since guard looked; those of use.
func (use consume) used(ctx context.Context, tx *postgres.Store, sensitive bool) error {
	if use == nil {
		if sensitive {
			return errStepUp
		}
		return nil
	}
	return use(ctx, tx)
}

// checkSenior refuses that an administrator of a few days takes the role from one who has had it for longer, who may give it up.
// Errors: identity.ErrJunior.
func (s *Service) checkSenior(by, of postgres.Standing) error {
	if of.Senior(s.now()) && !by.Senior(s.now()) {
		return identity.ErrJunior
	}
	return nil
}

// administratorsChanged mails a change of roles or membership that makes a person an administrator or no longer one, and pauses the
// export targets of a former one. member: the person stays one. Leaving and deletion (before.Member is false) cannot be undone by others.
func (s *Service) administratorsChanged(ctx context.Context, tx *postgres.Store, by audit.Actor, o id.Organization, p id.Person,
	before postgres.Standing, roles []string, member bool) error {
	was, is := before.AdminSince != nil, member && slices.Contains(roles, identity.RoleOrganizationAdmin)
	if was == is {
		return nil
	}
	who, err := tx.Contact(ctx, p)
	if err != nil {
		return err
	}
	c := token.SensitiveChange{Kind: token.AdministratorAdded, Object: p.String(), Subject: cmp.Or(who.Name, who.Email)}
	if member || by.Person != p && before.Member {
		c.Before = notice.RoleBefore{Person: p, Member: before.Member, Roles: before.Roles, AdminSince: before.AdminSince}
	}
	if is {
		return s.notices.Change(ctx, tx, by, o, c)
	}
	c.Kind = token.AdministratorRemoved
	if err := s.notices.Change(ctx, tx, by, o, c); err != nil {
		return err
	}
	return s.pauseTargetsOf(ctx, tx, o, p, c.Subject)
}

// pauseTargetsOf pauses the export targets of an organization that a former administrator has made, and asks the others about them.
func (s *Service) pauseTargetsOf(ctx context.Context, tx *postgres.Store, o id.Organization, p id.Person, name string) error {
	if s.webhooks == nil {
		return nil
	}
	paused, err := s.webhooks.PauseTargets(ctx, tx.Tx(), p, o, pausedMaker)
	if err != nil || len(paused) == 0 {
		return err
	}
	stewards, err := tx.Stewards(ctx, o, nil)
	if err != nil {
		return err
	}
	var msgs []mail.Message
	for _, to := range stewards {
		if to.Person == p {
			continue
		}
		msgs = append(msgs, mail.Message{
			Host: to.Host, To: to.Email, ToName: to.Name, Locale: to.Locale, TimeZone: to.TimeZone, Template: mail.TargetsPaused,
			Reference: to.Person.String(), Data: map[string]any{"hosts": strings.Join(slices.Compact(paused), ", "), "subject": name,
				"link": s.notices.Link(to.Host, "/organization#webhooks")},
		})
	}
	_, err = s.mailer.QueueAll(ctx, tx.Tx(), msgs)
	return err
}

// undoOrganization consumes the key of a mail about a sensitive change of an organization, restores what was before it, and ends the
// sessions and API tokens of who made it.
// Errors: identity.ErrKeyNotFound; those of the change that restores.
func (s *Service) undoOrganization(ctx context.Context, c token.Client, hash []byte) error {
	change, err := s.store.OrganizationChangeOf(ctx, hash, s.notices.UndoableSince())
	if err != nil {
		return err
	}
	by := audit.Actor{Kind: audit.Administrator, Client: c}
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockHosts(ctx); err != nil {
			return err
		}
		if err := tx.LockOrganizations(ctx, change.Organization); err != nil {
			return err
		}
		if err := tx.TakeOrganizationChange(ctx, change.Seq, hash); err != nil {
			return err
		}
		if err := s.restoreOrganization(ctx, tx, by, change); err != nil {
			return err
		}
		if !change.MadeBy.IsZero() {
			err := s.endAll(ctx, tx, change.MadeBy, by, change.Organization)
			if err != nil && !errors.Is(err, identity.ErrPersonNotFound) {
				return err
			}
		}
		if err := s.recordOf(ctx, tx, by, change.Organization, "organization.undo", map[string]string{"change": change.Kind}); err != nil {
			return err
		}
		return s.announceToMembers(ctx, tx, change.Organization, profileUpdated)
	})
	if errors.Is(err, identity.ErrPersonNotFound) || errors.Is(err, identity.ErrOrganizationNotFound) {
		err = identity.ErrKeyNotFound
	}
	return err
}

// restoreOrganization restores the state before a change. The hostnames and the organization are locked.
func (s *Service) restoreOrganization(ctx context.Context, tx *postgres.Store, by audit.Actor, c postgres.OrganizationChange) error {
	switch kind := token.Sensitive(c.Kind); kind {
	case token.AdministratorInvited:
		return restore(c, func(address string) error { return s.withdrawInvitation(ctx, tx, by, c, address) })
	case token.AdministratorAdded, token.AdministratorRemoved:
		return restore(c, func(b notice.RoleBefore) error { return s.restoreRole(ctx, tx, by, c.Organization, b) })
	case token.HostnameChanged:
		return restore(c, func(host string) error {
			o, err := tx.Organization(ctx, c.Organization)
			if err != nil || o.Profile.Hostname == host {
				return err
			}
			if !slices.Contains(o.Profile.InactiveHostnames, host) {
				return identity.ErrHostInUse // it was removed since, and may be another organization's
			}
			return s.activate(ctx, tx, o, host)
		})
	case token.FactorWaived:
		return s.setMFARequired(ctx, tx, c.Organization, true)
	case token.OriginsChanged:
		return restore(c, func(origins []string) error {
			if err := tx.SetUploadOrigins(ctx, c.Organization, origins, s.now()); err != nil {
				return err
			}
			return tx.NotifyDirectory(ctx)
		})
	case token.TargetChanged:
		return restore(c, func(target id.Webhook) error { return s.webhooks.PauseTarget(ctx, tx.Tx(), target, pausedSecurity) })
	case token.RulesLowered:
		return s.hooks.RestoreAdminunit(ctx, tx.Tx(), c.Organization, c.Before)
	default:
		return fmt.Errorf("undo change of organization: kind %q", kind)
	}
}

// restore calls f with what was before a change.
func restore[T any](c postgres.OrganizationChange, f func(before T) error) error {
	var before T
	if err := json.Unmarshal(c.Before, &before); err != nil {
		return fmt.Errorf("decode change of organization: %w", err)
	}
	return f(before)
}

// withdrawInvitation revokes the invitation of an address, or takes the role from the person who has accepted it.
func (s *Service) withdrawInvitation(ctx context.Context, tx *postgres.Store, by audit.Actor, c postgres.OrganizationChange,
	address string) error {
	if err := tx.DeleteInvitationOf(ctx, c.Organization, address); err != nil {
		return err
	}
	p, err := tx.AdministratorOf(ctx, c.Organization, address, c.MadeAt)
	if err != nil || p.IsZero() {
		return err
	}
	return s.restoreRole(ctx, tx, by, c.Organization, notice.RoleBefore{Person: p})
}

// restoreRole gives a member the roles from before a change, or ends a membership that the change began. The organization is locked.
// Errors: identity.ErrLastAdmin, identity.ErrMemberElsewhere, identity.ErrUserLimit.
func (s *Service) restoreRole(ctx context.Context, tx *postgres.Store, by audit.Actor, o id.Organization, b notice.RoleBefore) error {
	now, err := tx.Standing(ctx, o, b.Person)
	if err != nil {
		return err
	}
	if now.AdminSince != nil && b.AdminSince == nil {
		if err := s.checkNotLastAdmin(ctx, tx, o, b.Person, now.Roles); err != nil {
			return err
		}
	}
	if !b.Member {
		if !now.Member {
			return nil
		}
		return s.endMembership(ctx, tx, by, o, b.Person)
	}
	if !now.Member {
		if err := s.checkUserLimit(ctx, tx, o); err != nil {
			return err
		}
	}
	epoch, err := tx.RaiseEpoch(ctx, b.Person)
	if err != nil {
		return err
	}
	if _, err := tx.SetMember(ctx, o, b.Person, b.Roles, s.now()); err != nil {
		return err
	}
	if b.AdminSince != nil {
		if err := tx.SetAdminSince(ctx, o, b.Person, *b.AdminSince); err != nil {
			return err
		}
	}
	return s.privilegesChanged(ctx, tx, privilegeChange{by: by, organization: o, person: b.Person, epoch: epoch, action: "member.set",
		roles: b.Roles, grace: true, membership: !now.Member})
}

// ChangeOrganization records a sensitive change of an organization that another domain makes, and mails all administrators. Call it before
// the change, in its transaction.
// Errors: identity.ErrOrganizationNotFound, identity.ErrJunior.
func (s *Service) ChangeOrganization(ctx context.Context, tx database.Tx, caller token.Caller, o id.Organization,
	c token.SensitiveChange) error {
	store := s.store.Within(tx)
	if err := store.LockOrganizations(ctx, o); err != nil {
		return err
	}
	if c.Kind == token.TargetChanged {
		if err := s.checkTargets(ctx, store, caller, o); err != nil {
			return err
		}
	}
	return s.notices.Change(ctx, store, administrator(caller), o, c)
}

// checkTargets refuses that an administrator of a few days sends incoming files elsewhere, where there is one of longer standing.
// Errors: identity.ErrJunior.
func (s *Service) checkTargets(ctx context.Context, store *postgres.Store, caller token.Caller, o id.Organization) error {
	own, err := store.Standing(ctx, o, caller.Person)
	if err != nil || own.Senior(s.now()) {
		return err
	}
	stewards, err := store.Stewards(ctx, o, nil)
	if err == nil && len(stewards) > 0 && (postgres.Standing{AdminSince: stewards[0].Since}).Senior(s.now()) {
		return identity.ErrJunior
	}
	return err
}
