// What happens to transfers, mailboxes and links when a person or organization changes or is deleted.

package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/hold"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// The jobs of this file apply a change of the identity domain to this one. Each is idempotent. Reads see the change before the
// job runs, because they join the directory views.
type personDeletedJob struct {
	Person id.Person `json:"person"`
}

// Kind implements river.JobArgs.
func (personDeletedJob) Kind() string { return "transfer_person_deleted" }

type organizationDeletedJob struct {
	Organization id.Organization `json:"organization"`
}

// Kind implements river.JobArgs.
func (organizationDeletedJob) Kind() string { return "transfer_organization_deleted" }

type membershipsChangedJob struct {
	Persons []id.Person `json:"persons"`
}

// Kind implements river.JobArgs.
func (membershipsChangedJob) Kind() string { return "transfer_memberships_changed" }

// erasureQueue has the jobs that erase deleted persons. Only servers that count what is erased work it, and those of 1.0.0 do not.
const erasureQueue = "erasures"

// homesQueue has one worker. Its jobs follow the deletion of a large organization, or a new host of one, and need the same
// exclusive lock (LockHomes). Parallel ones would occupy job workers while they wait.
const homesQueue = "homes"

const (
	movesPerJob = 500 // persons in one job, well within its time limit
	movesPerTx  = 50  // persons in one transaction, which blocks PutMailbox
)

func (s *Service) registerIdentityHooks() {
	s.jobs.AddQueue(homesQueue, 1)
	s.jobs.AddQueue(erasureQueue, 2)
	jobs.Register(s.jobs, s.workPersonDeleted)
	jobs.Register(s.jobs, s.workOrganizationDeleted)
	jobs.Register(s.jobs, s.workMembershipsChanged)
}

func (s *Service) workPersonDeleted(ctx context.Context, a personDeletedJob) error {
	if err := s.DeletePersonData(ctx, a.Person); err != nil {
		return err
	}
	finished, err := s.store.FinishErasure(ctx, a.Person, s.now())
	if err == nil && !finished {
		return jobs.Again(time.Second)
	}
	return err
}

func (s *Service) workOrganizationDeleted(ctx context.Context, a organizationDeletedJob) error {
	return s.DeleteOrganizationData(ctx, a.Organization)
}

func (s *Service) workMembershipsChanged(ctx context.Context, a membershipsChangedJob) error {
	return s.MoveMailboxes(ctx, a.Persons)
}

// PersonDeleted enqueues the deletion of a person's data in this domain, and returns what there is of it: the last segment of
// the mailbox's link, and how many transfers, each counted up to most. It joins tx.
func (s *Service) PersonDeleted(ctx context.Context, tx database.Tx, p id.Person,
	most int) (mailbox string, received, sent int, err error) {
	held, err := s.store.Within(tx).Belongings(ctx, p, most)
	if err != nil {
		return "", 0, 0, err
	}
	return held.Mailbox, held.Received, held.Sent, s.enqueue(ctx, tx, personDeletedJob{Person: p}, jobs.On(erasureQueue))
}

// OrganizationDeleted enqueues the deletion of an organization's groups and settings. It joins tx.
func (s *Service) OrganizationDeleted(ctx context.Context, tx database.Tx, o id.Organization) error {
	return s.enqueue(ctx, tx, organizationDeletedJob{Organization: o})
}

// MembershipChanged enqueues the move of persons' mailboxes to their new home host. It joins tx.
func (s *Service) MembershipChanged(ctx context.Context, tx database.Tx, persons ...id.Person) error {
	for batch := range slices.Chunk(persons, movesPerJob) {
		if err := s.enqueue(ctx, tx, membershipsChangedJob{Persons: batch}, jobs.On(homesQueue)); err != nil {
			return err
		}
	}
	return nil
}

// MailboxOwner returns the person of the mailbox under key on the caller's host.
// Errors: transfer.ErrKeyInvalid, transfer.ErrNotFound.
func (s *Service) MailboxOwner(ctx context.Context, caller token.Caller, key string) (id.Person, error) {
	m, err := s.PublicMailbox(ctx, caller, key)
	return m.Person, err
}

func (s *Service) enqueue(ctx context.Context, tx database.Tx, args river.JobArgs, options ...jobs.Option) error {
	if err := s.jobs.Enqueue(ctx, tx, args, options...); err != nil {
		return fmt.Errorf("enqueue %s: %w", args.Kind(), err)
	}
	return nil
}

// DeleteOrganizationData deletes an organization's settings and groups. The mailboxes of its members move by
// MembershipChanged.
func (s *Service) DeleteOrganizationData(ctx context.Context, o id.Organization) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockHomes(ctx, false); err != nil {
			return err
		}
		if err := hold.EndAll(ctx, tx.Tx(), o, s.now()); err != nil {
			return err
		}
		return tx.DeleteOrganizationData(ctx, o, s.now())
	})
}

// MoveMailboxes is MoveMailbox for many persons.
func (s *Service) MoveMailboxes(ctx context.Context, persons []id.Person) error {
	for batch := range slices.Chunk(persons, movesPerTx) {
		err := s.movePersons(ctx, batch, s.moveLinks)
		if err == nil {
			continue
		}
		if !errors.Is(err, transfer.ErrVanityLink) {
			return err
		}
		for _, p := range batch { // one link is taken, which rolled back the moves of the batch
			if err := s.MoveMailbox(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// MoveMailbox moves a mailbox's vanity link to its owner's home host, together with the links of the groups of the owner's
// organization, which may have a new host. When the mailbox's link is taken or in quarantine there, it is released and the owner gets a
// mail.
func (s *Service) MoveMailbox(ctx context.Context, p id.Person) error {
	one := []id.Person{p}
	if err := s.movePersons(ctx, one, s.moveLinks); !errors.Is(err, transfer.ErrVanityLink) {
		return err
	}
	return s.movePersons(ctx, one, func(ctx context.Context, tx *postgres.Store, p id.Person, o transfer.Owner, home id.Organization) error {
		if err := s.moveGroupLinks(ctx, tx, o, home); err != nil {
			return err
		}
		link, err := tx.ClearVanityLink(ctx, p, s.linkScope(home))
		if err != nil || link == "" {
			return err
		}
		_, err = s.mailer.Queue(ctx, tx.Tx(), mail.Message{
			To: o.Email, ToName: o.Name, Locale: o.Locale, TimeZone: o.TimeZone, Template: mail.VanityLinkCleared,
			Data: map[string]any{"vanityLink": link, "host": o.Host, "link": s.hosts.URL(o.Host, "/mailbox")},
		})
		return err
	})
}

// move moves vanity links of a person, or of the person's organization, to the home organization.
type move func(ctx context.Context, tx *postgres.Store, p id.Person, o transfer.Owner, home id.Organization) error

func (s *Service) moveGroupLinks(ctx context.Context, tx *postgres.Store, o transfer.Owner, home id.Organization) error {
	if o.Organization.IsZero() {
		return nil
	}
	return tx.MoveGroupLinks(ctx, o.Organization, s.linkScope(home))
}

func (s *Service) moveLinks(ctx context.Context, tx *postgres.Store, p id.Person, o transfer.Owner, home id.Organization) error {
	if err := s.moveGroupLinks(ctx, tx, o, home); err != nil {
		return err
	}
	return tx.MoveVanityLink(ctx, p, s.linkScope(home))
}

// movePersons makes a move for several persons in one transaction. The lock keeps a move with outdated homes from committing
// after a newer one.
func (s *Service) movePersons(ctx context.Context, persons []id.Person, m move) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockHomes(ctx, false); err != nil {
			return err
		}
		for _, p := range persons {
			if err := s.movePerson(ctx, tx, p, m); err != nil {
				return err
			}
		}
		return nil
	})
}

// movePerson makes a move to a person's current home. It does nothing for a deleted person.
func (s *Service) movePerson(ctx context.Context, tx *postgres.Store, p id.Person, m move) error {
	o, err := tx.Owner(ctx, p, s.anyHost())
	if errors.Is(err, transfer.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	home, err := tx.HomeOrganization(ctx, o.Host)
	if err != nil {
		return err
	}
	return m(ctx, tx, p, o, home)
}
