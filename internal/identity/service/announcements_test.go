package service_test

import (
	"context"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/token"
)

// addMembers adds persons with a primary address to an organization.
func addMembers(t *testing.T, k *kit, o id.Organization, n int) {
	t.Helper()
	_, err := k.db.Pool.Exec(t.Context(), `
		WITH p AS (
			INSERT INTO identity.persons (uid, name, locale, time_zone, created_at)
			SELECT gen_random_uuid(), 'extra' || n, 'en_US', 'UTC', now() FROM generate_series(1, $2::int) n RETURNING uid, name
		), a AS (
			INSERT INTO identity.addresses (person, address, is_primary, verified_at, created_at) SELECT uid, name || '@example.org', true, now(),
				now() FROM p
		)
		INSERT INTO identity.memberships (person, organization, roles, created_at) SELECT uid, $1, '{}', now() FROM p`, o, n)
	must(t, err)
}

// TestFarewellToManyMembers: every member of a large deleted organization is mailed once.
func TestFarewellToManyMembers(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	o, ann, err := k.CreateOrganization(t.Context(), k.access(k.person("ann@example.com")), service.NewOrganization{Name: "Acme"})
	must(t, err)
	const members = 2100 // three batches
	addMembers(t, k, o.UID, members)
	_, err = k.DeleteOrganization(t.Context(), k.access(ann), o.UID, token.Proof{})
	must(t, err)
	mailed := func() (all, people int) {
		must(t, k.db.Pool.QueryRow(t.Context(),
			`SELECT count(*), count(DISTINCT recipient) FROM mails WHERE template = 'organization-deleted'`).Scan(&all, &people))
		return all, people
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		all, people := mailed()
		if all == members+1 && people == all {
			break
		}
		if time.Now().After(deadline) || all > members+1 {
			t.Fatalf("%d mails to %d of %d members", all, people, members+1)
		}
	}
}

// TestAnnounceToManyMembers: a change of a large organization does not wait for locked feeds, and every member gets the
// event soon.
func TestAnnounceToManyMembers(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	o, ann, err := k.CreateOrganization(t.Context(), k.access(k.person("ann@example.com")), service.NewOrganization{Name: "Acme"})
	must(t, err)
	const members = 1500
	addMembers(t, k, o.UID, members-1)
	tx, err := k.db.Pool.Begin(t.Context())
	must(t, err)
	defer tx.Rollback(t.Context()) //nolint:errcheck // ended before, unless the test has failed
	var busy id.Person
	must(t, tx.QueryRow(t.Context(), `SELECT person FROM identity.memberships WHERE person <> $1 LIMIT 1`, k.caller(ann).Person).Scan(&busy))
	must(t, events.Append(t.Context(), tx, k.clock.Now(),
		events.Event{Kind: events.TransferReceived, Subject: "x", Receivers: []id.Person{busy}}))

	short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err = k.PutTheme(short, k.access(ann), o.UID, identity.Theme{PrimaryColor: "#1a2b3c", BackgroundColor: "#ffffff"})
	must(t, err)
	must(t, tx.Rollback(t.Context()))
	for n, deadline := 0, time.Now().Add(30*time.Second); n != members; {
		must(t, k.db.Pool.QueryRow(t.Context(), `SELECT count(DISTINCT person) FROM events WHERE kind = $1 AND subject = $2`,
			events.OrganizationProfileUpdated, o.UID.String()).Scan(&n))
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d members have the event", n, members)
		}
	}
}
