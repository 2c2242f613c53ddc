// Tests of pages and bounded searches with many rows.

package postgres

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/plans"
)

// exchange makes Ann and Bob; Ann has 40 transfers: every third from Bob to two of her addresses, as many to Bob, and the rest from
// herself to herself, all with the subject of their number. Some have come in the same moment.
const exchange = `
	INSERT INTO identity.organizations (uid, free, locale, time_zone, created_at, updated_at) VALUES (gen_random_uuid(), true, 'en_US', 'UTC',
		now(), now());
	INSERT INTO identity.hosts (host, organization, active, created_at) SELECT 'free.test', uid, true, now() FROM identity.organizations;
	INSERT INTO identity.persons (uid, name, locale, time_zone, created_at) SELECT gen_random_uuid(), n, 'en_US', 'UTC', now()
		FROM unnest('{Ann,Bob}'::text[]) n;
	CREATE TEMPORARY TABLE made AS SELECT n, gen_random_uuid() AS uid, gen_random_uuid() AS reservation,
		now() - n / 4 * interval '1 hour' AS at,
		CASE n % 3 WHEN 0 THEN 'Bob' ELSE 'Ann' END AS sender, CASE n % 3 WHEN 1 THEN 'Bob' ELSE 'Ann' END AS receiver
	FROM generate_series(1, 40) n;
	INSERT INTO transfer.reservations (uid, type, state, transfer, owner, limits_organization, ttl, protection, max_files, max_file_size_mb,
		max_recipients, created_at, expires_at)
	SELECT m.reservation, 'p2p', 'confirmed', m.uid, p.uid, o.uid, 7, 'none', 1, 1, 1, at, at FROM made m
		JOIN identity.persons p ON p.name = m.sender, identity.organizations o;
	INSERT INTO transfer.transfers (uid, reservation, type, owner, sender, sender_managed, limits_organization, subject, search,
		delivery_notification, protection,
		object_count, total_bytes, created_at, expires_at)
	SELECT m.uid, m.reservation, 'p2p', r.owner, r.owner, true, r.limits_organization, n, 'n' || n, false, 'none', 0, 0, at,
		now() + interval '1 day'
	FROM made m JOIN transfer.reservations r ON r.uid = m.reservation;
	INSERT INTO transfer.deliveries (uid, transfer, position, destination_type, person, email, key_hash, created_at)
	SELECT gen_random_uuid(), m.uid, address, 'to', p.uid, receiver || address || '@example.com', sha256((n || ' ' || address)::bytea), at
	FROM made m JOIN identity.persons p ON p.name = m.receiver, generate_series(1, 2) address;`

// TestPagesHoldEverythingOnce: following the pages of a list or a search returns every transfer once, newest first,
// however few candidates a call examines. That includes transfers received at two addresses.
func TestPagesHoldEverythingOnce(t *testing.T) {
	t.Parallel()
	db, err := database.New(t.Context(), pgtest.URL(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if _, err := db.Pool.Exec(t.Context(), exchange); err != nil {
		t.Fatal(err)
	}
	var ann uuid.UUID
	if err := db.Pool.QueryRow(t.Context(), `SELECT uid FROM identity.persons WHERE name = 'Ann'`).Scan(&ann); err != nil {
		t.Fatal(err)
	}
	s, sc := New(db), Scope{Host: AnyHost, Now: time.Now()}
	for name, of := range map[string]struct {
		page Page
		want string // of the transfers m with the sender, receiver and number
	}{
		"all":                 {Page{Received: true, Sent: true}, `true`},
		"received":            {Page{Received: true}, `receiver = 'Ann'`},
		"sent":                {Page{Sent: true}, `sender = 'Ann'`},
		"a search":            {Page{Received: true, Sent: true, Search: "N3"}, `n::text LIKE '3%'`},
		"none of few":         {Page{Received: true, Sent: true, Search: "n4 "}, `false`},
		"the oldest":          {Page{Received: true, Sent: true, Search: "n40"}, `n = 40`},
		"what matches all":    {Page{Received: true, Sent: true, Search: "n"}, `true`},
		"received, searched":  {Page{Received: true, Search: "n2"}, `receiver = 'Ann' AND n::text LIKE '2%'`},
		"sent, by recipients": {Page{Sent: true, Search: "bob"}, `sender = 'Ann' AND receiver = 'Bob'`},
		"nothing":             {Page{Received: true, Sent: true, Search: "%"}, `false`},
	} {
		var want []string
		if err := db.Pool.QueryRow(t.Context(), `SELECT array_agg(n::text ORDER BY at DESC, uid DESC) FROM made WHERE `+of.want).Scan(
			&want); err != nil {
			t.Fatal(err)
		}
		for _, of.page.Limit = range []int{1, 3, 200} {
			for _, of.page.Candidates = range []int{1, 7, 200} {
				var got []string
				page, calls := of.page, 0
				for ; calls <= 100; calls++ {
					rows, next, err := s.Transfers(t.Context(), id.Person{UUID: ann}, page, sc)
					if err != nil || len(rows) > page.Limit {
						t.Fatalf("%s: %d rows, %v", name, len(rows), err)
					}
					for _, r := range rows {
						got = append(got, r.Subject)
					}
					if page.After = next; next == (Position{}) {
						break
					}
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s, %d at a time of %d candidates: %v after %d calls, want %v", name, page.Limit, page.Candidates, got, calls, want)
				}
			}
		}
	}
}

// TestSearchIsBounded: a search that finds nothing answers at once by the index. One of fewer than three characters says so after its
// candidates, with the position where it continues. It looks the candidates up one by one, however many there are. A page without a search
// reads its indexes and counts nothing.
func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	db := crowded(t)
	var p id.Person
	if err := db.Pool.QueryRow(t.Context(), `
		WITH busy AS (SELECT uid FROM identity.persons LIMIT 1), received AS (UPDATE transfer.deliveries d SET person = busy.uid FROM busy)
		UPDATE transfer.transfers t SET sender = busy.uid FROM busy RETURNING busy.uid`).Scan(&p.UUID); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Pool.Exec(t.Context(), `ANALYZE`); err != nil {
		t.Fatal(err)
	}
	w := plans.New(t, db.Pool)
	s, sc := New(db), Scope{Host: AnyHost}
	s.q = w
	if _, _, err := s.Transfers(t.Context(), p, Page{Received: true, Sent: true, Limit: 5}, sc); err != nil {
		t.Fatal(err)
	}
	if len(w.Scans) > 0 || w.Windows > 0 {
		t.Errorf("a page reads all of %v, with %d windows", w.Scans, w.Windows)
	}
	for search, want := range map[string]int{
		"%%":            4, // too short for the index; the last call says that there is no more
		"no such thing": 1,
	} {
		page := Page{Received: true, Sent: true, Search: search, Candidates: 1000, Limit: 5}
		calls := 0
		for next := (Position{At: time.Now().Add(time.Hour)}); next != (Position{}); calls++ {
			page.After = next
			var rows []SeenTransfer
			var err error
			if rows, next, err = s.Transfers(t.Context(), p, page, sc); err != nil || len(rows) > 0 || calls > 10 {
				t.Fatalf("%s: call %d: %d rows, %v", search, calls, len(rows), err)
			}
			if len(w.Scans) > 0 {
				t.Errorf("%s: call %d reads all of %v", search, calls, w.Scans)
			}
		}
		if calls != want {
			t.Errorf("%s: %d calls for 3,000 transfers, want %d", search, calls, want)
		}
	}
}

// TestBatchesAreBounded: one transaction of a job covers about ten thousand objects, however many each transfer has.
func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	db, err := database.New(t.Context(), pgtest.URL(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	var ann id.Person
	for _, sql := range []string{
		exchange,
		`UPDATE transfer.transfers SET object_count = CASE WHEN uid = (SELECT min(uid::text)::uuid FROM transfer.transfers) THEN 20000 ELSE 4000 END, expires_at = created_at`,
		`UPDATE transfer.reservations SET state = 'open', transfer = NULL, max_files = 4000, object_count = 4000`,
	} {
		if _, err := db.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Pool.QueryRow(t.Context(), `SELECT uid FROM identity.persons WHERE name = 'Ann'`).Scan(&ann); err != nil {
		t.Fatal(err)
	}
	s, now := New(db), time.Now()
	for name, batch := range map[string]struct {
		prepare string
		take    func(s *Store) (int, error)
	}{
		"expired reservations": {`SELECT`, func(s *Store) (int, error) {
			list, err := s.LockExpiredReservations(t.Context(), now, 100)
			return len(list), err
		}},
		"expired transfers": {`SELECT`, func(s *Store) (int, error) {
			list, err := s.LockExpiredTransfers(t.Context(), now, now, 100)
			return len(list), err
		}},
		"deliveries to who is gone": {`SELECT`, func(s *Store) (int, error) {
			list, err := s.HideDeliveriesOf(t.Context(), ann, 100, now)
			return len(list), err
		}},
		"transfers ended long ago": {`UPDATE transfer.transfers SET state = 'expired', ended_at = created_at`, func(s *Store) (int, error) {
			return s.DeleteEndedTransfers(t.Context(), now, 100)
		}},
	} {
		if err := s.InTx(t.Context(), func(tx *Store) error {
			if _, err := tx.q.Exec(t.Context(), batch.prepare); err != nil {
				return err
			}
			if n, err := batch.take(tx); err != nil || n < 1 || n > 3 {
				t.Errorf("%s: %d, %v; want at most 3 of 4,000 objects each", name, n, err)
			}
			return errRolledBack
		}); !errors.Is(err, errRolledBack) {
			t.Error(err)
		}
	}
}

var errRolledBack = errors.New("rolled back")
