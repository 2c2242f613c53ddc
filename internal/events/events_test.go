// Tests of the order of a person's events while others are written.

package events

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/clock"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

func open(t *testing.T) (*database.DB, *clock.Manual) {
	t.Helper()
	url, c := newDatabase(t)
	db, err := database.New(t.Context(), url, 12)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db, c
}

// A transaction that takes its event number first and commits last must not be overtaken: a single sequence would allow that.
func TestEventsOfPersonCommitInOrder(t *testing.T) {
	t.Parallel()
	db, c := open(t)
	ctx := t.Context()
	ann, bob := id.New[id.Person](), id.New[id.Person]()
	event := func(subject string, p id.Person) Event { return Event{TransferReceived, subject, []id.Person{p}} }

	slow, err := db.Pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // committed below, or the test has failed
	if err := Append(ctx, slow, c.Now(), event("slow", ann)); err != nil {
		t.Fatal(err)
	}
	quick := make(chan error, 1)
	go func() { quick <- Append(ctx, db.Pool, c.Now(), event("quick", ann)) }()
	poll.Until(t, "the append waits", func() bool { return pgtest.Waiting(t, db.Pool) == 1 })
	if err := Append(ctx, db.Pool, c.Now(), event("other feed", bob)); err != nil { // does not wait
		t.Fatal(err)
	}
	if err := slow.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-quick; err != nil {
		t.Fatal(err)
	}
	got := subjects(t, db, ann, 0)
	if diff := cmp.Diff([]string{"slow", "quick"}, got); diff != "" {
		t.Error(diff)
	}
}

// Writers overlap, roll back, and name receivers in different orders. A reader that continues from the last number it saw
// gets every event exactly once.
func TestReaderDuringWrites(t *testing.T) {
	t.Parallel()
	db, c := open(t)
	ann, bob := id.New[id.Person](), id.New[id.Person]()
	const writers, each = 6, 30
	rollsBack := func(i int) bool { return i%5 == 4 }
	var wrote sync.WaitGroup
	for w := range writers {
		wrote.Go(func() {
			for i := range each {
				receivers := []id.Person{ann, bob}
				if (w+i)%2 == 0 {
					receivers = []id.Person{bob, ann}
				}
				write(t, db, Event{TransferReceived, fmt.Sprintf("%d/%d", w, i), receivers}, c.Now(), rollsBack(i))
			}
		})
	}
	finished := make(chan struct{})
	go func() { wrote.Wait(); close(finished) }()
	seen := readUntil(t, db, ann, finished)
	for w := range writers {
		for i := range each {
			subject, want := fmt.Sprintf("%d/%d", w, i), 1
			if rollsBack(i) {
				want = 0
			}
			if seen[subject] != want {
				t.Errorf("%s seen %d times, want %d", subject, seen[subject], want)
			}
		}
	}
}

// write appends e in a transaction that rollBack rolls back. It tries once: a deadlock fails the test.
func write(t *testing.T, db *database.DB, e Event, now time.Time, rollBack bool) {
	errRollBack := errors.New("roll back")
	err := pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error {
		if err := Append(t.Context(), tx, now, e); err != nil {
			return err
		}
		if rollBack {
			return errRollBack
		}
		return nil
	})
	if err != nil && !errors.Is(err, errRollBack) {
		t.Error(err)
	}
}

// readUntil reads a feed until finished is closed, and once more after that. It returns how often each event was seen.
func readUntil(t *testing.T, db *database.DB, person id.Person, finished <-chan struct{}) map[string]int {
	t.Helper()
	seen := map[string]int{}
	var cursor int64
	for last := false; ; {
		records, err := after(t.Context(), db.Pool, person, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if r.ID <= cursor {
				t.Fatalf("%d after %d", r.ID, cursor)
			}
			cursor = r.ID
			seen[r.Subject]++
		}
		if last && len(records) == 0 {
			return seen
		}
		select {
		case <-finished:
			last = true
		default:
		}
	}
}

func TestEventNumbersRiseAfterClean(t *testing.T) {
	t.Parallel()
	url, c := newDatabase(t)
	rep := newReplica(t, url, c, true)
	ctx := t.Context()
	ann, bob := id.New[id.Person](), id.New[id.Person]()
	rep.append(TransferReceived, "old", ann, bob)
	before, err := position(ctx, rep.db.Pool, ann)
	if err != nil {
		t.Fatal(err)
	}
	c.Advance(6 * 24 * time.Hour)
	rep.append(TransferReceived, "kept", bob)
	c.Advance(2 * 24 * time.Hour)
	if err := rep.feed.Clean(ctx); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"kept"}, subjects(t, rep.db, bob, 0)); diff != "" {
		t.Error(diff)
	}
	if got, err := position(ctx, rep.db.Pool, ann); err != nil || got != 0 {
		t.Errorf("position %d %v, want 0: the counter was cleaned", got, err)
	}
	rep.append(TransferReceived, "new", ann)
	if diff := cmp.Diff([]string{"new"}, subjects(t, rep.db, ann, before)); diff != "" {
		t.Errorf("after the old cursor: %s", diff)
	}
}

func TestAppendWithoutReceivers(t *testing.T) {
	t.Parallel()
	if err := Append(t.Context(), nil, time.Time{}, Event{Kind: TransferReceived}); err != nil {
		t.Error(err)
	}
}

func TestPayload(t *testing.T) {
	t.Parallel()
	var persons []id.Person
	for range payloadReceivers {
		persons = append(persons, id.New[id.Person]())
	}
	text := payload(persons)
	if len(text) > 7999 {
		t.Errorf("payload of %d bytes", len(text))
	}
	got, all := receivers(text)
	if diff := cmp.Diff(persons, got); diff != "" || all {
		t.Errorf("all %t, %s", all, diff)
	}
	for _, text := range []string{payload(append(persons, persons[0])), "", "x", strings.Repeat("0", 36)} {
		if _, all := receivers(text); !all {
			t.Errorf("%.20q does not wake all persons", text)
		}
	}
}

func subjects(t *testing.T, db *database.DB, person id.Person, cursor int64) []string {
	t.Helper()
	records, err := after(t.Context(), db.Pool, person, cursor)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range records {
		out = append(out, r.Subject)
	}
	return out
}

// TestManyReceivers: with thousands of receivers each gets the event once, and AppendOwn gives each person that person's own event.
func TestManyReceivers(t *testing.T) {
	t.Parallel()
	db, c := open(t)
	ctx := t.Context()
	persons := make([]id.Person, receiversBatch+10)
	for i := range persons {
		persons[i] = id.New[id.Person]()
	}
	twice := append([]id.Person{persons[len(persons)-1]}, persons...) // one person would be in the first and the last batch
	if err := Append(ctx, db.Pool, c.Now(), Event{OrganizationProfileUpdated, "organization", twice}); err != nil {
		t.Fatal(err)
	}
	if err := AppendOwn(ctx, db.Pool, c.Now(), PrivilegesUpdated, persons); err != nil {
		t.Fatal(err)
	}
	var shared, uids, own, ownUIDs int
	if err := db.Pool.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE subject = 'organization'), count(DISTINCT uid) FILTER (WHERE subject = 'organization'),
			count(DISTINCT person) FILTER (WHERE subject = person::text), count(DISTINCT uid) FILTER (WHERE subject = person::text)
		FROM events`).Scan(&shared, &uids, &own, &ownUIDs); err != nil {
		t.Fatal(err)
	}
	if n := len(persons); shared != n || uids != 1 || own != n || ownUIDs != n {
		t.Errorf("%d persons have %d shared events with %d uids and %d own ones with %d uids", n, shared, uids, own, ownUIDs)
	}
}
