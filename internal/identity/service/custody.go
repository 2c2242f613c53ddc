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
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
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
	if s.senior(of) && !s.senior(by) {
		return identity.ErrJunior
	}
	return nil
}

// senior reports whether somebody has been an administrator for identity.SeniorAdministrator.
func (s *Service) senior(of postgres.Standing) bool {
	return of.AdminSince != nil && !of.AdminSince.After(s.now().Add(-identity.SeniorAdministrator))
}

// roleBefore is what restores the role of a member.
type roleBefore struct {
	Person     id.Person  `json:"person"`
	Member     bool       `json:"member"`
	Roles      []string   `json:"roles"`
	AdminSince *time.Time `json:"adminSince,omitempty"`
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
		c.Before = roleBefore{Person: p, Member: before.Member, Roles: before.Roles, AdminSince: before.AdminSince}
	}
	if is {
		return s.announceChange(ctx, tx, by, o, c)
	}
	c.Kind = token.AdministratorRemoved
	if err := s.announceChange(ctx, tx, by, o, c); err != nil {
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
				"link": s.link(to.Host, "/organization#webhooks")},
		})
	}
	_, err = s.mailer.QueueAll(ctx, tx.Tx(), msgs)
	return err
}

// announceChange keeps a sensitive change and mails it to all administrators. Those who have been one for identity.SeniorAdministrator,
// and the one who has been it longest, get a link that undoes it: the others may be the attacker's. A change of the same kind and object
// within identity.SecurityMailInterval is neither kept nor mailed: undoing the earlier one undoes it too. The organization is locked.
func (s *Service) announceChange(ctx context.Context, tx *postgres.Store, by audit.Actor, o id.Organization,
	c token.SensitiveChange) error {
	now, key := s.now(), seal.NewKey()
	n := postgres.NewOrganizationChange{Organization: o, Kind: string(c.Kind), Object: c.Object, Now: now,
		Since: now.Add(-identity.SecurityMailInterval)}
	if c.Before != nil {
		n.UndoHash = seal.Hash(key)
	}
	if by.Kind == audit.Person || by.Kind == audit.Administrator {
		n.By = by.Person
	}
	var err error
	if n.Before, err = json.Marshal(c.Before); err != nil {
		return fmt.Errorf("encode change of organization: %w", err)
	}
	if kept, err := tx.KeepOrganizationChange(ctx, n); err != nil || !kept {
		return err
	}
	var also []id.Person
	if before, ok := c.Before.(roleBefore); ok && c.Kind == token.AdministratorRemoved && by.Person != before.Person {
		also = append(also, before.Person)
	}
	stewards, err := tx.Stewards(ctx, o, also)
	if err != nil {
		return err
	}
	data, err := s.changeData(ctx, tx, by, o, c)
	if err != nil {
		return err
	}
	msgs := make([]mail.Message, 0, len(stewards))
	for _, to := range stewards {
		if c.Kind == token.AdministratorRemoved && to.Person.String() == c.Object && len(also) == 0 {
			continue // deletes the account
		}
		m := mail.Message{
			Host: to.Host, To: to.Email, ToName: to.Name, Locale: to.Locale, TimeZone: to.TimeZone, Template: mail.OrganizationChanged,
			Reference: to.Person.String(), Data: data,
		}
		if n.UndoHash != nil && to.Since != nil && to.Person.String() != c.Object &&
			(len(msgs) == 0 || s.senior(postgres.Standing{AdminSince: to.Since})) {
			m.Secret = map[string]string{"link": s.link(to.Host, "/undo/"+key+"?of=organization")}
		}
		msgs = append(msgs, m)
	}
	_, err = s.mailer.QueueAll(ctx, tx.Tx(), msgs)
	return err
}

// changeData returns the data of the mails about a change.
func (s *Service) changeData(ctx context.Context, tx *postgres.Store, by audit.Actor, o id.Organization,
	c token.SensitiveChange) (map[string]any, error) {
	organization, err := tx.Organization(ctx, o)
	if err != nil {
		return nil, err
	}
	data := organizationData(cmp.Or(organization.Profile.Name, organization.Profile.Hostname))
	data["change"], data["subject"], data["at"], data["expiresAt"] = string(c.Kind), c.Subject, s.now(), s.now().Add(s.settings.Undo)
	switch {
	case by.Kind == audit.Operator || by.Kind == audit.Command:
		data["operator"], data["reason"] = true, by.Reason
	case !by.Person.IsZero():
		actor, err := tx.Contact(ctx, by.Person)
		if err != nil {
			return nil, err
		}
		data["actor"] = cmp.Or(actor.Name, actor.Email)
	}
	return data, nil
}

// undoOrganization consumes the key of a mail about a sensitive change of an organization, restores what was before it, and ends the
// sessions and API tokens of who made it.
// Errors: identity.ErrKeyNotFound; those of the change that restores.
func (s *Service) undoOrganization(ctx context.Context, c token.Client, hash []byte) error {
	change, err := s.store.OrganizationChangeOf(ctx, hash, s.undoableSince())
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
		return restore(c, func(b roleBefore) error { return s.restoreRole(ctx, tx, by, c.Organization, b) })
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
	return s.restoreRole(ctx, tx, by, c.Organization, roleBefore{Person: p})
}

// restoreRole gives a member the roles from before a change, or ends a membership that the change began. The organization is locked.
// Errors: identity.ErrLastAdmin, identity.ErrMemberElsewhere, identity.ErrUserLimit.
func (s *Service) restoreRole(ctx context.Context, tx *postgres.Store, by audit.Actor, o id.Organization, b roleBefore) error {
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
	return s.announceChange(ctx, store, administrator(caller), o, c)
}

// checkTargets refuses that an administrator of a few days sends incoming files elsewhere, where there is one of longer standing.
// Errors: identity.ErrJunior.
func (s *Service) checkTargets(ctx context.Context, store *postgres.Store, caller token.Caller, o id.Organization) error {
	own, err := store.Standing(ctx, o, caller.Person)
	if err != nil || s.senior(own) {
		return err
	}
	stewards, err := store.Stewards(ctx, o, nil)
	if err == nil && len(stewards) > 0 && s.senior(postgres.Standing{AdminSince: stewards[0].Since}) {
		return identity.ErrJunior
	}
	return err
}
