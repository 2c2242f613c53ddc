package service_test

import (
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit/poll"
)

func TestCleaning(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.signUp("never@example.com")
	ann := k.access(k.person("ann@example.com"))
	_, err := k.db.Pool.Exec(t.Context(), `INSERT INTO identity.addresses (person, address, is_primary, remove_at, created_at)
		VALUES ($1, 'second@example.com', false, $2, $3)`, ann.Person.UUID, k.clock.Now().Add(7*24*time.Hour), k.clock.Now())
	must(t, err)
	k.clock.Advance(7*24*time.Hour - time.Second)
	must(t, k.RemoveAddresses(t.Context()))
	if n, _ := k.CountPersons(t.Context()); n != 2 || k.deleted.Load() != 0 {
		t.Fatalf("%d persons before removeAt", n)
	}
	k.clock.Advance(time.Second)
	must(t, k.RemoveAddresses(t.Context()))
	p, err := k.Profile(t.Context(), ann)
	must(t, err)
	if n, _ := k.CountPersons(t.Context()); n != 1 || k.deleted.Load() != 1 || len(p.Emails) != 1 {
		t.Errorf("%d persons, %d deleted, addresses %+v", n, k.deleted.Load(), p.Emails)
	}
	k.clock.Advance(31 * 24 * time.Hour)
	_, err = k.db.Pool.Exec(t.Context(),
		`INSERT INTO identity.addresses (person, address, is_primary, remove_at, created_at, key_hash, key_expires_at)
		SELECT $1, n || '@example.com', false, $2::timestamptz + interval '7 days', $2, sha256(n::text::bytea),
			$2::timestamptz + n * interval '1 hour' FROM unnest('{-1,1}'::int[]) n`, ann.Person.UUID, k.clock.Now())
	must(t, err)
	must(t, k.Clean(t.Context()))
	var addresses, keys int
	must(t, k.db.Pool.QueryRow(t.Context(), `SELECT count(*), count(key_hash) FROM identity.addresses`).Scan(&addresses, &keys))
	if addresses != 3 || keys != 1 {
		t.Errorf("%d addresses and %d keys are left", addresses, keys)
	}
	var tokens, persons int
	must(t, k.db.Pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM identity.id_tokens), (SELECT count(*) FROM identity.persons)`).Scan(
		&tokens, &persons))
	if tokens != 0 || persons != 1 {
		t.Errorf("%d tokens and %d persons are left", tokens, persons)
	}
}

// TestCleaningInBatches: a locked expired row holds up only its own batch.
func TestCleaningInBatches(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	ann := k.caller(k.person("ann@example.com")).Person
	const expired = 5000
	_, err := k.db.Pool.Exec(t.Context(), `INSERT INTO identity.reset_keys (key_hash, person, address, expires_at)
		SELECT sha256(n::text::bytea), $1, 'ann@example.com', $2::timestamptz - n * interval '1 second' FROM generate_series(1,
			$3::int) n`, ann, k.clock.Now(), expired)
	must(t, err)
	tx, err := k.db.Pool.Begin(t.Context())
	must(t, err)
	defer tx.Rollback(t.Context()) //nolint:errcheck // ended before, unless the test has failed
	_, err = tx.Exec(t.Context(), `SELECT FROM identity.reset_keys ORDER BY expires_at DESC LIMIT 1 FOR UPDATE`)
	must(t, err)
	left := func() (n int) {
		must(t, k.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM identity.reset_keys`).Scan(&n))
		return n
	}
	cleaned := make(chan error, 1)
	go func() { cleaned <- k.Clean(t.Context()) }()
	poll.Until(t, "half of the keys are deleted while one is locked", func() bool { return left() <= expired/2 })
	must(t, tx.Rollback(t.Context()))
	must(t, <-cleaned)
	if n := left(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}
