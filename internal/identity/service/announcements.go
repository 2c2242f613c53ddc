package service

import (
	"context"
	"slices"

	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity/postgres"
)

// toldAtOnce is how many members of an organization are told of something in the transaction that does it, which locks their feeds. More
// are told by a job, so many at a time.
const toldAtOnce = 1000

// announcement is the job that tells the members of a large organization of an event.
type announcement struct {
	Organization id.Organization `json:"organization"`
	Event        string          `json:"event"`
	Subject      string          `json:"subject"`
}

// Kind implements river.JobArgs.
func (announcement) Kind() string { return "identity_announcement" }

// announce puts an event into the feeds of an organization's members when tx commits: of a large one, soon after.
func (s *Service) announce(ctx context.Context, tx *postgres.Store, a announcement) error {
	members, err := tx.MemberUIDs(ctx, a.Organization)
	if err != nil {
		return err
	}
	if len(members) > toldAtOnce {
		return s.jobs.Enqueue(ctx, tx.Tx(), a)
	}
	return s.tell(ctx, tx, a.Event, a.Subject, members)
}

// workAnnouncement tells whoever is a member by now. When it is repeated, some are told twice that something has changed.
func (s *Service) workAnnouncement(ctx context.Context, a announcement) error {
	members, err := s.store.MemberUIDs(ctx, a.Organization)
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(members, toldAtOnce) {
		err := s.store.InTx(ctx, func(tx *postgres.Store) error { return s.tell(ctx, tx, a.Event, a.Subject, batch) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) tell(ctx context.Context, tx *postgres.Store, kind, subject string, receivers []id.Person) error {
	return events.Append(ctx, tx.Querier(), s.now(), events.Event{Kind: kind, Subject: subject, Receivers: receivers})
}
