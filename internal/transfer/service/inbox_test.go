//go:build million

// Measures a page of an inbox with a million transfers.

package service_test

import (
	"slices"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// fill inserts n received transfers of one object each for a person, in SQL.
func (w *world) fill(p token.Caller, n int) {
	w.t.Helper()
	ctx := database.Unhurried(w.t.Context())
	tx, err := w.db.Pool.Begin(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	sender := id.New[id.Person]()
	for _, sql := range []string{
		`CREATE TEMPORARY TABLE bulk ON COMMIT DROP AS SELECT n, gen_random_uuid() AS reservation, gen_random_uuid() AS transfer, now() - n * interval '7 seconds' AS at
			FROM generate_series(1, $1::bigint) n`,
		`INSERT INTO transfer.reservations (uid, type, state, owner, limits_organization, ttl, protection, max_files, max_file_size_mb, max_recipients, object_count, transfer, created_at, expires_at)
			SELECT reservation, 'p2p', 'confirmed', $1, $2, 30, 'none', 10, 10, 10, 1, transfer, at, at FROM bulk`,
		`INSERT INTO transfer.transfers (uid, reservation, type, owner, sender, sender_managed, limits_organization, subject, sender_name, sender_email, delivery_notification, protection,
				search, object_count, total_bytes, created_at, expires_at)
			SELECT transfer, reservation, 'p2p', $1, $1, true, $2, 'Subject ' || n, 'Sender', 'sender@example.org', false, 'none',
				'subject ' || n || ' sender sender@example.org file.bin', 1, 3, at, now() + interval '10 years' FROM bulk`,
		`INSERT INTO transfer.deliveries (uid, transfer, position, destination_type, person, name, email, key_hash, created_at)
			SELECT gen_random_uuid(), transfer, 1, 'to', $1, 'Ann', 'ann@example.com', sha256(transfer::text::bytea), at FROM bulk`,
		`INSERT INTO transfer.objects (uid, reservation, client_id, name, intended_size, held, sha256, mime_type, created_at)
			SELECT gen_random_uuid(), reservation, 'a', 'file.bin', 3, 3, sha256('abc'), 'text/plain', at FROM bulk`,
	} {
		var args []any
		switch sql[:len("INSERT INTO transfer.res")] {
		case "CREATE TEMPORARY TABLE b":
			args = []any{n}
		case "INSERT INTO transfer.res", "INSERT INTO transfer.tra":
			args = []any{sender, w.free}
		case "INSERT INTO transfer.del":
			args = []any{p.Person}
		}
		if _, err := tx.Exec(ctx, sql, args...); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := tx.Commit(ctx); err != nil {
		w.t.Fatal(err)
	}
}

// TestInboxOfAMillion compares the first page and a page in the middle of an inbox of a million transfers with those of an
// inbox of a thousand. It takes some minutes: make test-inbox.
func TestInboxOfAMillion(t *testing.T) {
	w := newWorld(t)
	few, many := w.person("few@example.com"), w.person("many@example.com")
	began := time.Now()
	w.fill(few, 1_000)
	w.fill(many, 1_000_000)
	if _, err := w.db.Pool.Exec(database.Unhurried(t.Context()), `ANALYZE`); err != nil {
		t.Fatal(err)
	}
	t.Logf("a million transfers were made in %s", time.Since(began).Round(time.Second))
	for name, q := range map[string]service.TransferQuery{
		"received": {Received: true, Limit: 50}, "both": {Received: true, Sent: true, Limit: 50},
		"searched": {Received: true, Limit: 50, Search: "sender@"},
	} {
		small, large := w.pageTime(few, q), w.pageTime(many, q)
		t.Logf("%s: %s of 1,000, %s of 1,000,000", name, small, large)
		if large > 3*small {
			t.Errorf("%s: a page of a million takes %.1f times as long", name, float64(large)/float64(small))
		}
	}
}

// pageTime returns the median time of the first pages of a person's transfers.
func (w *world) pageTime(p token.Caller, q service.TransferQuery) time.Duration {
	w.t.Helper()
	var times []time.Duration
	for range 10 {
		q.After = ""
		for range 10 {
			began := time.Now()
			page, next, err := w.page(p, q)
			if err != nil || len(page) != q.Limit {
				w.t.Fatalf("%d transfers, %v", len(page), err)
			}
			times = append(times, time.Since(began))
			q.After = next
		}
	}
	slices.Sort(times)
	return times[len(times)/2]
}
