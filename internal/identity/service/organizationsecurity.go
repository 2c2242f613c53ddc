// The requirement of a second factor for members of an organization, and the mails about it.

package service

import (
	"context"
	"errors"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/token"
)

// errOwnFactor refuses an administrator who would be among the first to lose access.
var errOwnFactor = identity.ErrFactorFirst.With(
	"your own session has no second factor; set one up and log in with it, then require it of others")

// PutSecurity sets whether the members of an organization need a second factor (contract 3.2). Requiring one revokes
// the access tokens of all members and queues a mail to each. Setting what is set changes nothing.
// Errors: identity.ErrOrganizationNotFound, identity.ErrNotMember, identity.ErrRoleMissing, identity.ErrFactorFirst when
// the caller's own session would not do, and those of stepUp.
func (s *Service) PutSecurity(ctx context.Context, caller token.Caller, o id.Organization, required bool, proof token.Proof) error {
	if err := s.authorize(ctx, s.store, caller, o, identity.RoleOrganizationAdmin); err != nil {
		return err
	}
	use, err := s.guard(ctx, caller, true, proof)
	if err != nil {
		return err
	}
	if required {
		if err := s.checkOwnFactor(ctx, caller); err != nil {
			return err
		}
	}
	err = s.administer(ctx, caller, o, func(tx *postgres.Store) error {
		before, err := tx.Organization(ctx, o)
		if err != nil {
			return err
		}
		if before.MFARequired == required {
			return nil
		}
		if err := s.setMFARequired(ctx, tx, o, required); err != nil {
			return err
		}
		if err := tx.NotifyDirectory(ctx); err != nil {
			return err
		}
		if err := s.factorWaived(ctx, tx, administrator(caller), o, required); err != nil {
			return err
		}
		details := map[string]string{"mfaRequired": map[bool]string{true: "on", false: "off"}[required]}
		if err := s.recordOf(ctx, tx, administrator(caller), o, "organization.security", details); err != nil {
			return err
		}
		if err := s.announceToMembers(ctx, tx, o, profileUpdated); err != nil {
			return err
		}
		return use(ctx, tx) // last: the members are locked in order
	})
	return err
}

// factorWaived announces that members of an organization no longer need a second factor.
func (s *Service) factorWaived(ctx context.Context, tx *postgres.Store, by audit.Actor, o id.Organization, required bool) error {
	if required {
		return nil // all members are mailed
	}
	return s.notices.Change(ctx, tx, by, o, token.SensitiveChange{Kind: token.FactorWaived, Before: true})
}

// checkOwnFactor checks that the caller's session meets the rule: it has two factors, or is of an external provider.
// Errors: identity.ErrFactorFirst.
func (s *Service) checkOwnFactor(ctx context.Context, caller token.Caller) error {
	if caller.AuthLevel >= identity.LevelTwo {
		return nil
	}
	_, err := s.store.PasswordHash(ctx, caller.Person)
	switch {
	case errors.Is(err, identity.ErrAuthenticatorNotFound):
		return nil
	case err != nil:
		return err
	}
	return errOwnFactor
}

// factorMailsBatch is how many mails one factorMailsJob queues.
const factorMailsBatch = 200

// factorMailsJob mails the members of an organization that it requires a second factor. It
// queues the mails of one batch and the job for the next.
type factorMailsJob struct {
	Organization id.Organization `json:"organization"`
	After        id.Person       `json:"after"` // the last person of the batch before; zero: from the first
}

// Kind implements river.JobArgs.
func (factorMailsJob) Kind() string { return "identity_factor_mails" }

// workFactorMails does one factorMailsJob. After a crash between commit and the end of the job, a batch gets its mails
// twice.
func (s *Service) workFactorMails(ctx context.Context, job factorMailsJob) error {
	o, err := s.store.Organization(ctx, job.Organization)
	if errors.Is(err, identity.ErrOrganizationNotFound) || err == nil && !o.MFARequired {
		return nil // deleted, or no longer required
	}
	if err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		members, err := tx.MemberContacts(ctx, o.UID, job.After, factorMailsBatch)
		if err != nil {
			return err
		}
		for _, m := range members {
			if m.Email == "" {
				continue
			}
			if _, err := s.mailer.Queue(ctx, tx.Tx(), mail.Message{
				To: m.Email, ToName: m.Name, Locale: m.Locale, TimeZone: m.TimeZone, Template: mail.FactorRequired, Reference: m.Person.String(),
				Data: map[string]any{"organization": o.Profile.Name, "link": s.notices.Link(m.Host, "/account/security")},
			}); err != nil {
				return err
			}
		}
		if len(members) < factorMailsBatch {
			return nil
		}
		return s.jobs.Enqueue(ctx, tx.Tx(), factorMailsJob{Organization: o.UID, After: members[len(members)-1].Person})
	})
}

// setMFARequired sets whether members of an organization need a second factor. It revokes their access tokens, so that
// new ones carry the rule (contract 3.2). When they need one, it queues a mail to each.
func (s *Service) setMFARequired(ctx context.Context, tx *postgres.Store, o id.Organization, required bool) error {
	if err := tx.SetMFARequired(ctx, o, required, s.now()); err != nil {
		return err
	}
	raised, err := tx.RaiseEpochs(ctx, o)
	if err != nil {
		return err
	}
	ended := make([]token.Revocation, len(raised))
	for i, r := range raised {
		ended[i] = token.Revocation{Person: r.Person, Epoch: r.Epoch}
	}
	if required {
		if err := s.jobs.Enqueue(ctx, tx.Tx(), factorMailsJob{Organization: o}); err != nil {
			return err
		}
	}
	return s.revocations.Publish(ctx, tx.Tx(), ended...)
}
