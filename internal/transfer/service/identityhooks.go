package service

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/riverqueue/river"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// personDeletedJob, organizationDeletedJob and membershipsChangedJob are the jobs that bring this domain after a change of the
// other one. Each can be repeated; reads see the change at once, since they join the directory.
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

// membershipChangedJob is what older servers enqueued for one person.
type membershipChangedJob struct {
	Person id.Person `json:"person"`
}

// Kind implements river.JobArgs.
func (membershipChangedJob) Kind() string { return "transfer_membership_changed" }

// homesQueue is for the jobs that follow when a large organization is deleted or gets a host: they wait for each other's lock
// (LockHomes), and several at once would only keep workers from all else that has to be done.
const homesQueue = "homes"

const (
	jobMoves = 500 // persons whose mailboxes one job moves, well within the time it has
	txMoves  = 50  // and one transaction: whoever stores a mailbox waits for it
)

func (s *Service) registerIdentityHooks() {
	s.jobs.AddQueue(homesQueue, 1)
	jobs.Register(s.jobs, func(ctx context.Context, a personDeletedJob) error { return s.DeletePersonData(ctx, a.Person) })
	jobs.Register(s.jobs, func(ctx context.Context, a organizationDeletedJob) error {
		return s.DeleteOrganizationData(ctx, a.Organization)
	})
	jobs.Register(s.jobs, func(ctx context.Context, a membershipsChangedJob) error { return s.MoveMailboxes(ctx, a.Persons) })
	jobs.Register(s.jobs, func(ctx context.Context, a membershipChangedJob) error { return s.MoveMailbox(ctx, a.Person) })
}

// PersonDeleted has everything of a person removed that is not somebody else's too. It joins tx.
func (s *Service) PersonDeleted(ctx context.Context, tx database.Tx, p id.Person) error {
	return s.enqueue(ctx, tx, personDeletedJob{Person: p})
}

// OrganizationDeleted has an organization's groups and settings removed. It joins tx.
func (s *Service) OrganizationDeleted(ctx context.Context, tx database.Tx, o id.Organization) error {
	return s.enqueue(ctx, tx, organizationDeletedJob{Organization: o})
}

// MembershipChanged has the mailboxes of persons follow to the host that is now their home. It joins tx.
func (s *Service) MembershipChanged(ctx context.Context, tx database.Tx, persons ...id.Person) error {
	for batch := range slices.Chunk(persons, jobMoves) {
		if err := s.enqueue(ctx, tx, membershipsChangedJob{Persons: batch}, jobs.On(homesQueue)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) enqueue(ctx context.Context, tx database.Tx, args river.JobArgs, options ...jobs.Option) error {
	if err := s.jobs.Enqueue(ctx, tx, args, options...); err != nil {
		return fmt.Errorf("enqueue %s: %w", args.Kind(), err)
	}
	return nil
}

// DeletePersonData removes a deleted person's mailbox, open reservations and received transfers. What was delivered to others
// stays until it expires, with the sender's name as delivered and without the address (contract 4.13).
func (s *Service) DeletePersonData(ctx context.Context, p id.Person) error {
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockHomes(ctx, false); err != nil {
			return err
		}
		if err := tx.DeleteMailbox(ctx, p); err != nil && !errors.Is(err, transfer.ErrNotFound) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.store.EndReservations(ctx, p, false); err != nil {
		return err
	}
	if err := s.ExpireReservations(ctx); err != nil {
		return err
	}
	if err := s.inBatches(ctx, func(tx *postgres.Store) (int, error) { return tx.DisownTransfers(ctx, p, expireBatch) }); err != nil {
		return err
	}
	return s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		uids, err := tx.HideDeliveriesOf(ctx, p, expireBatch, s.now())
		if err != nil || len(uids) == 0 {
			return 0, err
		}
		return len(uids), s.endAbandoned(ctx, tx, uids)
	})
}

// DeleteOrganizationData removes what an organization had decided and grouped. Its members' mailboxes follow them by
// MembershipChanged.
func (s *Service) DeleteOrganizationData(ctx context.Context, o id.Organization) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockHomes(ctx, false); err != nil {
			return err
		}
		return tx.DeleteOrganizationData(ctx, o)
	})
}

// MoveMailboxes is MoveMailbox for many.
func (s *Service) MoveMailboxes(ctx context.Context, persons []id.Person) error {
	for batch := range slices.Chunk(persons, txMoves) {
		err := s.follow(ctx, batch, moveLinks)
		if err == nil {
			continue
		}
		if !errors.Is(err, transfer.ErrVanityLink) {
			return err
		}
		for _, p := range batch { // somebody's link is taken, and that has undone the others' moves
			if err := s.MoveMailbox(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// MoveMailbox brings a mailbox's vanity link to its owner's home host, and those of the owner's organization's groups with
// it: an organization may have got its own host. Where the mailbox's link is taken it is cleared, and the owner told.
func (s *Service) MoveMailbox(ctx context.Context, p id.Person) error {
	one := []id.Person{p}
	if err := s.follow(ctx, one, moveLinks); !errors.Is(err, transfer.ErrVanityLink) {
		return err
	}
	return s.follow(ctx, one, func(ctx context.Context, tx *postgres.Store, p id.Person, o transfer.Owner, home id.Organization) error {
		if err := moveGroupLinks(ctx, tx, o, home); err != nil {
			return err
		}
		link, err := tx.ClearVanityLink(ctx, p, home)
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

// move brings something to the home of its owner.
type move func(ctx context.Context, tx *postgres.Store, p id.Person, o transfer.Owner, home id.Organization) error

func moveGroupLinks(ctx context.Context, tx *postgres.Store, o transfer.Owner, home id.Organization) error {
	if o.Organization.IsZero() {
		return nil
	}
	return tx.MoveGroupLinks(ctx, o.Organization, home)
}

func moveLinks(ctx context.Context, tx *postgres.Store, p id.Person, o transfer.Owner, home id.Organization) error {
	if err := moveGroupLinks(ctx, tx, o, home); err != nil {
		return err
	}
	return tx.MoveVanityLink(ctx, p, home)
}

// follow makes a move for each of several persons in one transaction, in which their homes are not older than any move of them.
func (s *Service) follow(ctx context.Context, persons []id.Person, m move) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockHomes(ctx, false); err != nil {
			return err
		}
		for _, p := range persons {
			if err := s.atHome(ctx, tx, p, m); err != nil {
				return err
			}
		}
		return nil
	})
}

// atHome makes a move to where a person is at home now. A person who is gone has none.
func (s *Service) atHome(ctx context.Context, tx *postgres.Store, p id.Person, m move) error {
	o, err := tx.Owner(ctx, p, s.anywhere())
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
