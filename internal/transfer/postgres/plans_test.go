package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/microcache"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/testkit/plans"
	"github.com/consign-dev/consign/internal/transfer"
)

// TestLookupsReadNoWholeTable: with thousands of persons, none of the look-ups that each request begins with reads a table that grows
// with them from end to end. The planner does so when a statement joins more than it reorders (migrations/0003_identity.sql).
func TestLookupsReadNoWholeTable(t *testing.T) {
	t.Parallel()
	db := crowded(t)
	growing := []string{"persons", "addresses", "memberships", "mailboxes", "vanity_links", "reservations", "stranger_reservations", "objects",
		"transfers", "deliveries",
		"organizations", "hosts", "limits", "adminunits", "volumes", "stored_volumes", "volume_advances", "search_texts"}
	for _, of := range []struct{ host, name string }{{"free.test", "1"}, {"firm.test", "2"}} {
		var person, reservation, organization, sent, object, delivery uuid.UUID
		if err := db.Pool.QueryRow(t.Context(), `
			SELECT p.uid, r.uid, h.organization, t.uid, o.uid, d.uid
			FROM identity.persons p JOIN transfer.reservations r ON r.owner = p.uid AND r.state = 'open'
				JOIN transfer.transfers t ON t.sender = p.uid
			JOIN transfer.objects o ON o.reservation = t.reservation JOIN transfer.deliveries d ON d.transfer = t.uid, identity.hosts h
			WHERE p.name = $1 AND h.host = $2`, of.name, of.host).Scan(&person, &reservation, &organization, &sent, &object, &delivery); err != nil {
			t.Fatal(err)
		}
		w := plans.New(t, db.Pool)
		s := New(db)
		s.q = w
		sc := Scope{Host: of.host, HostOrganization: id.Organization{UUID: organization}, Now: time.Now(), Defaults: transfer.Defaults{}}
		ctx, r, p := t.Context(), id.Reservation{UUID: reservation}, id.Person{UUID: person}
		strangers := Payer{Owner: p, Organization: sc.HostOrganization, LimitsOrganization: sc.HostOrganization, Client: "192.0.2.1/32"}
		networks, _ := ratelimit.Bounds(strangers.Client, 25, 1)
		tr, o, key := id.Transfer{UUID: sent}, id.Object{UUID: object}, sha256.Sum256([]byte("key"+of.name))
		for name, lookup := range map[string]func() error{
			"mailbox by link": func() error { _, err := s.PublicMailbox(ctx, transfer.Key{Link: "box" + of.name}, sc); return err },
			"mailbox by uid":  func() error { _, err := s.PublicMailbox(ctx, transfer.Key{UID: person.String()}, sc); return err },
			"owner":           func() error { _, err := s.Owner(ctx, p, sc); return err },
			"reservation":     func() error { _, err := s.Reservation(ctx, r, sc); return err },
			"object":          func() error { _, err := s.Object(ctx, r, "a", sc); return err },
			"upload":          func() error { _, err := s.LockUpload(ctx, r, "a", sc); return err },
			"objects by name": func() error { _, err := s.ObjectsNamed(ctx, r, []string{"a", "b"}); return err },
			"locked by name":  func() error { _, err := s.LockNamed(ctx, r, []string{"a", "b"}); return err },
			"final upload":    func() error { _, err := s.FinalOf(ctx, r, []string{"a"}); return missing(err) },
			"sealing":         func() error { _, err := s.LockSealing(ctx, o, sc); return err },
			"segments":        func() error { _, err := s.Segments(ctx, o); return err },
			"final of partial uploads": func() error {
				return s.MakeFinal(ctx, transfer.Object{UID: id.New[id.Object](), UploadConcat: "final;x"},
					[]transfer.Object{{UID: id.New[id.Object](), ClientID: "a"}})
			},
			"transfer":       func() error { _, err := s.TransferOf(ctx, tr, p, sc); return err },
			"sender's link":  func() error { _, err := s.SenderLink(ctx, tr); return err },
			"access":         func() error { _, err := s.Access(ctx, tr, p, sc); return err },
			"download":       func() error { _, err := s.Download(ctx, tr, o, p, sc); return err },
			"link":           func() error { _, err := s.Linked(ctx, key[:], sc); return err },
			"access by link": func() error { _, err := s.LinkedAccess(ctx, key[:], sc); return err },
			"download by link": func() error {
				_, err := s.LinkedDownload(ctx, key[:], o, sc)
				return err
			},
			"disowning": func() error { _, err := s.DisownTransfers(ctx, id.New[id.Person](), 100); return err },
			"hiding": func() error {
				_, err := s.HideDeliveriesOf(ctx, id.New[id.Person](), 100, time.Now())
				return err
			},
			"unconfirmed bytes": func() error { _, err := s.Unconfirmed(ctx, strangers, networks); return err },
			"strangers' reservations": func() error {
				_, err := s.InsertMailboxReservation(ctx, strange(p, sc.HostOrganization), bounds)
				return err
			},
			"inbox": func() error {
				_, _, err := s.Transfers(ctx, p, Page{Received: true, Sent: true, Limit: 5}, sc)
				return err
			},
			"later page": func() error {
				_, _, err := s.Transfers(ctx, p, Page{Received: true, Sent: true, Limit: 5, After: Position{At: time.Now(), UID: tr}}, sc)
				return err
			},
			"search": func() error {
				_, _, err := s.Transfers(ctx, p, Page{Received: true, Sent: true, Limit: 5, Search: "x", Candidates: 100}, sc)
				return err
			},
			"search by index": func() error {
				_, _, err := s.Transfers(ctx, p, Page{Received: true, Sent: true, Limit: 5, Search: "xyz", Candidates: 1}, sc)
				return err
			},
			"new": func() error {
				_, _, err := s.Transfers(ctx, p, Page{Received: true, Sent: true, Limit: 5, Filter: transfer.FilterNew, Candidates: 100}, sc)
				return err
			},
			"expired, oldest first": func() error {
				_, _, err := s.Transfers(ctx, p, Page{Received: true, Sent: true, Oldest: true, Limit: 5, Filter: transfer.FilterExpired,
					Candidates: 100}, sc)
				return err
			},
			"later page of the oldest": func() error {
				_, _, err := s.Transfers(ctx, p, Page{Received: true, Sent: true, Oldest: true, Limit: 5, After: Position{At: time.Now(), UID: tr}}, sc)
				return err
			},
			"search of the open": func() error {
				_, _, err := s.Transfers(ctx, p, Page{Received: true, Sent: true, Limit: 5, Search: "xyz", Filter: transfer.FilterOpen, Candidates: 1},
					sc)
				return err
			},
			"operator's newest transfers": func() error { return find(s, TransferSearch{Limit: 5}) },
			"transfers of a person":       func() error { return find(s, TransferSearch{Person: p, Limit: 5}) },
			"transfers to a mailbox":      func() error { return find(s, TransferSearch{Mailbox: p, Limit: 5}) },
			"transfers of an organization in a state": func() error {
				return find(s, TransferSearch{Organization: sc.HostOrganization, State: transfer.Revoked, Candidates: 5, Limit: 5})
			},
			"samples of volumes": func() error {
				if _, err := s.SampleVolumes(ctx, sc.Now, id.Organization{}, 5); err != nil {
					return err
				}
				_, err := s.UsedDays(ctx, sc.HostOrganization, sc.Now.Add(-time.Hour))
				return err
			},
			"months of an organization": func() error { _, err := s.UsedMonths(ctx, sc.HostOrganization); return err },
			"transfers of a member":     func() error { return find(s, TransferSearch{Organization: sc.HostOrganization, Owner: p, Limit: 5}) },
			"mailboxes of members": func() error {
				_, _, err := s.OrganizationMailboxes(ctx, MembersMailboxes{Organization: sc.HostOrganization, Search: "box1", Candidates: 5, Limit: 5},
					sc)
				return err
			},
			"mailboxes by link":            func() error { return findMailboxes(s, MailboxSearch{Link: "box12", Limit: 5}) },
			"mailbox of a person":          func() error { return findMailboxes(s, MailboxSearch{Person: p, Limit: 5}) },
			"mailboxes of an organization": func() error { return findMailboxes(s, MailboxSearch{Organization: sc.HostOrganization, Limit: 5}) },
			"usage of an organization": func() error {
				_, err := s.OrganizationUsage(ctx, sc.HostOrganization, transfer.Month(time.Now()))
				return err
			},
			"holders of a transfer": func() error { _, err := s.TransferHolders(ctx, tr); return err },
			"person at an address":  func() error { _, err := s.PersonAt(ctx, "p"+of.name+"@example.com"); return err },
			"recipient":             func() error { _, err := s.RecipientVerified(ctx, id.Delivery{UUID: delivery}, p); return err },
		} {
			if err := lookup(); err != nil {
				t.Errorf("%s at %s: %v", name, of.host, err)
			}
			for _, table := range append(w.Scans, w.Generic...) {
				if slices.Contains(growing, table) {
					t.Errorf("%s at %s reads all of %s", name, of.host, table)
				}
			}
			if len(w.Removed) > 0 {
				t.Errorf("%s at %s reads rows that it does not need: %v", name, of.host, w.Removed)
			}
		}
	}
}

// missing returns nil for an error that says that there is no row.
func missing(err error) error {
	if errors.Is(err, transfer.ErrNotFound) {
		return nil
	}
	return err
}

// find looks for an operator's transfers.
func find(s *Store, q TransferSearch) error {
	q.After = Position{At: time.Now().Add(time.Hour), UID: id.Transfer{UUID: uuid.Max}}
	_, _, err := s.FindTransfers(context.Background(), q, time.Now())
	return err
}

func findMailboxes(s *Store, q MailboxSearch) error {
	_, err := s.FindMailboxes(context.Background(), q, time.Now())
	return err
}

// bounds are those of strangers' reservations.
var bounds = transfer.StrangerLimits{NetworkShare: 100, Reservations: 50, OrganizationReservations: 50}

func strange(owner id.Person, organization id.Organization) transfer.Reservation {
	return transfer.Reservation{
		UID: id.New[id.Reservation](), Owner: owner, Organization: organization, LimitsOrganization: organization, Client: "192.0.2.1/32", TTL: 7,
		Protection: transfer.ProtectNone, MaxFiles: 1, MaxFileSizeMB: 1, MaxRecipients: 1, CreatedAt: time.Now(),
		ExpiresAt: time.Now().Add(time.Hour),
	}
}

// TestStrangersAreCountedByIndex: a statement that was planned while the table of strangers' reservations was empty does not read all of
// it when it has grown, and counts an organization's reservations no further than their bound.
func TestStrangersAreCountedByIndex(t *testing.T) {
	t.Parallel()
	db := crowded(t)
	ctx, s := t.Context(), New(db)
	conn, err := db.Pool.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	s.q = conn // it keeps its plans
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(ctx, sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	var owner id.Person
	var organization id.Organization
	if err := conn.QueryRow(ctx, `SELECT p.uid, o.uid FROM identity.persons p, identity.organizations o WHERE p.name = '2' AND NOT o.free`).Scan(&owner.UUID, &organization.UUID); err != nil {
		t.Fatal(err)
	}
	reserve := func(stored bool) {
		t.Helper()
		if added, err := s.InsertMailboxReservation(ctx, strange(owner, organization), bounds); err != nil || added.Stored != stored {
			t.Fatalf("stored %v, %v", added, err)
		}
	}
	networks, _ := ratelimit.Bounds("192.0.2.1/32", 25, 1)
	unconfirmed := func() {
		t.Helper()
		if _, err := s.Unconfirmed(ctx, Payer{Owner: owner, Organization: organization, LimitsOrganization: organization,
			Client: "192.0.2.1/32"}, networks); err != nil {
			t.Fatal(err)
		}
	}
	exec(`DELETE FROM transfer.stranger_reservations`)
	exec(`ALTER TABLE transfer.stranger_reservations SET (autovacuum_enabled = off)`)
	exec(`VACUUM ANALYZE transfer.stranger_reservations`)
	for range 10 {
		reserve(true)
		unconfirmed()
	}
	exec(`INSERT INTO transfer.reservations (uid, type, owner, limits_organization, ttl, protection, max_files, max_file_size_mb, max_recipients, created_at, expires_at)
		SELECT gen_random_uuid(), 'mailbox', gen_random_uuid(), $1, 7, 'none', 1, 1, 1, now(), now() + interval '1 day' FROM generate_series(1,
			5000)`, organization)
	exec(`INSERT INTO transfer.stranger_reservations (reservation, owner, organization, limits_organization, client, expires_at)
		SELECT uid, owner, $1, $1, set_masklen('10.0.0.0'::inet + row_number() OVER (), 32)::cidr, expires_at
		FROM transfer.reservations r WHERE NOT EXISTS (SELECT FROM transfer.mailboxes m
			WHERE m.person = r.owner)`, organization)
	read := func() (scans, tuples int64) {
		t.Helper()
		exec(`SELECT pg_stat_force_next_flush()`)
		exec(`SELECT pg_stat_clear_snapshot()`)
		if err := conn.QueryRow(ctx, `SELECT seq_scan, idx_tup_fetch FROM pg_stat_user_tables WHERE relid = 'transfer.stranger_reservations'::regclass`).Scan(&scans, &tuples); err != nil {
			t.Fatal(err)
		}
		return scans, tuples
	}
	scans, tuples := read()
	reserve(false)
	moreScans, moreTuples := read()
	if n := moreTuples - tuples; moreScans != scans || n > 101 { // two bounds of 50, and one of its network
		t.Errorf("a reservation read the table %d times from end to end, and %d rows", moreScans-scans, n)
	}
	unconfirmed()
	if n, _ := read(); n != scans {
		t.Error("a sum of unconfirmed bytes read the table from end to end")
	}
}

// counter counts the statements that pass through it.
type counter struct {
	database.Querier
	n int
}

// Query implements database.Querier.
func (c *counter) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	c.n++
	return c.Querier.Query(ctx, sql, args...)
}

// TestOrganizationsAreKept: an organization's settings are read once per lifetime of the microcache, not with each
// mailbox. Decisions that last and work without a request never use a cached copy.
func TestOrganizationsAreKept(t *testing.T) {
	t.Parallel()
	db := crowded(t)
	c := &counter{Querier: db.Pool}
	s := New(db)
	s.q = c
	request := Scope{Host: "free.test", Now: time.Now()}
	job := Scope{Host: AnyHost, Now: time.Now()}
	person := func(name string) (p id.Person) {
		if err := db.Pool.QueryRow(t.Context(), `SELECT uid FROM identity.persons WHERE name = $1`, name).Scan(&p.UUID); err != nil {
			t.Fatal(err)
		}
		return p
	}
	mailbox := func(name string, sc Scope) func() error {
		key := transfer.Key{UID: person(name).String()}
		return func() error { _, err := s.PublicMailbox(t.Context(), key, sc); return err }
	}
	owner := func(sc Scope) func() error {
		p := person("1")
		return func() error { _, err := s.Owner(t.Context(), p, sc); return err }
	}
	steps := []struct {
		name       string
		ask        func() error
		statements int
		want       error
	}{
		{"the first mailbox", mailbox("1", request), 2, nil},
		{"another one", mailbox("3", request), 1, nil},
		{"an owner", owner(request), 1, nil},
		{"a mailbox, for a job", mailbox("1", job), 2, nil},
		{"an owner, for a job", owner(job), 1, nil},
		{"a mailbox at home elsewhere", mailbox("2", request), 2, transfer.ErrNotFound},
		{"it once more", mailbox("2", request), 1, transfer.ErrNotFound},
		{"forgotten", func() error { s.ForgetOrganizations(); return mailbox("1", request)() }, 2, nil},
	}
	for range 20 { // until the machine is quick enough for nothing to grow old on the way
		s.ForgetOrganizations()
		began := time.Now()
		var counts []int
		for _, step := range steps {
			before := c.n
			if err := step.ask(); !errors.Is(err, step.want) {
				t.Errorf("%s: %v, want %v", step.name, err, step.want)
			}
			counts = append(counts, c.n-before)
		}
		if time.Since(began) >= microcache.TTL {
			continue
		}
		for i, step := range steps {
			if counts[i] != step.statements {
				t.Errorf("%s: %d statements, want %d", step.name, counts[i], step.statements)
			}
		}
		return
	}
	t.Error("never quick enough")
}
