// Tests of transfers and mailboxes when people and organizations change or end.

package service_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
	"github.com/consign-dev/consign/internal/transfer/service"
)

func TestPersonDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.mailbox()
	open, r := w.reserve()
	w.attach(open, r, "a", 3)
	mustUpload(w, open, r, "a", whole([]byte("abc")))
	delivered, r2 := w.reserve()
	w.attach(delivered, r2, "a", 3)
	mustUpload(w, delivered, r2, "a", whole([]byte("abc")))
	if _, err := w.Confirm(t.Context(), delivered, r2); err != nil {
		t.Fatal(err)
	}
	w.exec(`DELETE FROM identity.addresses`)
	w.exec(`UPDATE identity.persons SET deleted_at = now(), name = NULL WHERE uid = $1`, owner.Person)
	if _, _, err := w.Reservation(t.Context(), open, r); !errors.Is(err, transfer.ErrNotFound) {
		t.Errorf("the owner is gone, the reservation answers %v", err)
	}
	for range 2 { // a job may run twice
		if err := w.DeletePersonData(t.Context(), owner.Person); err != nil {
			t.Fatal(err)
		}
	}
	poll.Until(w.t, "all bytes are purged", func() bool {
		if err := w.content.PurgeBytes(t.Context()); err != nil {
			t.Fatal(err)
		}
		return w.blobsLeft() == 0
	})
	if n := w.count(`SELECT (SELECT count(*) FROM transfer.mailboxes) + (SELECT count(*) FROM transfer.reservations WHERE state = 'open')
		+ (SELECT count(*) FROM transfer.transfers WHERE state <> 'revoked')`); n != 0 {
		t.Errorf("%d things are left", n)
	}
}

// TestPersonDeletedWhileTransfersArePurged: a parallel purge of some or all transfers of a batch does not end the job early:
// the address of the deleted person remains on no transfer.
func TestPersonDeletedWhileTransfersArePurged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann@example.com")
	w.exec(`WITH r AS (
			INSERT INTO transfer.reservations (uid, type, state, transfer, owner, limits_organization, ttl, protection, max_files, max_file_size_mb,
				max_recipients, created_at, expires_at)
			SELECT gen_random_uuid(), 'drop', 'confirmed', gen_random_uuid(), $1, $2, 7, 'none', 1, 1, 1, now(), now() FROM generate_series(1, 300)
			RETURNING uid, transfer
		)
		INSERT INTO transfer.transfers (uid, reservation, type, owner, sender, sender_managed, sender_email, limits_organization,
			delivery_notification, protection,
			object_count, total_bytes, created_at, expires_at)
		SELECT transfer, uid, 'drop', $1, $1, true, 'ann@example.com', $2, false, 'none', 1, 1, now(), now() FROM r`, ann.Person, w.free)
	purge, err := w.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = purge.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := purge.Exec(t.Context(),
		`DELETE FROM transfer.transfers WHERE uid IN (SELECT uid FROM transfer.transfers WHERE sender = $1 LIMIT 201)`, ann.Person); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- w.DeletePersonData(t.Context(), ann.Person) }()
	w.waiting(1)
	if err := purge.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := w.count(`SELECT count(*) FROM transfer.transfers WHERE sender_email IS NOT NULL`); n != 0 {
		t.Errorf("%d transfers keep the address", n)
	}
}

// TestDeletionContinuesInFurtherRuns: a job with much to delete stops before its deadline, keeps what it has done and asks for another run.
func TestDeletionContinuesInFurtherRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, bob := w.person("ann@example.com").Person, w.person("bob@example.com").Person
	w.exec(`INSERT INTO transfer.reservations (uid, type, state, transfer, owner, limits_organization, ttl, protection, max_files, max_file_size_mb, max_recipients, created_at, expires_at)
		SELECT gen_random_uuid(), 'p2p', 'confirmed', gen_random_uuid(), $1, $2, 7, 'none', 1, 1, 1, now(), now() FROM generate_series(1,
			250)`, bob, w.free)
	w.exec(`INSERT INTO transfer.transfers (uid, reservation, type, owner, sender, sender_managed, limits_organization, delivery_notification, protection,
			object_count, total_bytes, created_at, expires_at)
		SELECT transfer, uid, type, owner, owner, true, limits_organization, false, protection, 0, 0, now(), now() + interval '1 day'
			FROM transfer.reservations`)
	w.exec(`INSERT INTO transfer.deliveries (uid, transfer, position, destination_type, person, email, key_hash, created_at)
		SELECT gen_random_uuid(), uid, 1, 'to', $1, 'ann@example.com', sha256(uid::text::bytea), created_at FROM transfer.transfers`, ann)
	short, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	seen := func() int64 { return w.count(`SELECT count(*) FROM transfer.deliveries WHERE hidden_at IS NULL`) }
	var again *river.JobSnoozeError
	if err := w.DeletePersonData(short, ann); !errors.As(err, &again) {
		t.Errorf("250 transfers with too little time: %v", err)
	}
	if n := seen(); n != 150 {
		t.Errorf("%d are to be seen after a run for a hundred", n)
	}
	if err := w.DeletePersonData(t.Context(), ann); err != nil || seen() != 0 {
		t.Errorf("%d are left, %v", seen(), err)
	}
}

func TestVanityLinkFollowsItsOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, bob := w.mailbox(), w.person("bob@example.com")
	org := w.organization("org.example.com")
	join := func(p id.Person) {
		w.exec(`INSERT INTO identity.memberships (person, organization, roles, created_at) VALUES ($1, $2, '{Service.Transfer.Use}', now())`, p,
			org)
		if err := w.MoveMailbox(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	link := func(p id.Person) int64 {
		return w.count(`SELECT count(*) FROM transfer.vanity_links WHERE mailbox = $1 AND host_organization = $2 AND link = 'ann'`, p, org)
	}
	join(ann.Person)
	if link(ann.Person) != 1 {
		t.Fatal("the link did not follow")
	}
	if _, _, err := w.PutMailbox(t.Context(), bob, transfer.Mailbox{VanityLink: "ann"}); !errors.Is(err, transfer.ErrLinkQuarantined) {
		t.Fatalf("the link on the old host is free at once: %v", err)
	}
	w.clock.Advance(90 * day)
	if _, _, err := w.PutMailbox(t.Context(), bob, transfer.Mailbox{VanityLink: "ann"}); err != nil {
		t.Fatalf("the link on the old host is never free: %v", err)
	}
	group := id.New[id.Group]()
	w.exec(`INSERT INTO transfer.mailbox_groups (uid, organization, name, created_at, updated_at) VALUES ($1, $2, 'Sales', now(), now())`,
		group, org)
	w.exec(`INSERT INTO transfer.vanity_links (host_organization, link, mailbox_group) VALUES ($1, 'sales', $2)`, w.free, group)
	join(bob.Person)
	if w.count(`SELECT count(*) FROM transfer.vanity_links WHERE mailbox_group = $1 AND host_organization = $2`, group, org) != 1 {
		t.Error("a taken link kept the links of the organization's groups from moving")
	}
	if link(bob.Person) != 0 || w.count(`SELECT count(*) FROM mails WHERE template = 'vanity-link-cleared'`) != 1 {
		t.Error("a taken link was not cleared, or its owner not told")
	}
}

// TestManyMailboxesMove: the mailboxes of an organization move with one job per 500 members. A taken link keeps no other from moving.
func TestManyMailboxesMove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	org := w.organization("org.example.com")
	var persons []id.Person
	for i := range 120 {
		p := w.person(fmt.Sprintf("p%d@example.com", i)).Person
		persons = append(persons, p)
		w.exec(`INSERT INTO transfer.mailboxes (person, created_at, updated_at) VALUES ($1, now(), now())`, p)
		w.exec(`INSERT INTO transfer.vanity_links (host_organization, link, mailbox) VALUES ($1, $2, $3)`, w.free, fmt.Sprintf("box%d", i), p)
	}
	w.exec(`INSERT INTO transfer.mailboxes (person, created_at, updated_at) VALUES ($1, now(), now())`, id.New[id.Person]())
	w.exec(`INSERT INTO transfer.vanity_links (host_organization, link, mailbox) SELECT $1, 'box70', person FROM transfer.mailboxes WHERE NOT person = ANY ($2)`, org, persons)
	w.exec(`INSERT INTO identity.memberships (person, organization, roles, created_at) SELECT unnest($1::uuid[]), $2, '{}', now()`, persons,
		org)
	if err := w.MoveMailboxes(t.Context(), persons); err != nil {
		t.Fatal(err)
	}
	if n := w.count(`SELECT count(*) FROM transfer.vanity_links WHERE mailbox = ANY ($1) AND host_organization = $2`, persons, org); n != 119 {
		t.Errorf("%d links have followed, want 119", n)
	}
	if w.count(`SELECT count(*) FROM transfer.vanity_links WHERE mailbox = $1`, persons[70]) != 0 ||
		w.count(`SELECT count(*) FROM mails WHERE template = 'vanity-link-cleared'`) != 1 {
		t.Error("the taken link was not cleared, or its owner not told")
	}
	many := make([]id.Person, 1200)
	for i := range many {
		many[i] = id.New[id.Person]()
	}
	err := postgres.New(w.db).InTx(t.Context(), func(tx *postgres.Store) error { return w.MembershipChanged(t.Context(), tx.Tx(), many...) })
	if err != nil {
		t.Fatal(err)
	}
	if n := w.count(`SELECT count(*) FROM river_job WHERE queue = 'homes'`); n != 3 {
		t.Errorf("%d jobs for 1,200 members, want 3", n)
	}
}

// TestLastMoveWins: the jobs of two quick changes of membership run in parallel. The link ends up where the later change leads.
func TestLastMoveWins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.mailbox()
	org, group := w.organization("org.example.com"), id.New[id.Group]()
	w.exec(`INSERT INTO identity.memberships (person, organization, roles, created_at) VALUES ($1, $2, '{Service.Transfer.Use}', now())`,
		ann.Person, org)
	w.exec(`INSERT INTO transfer.mailbox_groups (uid, organization, name, created_at, updated_at) VALUES ($1, $2, 'Sales', now(), now())`,
		group, org)
	w.exec(`INSERT INTO transfer.vanity_links (host_organization, link, mailbox_group) VALUES ($1, 'sales', $2)`, w.free, group)
	release := w.hold(`SELECT FROM transfer.vanity_links WHERE mailbox_group = $1 FOR UPDATE`, group)
	moved := make(chan error, 2)
	move := func() { moved <- w.MoveMailbox(t.Context(), ann.Person) }
	go move()
	w.waiting(1)
	w.exec(`DELETE FROM identity.memberships WHERE person = $1`, ann.Person)
	go move()
	poll.Until(w.t, "the second move waits or ends", func() bool { return pgtest.Waiting(t, w.db.Pool) == 2 || len(moved) == 1 })
	release()
	for range 2 {
		if err := <-moved; err != nil {
			t.Fatal(err)
		}
	}
	if w.count(`SELECT count(*) FROM transfer.vanity_links WHERE mailbox = $1 AND host_organization = $2`, ann.Person, w.free) != 1 {
		t.Error("the link stayed on the host of the organization that its owner has left")
	}
}

// TestMailboxPutWhileItMoves: a PutMailbox while its owner joins an organization does not move the link back.
func TestMailboxPutWhileItMoves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.mailbox()
	org := w.organization("org.example.com")
	release := w.hold(`SELECT FROM transfer.mailboxes WHERE person = $1 FOR UPDATE`, ann.Person)
	put, moved := make(chan error, 1), make(chan error, 1)
	go func() {
		_, _, err := w.PutMailbox(t.Context(), ann, transfer.Mailbox{VanityLink: "ann"})
		put <- err
	}()
	w.waiting(1)
	w.exec(`INSERT INTO identity.memberships (person, organization, roles, created_at) VALUES ($1, $2, '{Service.Transfer.Use}', now())`,
		ann.Person, org)
	go func() { moved <- w.MoveMailbox(t.Context(), ann.Person) }()
	poll.Until(w.t, "the move waits or ends", func() bool { return pgtest.Waiting(t, w.db.Pool) == 2 || len(moved) == 1 })
	release()
	if err := errors.Join(<-put, <-moved); err != nil {
		t.Fatal(err)
	}
	if w.count(`SELECT count(*) FROM transfer.vanity_links WHERE mailbox = $1 AND host_organization = $2`, ann.Person, org) != 1 {
		t.Error("the link is on the host that its owner has left")
	}
}

func TestTenThousandObjects(t *testing.T) {
	t.Parallel()
	w, c, r := newReservation(t)
	for batch := range 10 {
		var files []service.Attachment
		for i := range 1000 {
			name := fmt.Sprintf("%d-%d", batch, i)
			files = append(files, service.Attachment{ClientID: name, Name: name})
		}
		if _, _, err := w.Attach(t.Context(), c, r, files); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := w.Attach(t.Context(), c, r, []service.Attachment{{ClientID: "x", Name: "x"}}); !errors.Is(err, transfer.ErrTooManyFiles) {
		t.Errorf("one more: %v", err)
	}
	done, err := w.Confirm(t.Context(), c, r)
	if err != nil || len(done.Objects) != 10_000 || done.Objects[9_999].ClientID != "9-999" {
		t.Errorf("%d objects, %v", len(done.Objects), err)
	}
}
