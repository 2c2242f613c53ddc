package notice

import (
	"context"
	"slices"

	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity/postgres"
)

// announceBatch is the largest number of members whose feeds one transaction writes: it locks each feed. An event for
// more members is written by a job, in batches of this size.
const announceBatch = 1000

// Announcement is the job that writes an event into the feeds of a large organization's members.
type Announcement struct {
	Organization id.Organization `json:"organization"`
	Event        string          `json:"event"`
	Subject      string          `json:"subject"`
}

// Kind implements river.JobArgs.
func (Announcement) Kind() string { return "identity_announcement" }

// Announce writes an event into the feeds of an organization's members. For a large organization a job does so soon
// after tx commits.
func (ns *Notices) Announce(ctx context.Context, tx *postgres.Store, a Announcement) error {
	members, err := tx.MemberUIDs(ctx, a.Organization)
	if err != nil {
		return err
	}
	if len(members) > announceBatch {
		return ns.jobs.Enqueue(ctx, tx.Tx(), a)
	}
	return ns.Event(ctx, tx, a.Event, a.Subject, members)
}

// workAnnounce writes the event for the members that the organization has when the job runs. It is not idempotent: a
// retry repeats the event for batches that were committed, which tells a client twice that something has changed.
func (ns *Notices) workAnnounce(ctx context.Context, a Announcement) error {
	members, err := ns.store.MemberUIDs(ctx, a.Organization)
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(members, announceBatch) {
		err := ns.store.InTx(ctx, func(tx *postgres.Store) error { return ns.Event(ctx, tx, a.Event, a.Subject, batch) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Event writes an event into the feeds of its receivers.
func (ns *Notices) Event(ctx context.Context, tx *postgres.Store, kind, subject string, receivers []id.Person) error {
	return events.Append(ctx, tx.Tx(), ns.now(), events.Event{Kind: kind, Subject: subject, Receivers: receivers})
}
