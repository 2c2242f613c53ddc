package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer"
)

// TestGroupIsStoredWhileAMailboxOfItGoes: storing a group and deleting one of its mailboxes wait for each other and do
// not deadlock.
func TestGroupIsStoredWhileAMailboxOfItGoes(t *testing.T) {
	t.Parallel()
	db, err := database.New(t.Context(), pgtest.URL(t), 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	bob, office := id.New[id.Person](), id.New[id.Organization]()
	for sql, args := range map[string][]any{
		`WITH o AS (
			INSERT INTO identity.organizations (uid, locale, time_zone, created_at, updated_at) VALUES ($2, 'en_US', 'UTC', now(), now())
		), p AS (
			INSERT INTO identity.persons (uid, name, locale, time_zone, created_at) VALUES ($1, 'Bob', 'en_US', 'UTC', now())
		)
		INSERT INTO identity.memberships (person, organization, roles, created_at) VALUES ($1, $2, '{}', now())`: {bob, office},
		`INSERT INTO transfer.mailboxes (person, created_at, updated_at) VALUES ($1, now(), now())`: {bob},
	} {
		if _, err := db.Pool.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	var sales, support transfer.MailboxGroup
	for _, g := range []*transfer.MailboxGroup{&sales, &support} {
		*g = transfer.MailboxGroup{UID: id.New[id.Group](), Organization: office, Name: "Group"}
		if err := New(db).InsertGroup(t.Context(), *g, time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Pool.Exec(t.Context(), `INSERT INTO transfer.mailbox_group_members VALUES ($1, $2, 1)`, g.UID, bob); err != nil {
			t.Fatal(err)
		}
	}
	// try runs once: a deadlock is not tried again.
	try := func(fn func(s *Store) error) <-chan error {
		done := make(chan error, 1)
		go func() {
			done <- pgx.BeginFunc(t.Context(), db.Pool, func(tx pgx.Tx) error { return fn(New(db).Within(tx)) })
		}()
		return done
	}
	blocked := func(want int) {
		t.Helper()
		poll.Until(t, fmt.Sprint(want, " transactions wait"), func() bool { return pgtest.Waiting(t, db.Pool) == want })
	}
	hold, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hold.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := hold.Exec(t.Context(), `SELECT FROM transfer.mailbox_group_members WHERE mailbox_group = $1 FOR UPDATE`,
		sales.UID); err != nil {
		t.Fatal(err)
	}
	deleted := try(func(s *Store) error { return s.DeleteMailbox(t.Context(), bob, time.Now()) })
	blocked(1)
	stored := try(func(s *Store) error {
		n, err := s.SetGroupMailboxes(t.Context(), support, []id.Person{bob})
		if err == nil && n != 0 {
			t.Errorf("the group got %d mailboxes, of which none is left", n)
		}
		return err
	})
	blocked(2)
	if err := hold.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-deleted; err != nil {
		t.Errorf("delete the mailbox: %v", err)
	}
	if err := <-stored; err != nil {
		t.Errorf("store the group: %v", err)
	}
}
