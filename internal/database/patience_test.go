package database_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/testkit/relay"
)

// TestPatience: a Postgres that keeps its connections and does not answer is unavailable, and so is a pool without a free connection.
func TestPatience(t *testing.T) {
	t.Parallel()
	hop := relay.New(t, pgtest.URL(t))
	const limit = 200 * time.Millisecond
	db, err := database.OpenImpatient(t.Context(), hop.URL, 1, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		hop.Up()
		db.Close()
	})
	unavailable := func(what string, err error) {
		t.Helper()
		if !errors.Is(database.Classify(err), fault.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := db.Pool.Exec(database.Unhurried(t.Context()), "SELECT pg_sleep(0.5)"); err != nil {
		t.Errorf("an unhurried statement: %v", err)
	}
	_, err = db.Pool.Exec(t.Context(), "SELECT pg_sleep(5)")
	unavailable("a slow statement", err)
	err = db.InTx(t.Context(), func(database.Tx) error {
		_, err := db.Pool.Exec(t.Context(), "SELECT 1")
		return err
	})
	unavailable("no connection left", err)

	hop.Freeze()
	began := time.Now()
	_, err = db.Pool.Exec(t.Context(), "SELECT 1")
	unavailable("a statement", err)
	unavailable("a transaction", db.InTx(t.Context(), func(database.Tx) error { return nil }))
	batch := &pgx.Batch{}
	batch.Queue("SELECT 1")
	unavailable("a batch", db.Pool.SendBatch(t.Context(), batch).Close())
	if took := time.Since(began); took > 20*limit {
		t.Errorf("it took %v to find out", took)
	}
	hop.Up()
	poll.Until(t, "Postgres answers again", func() bool {
		_, err := db.Pool.Exec(t.Context(), "SELECT 1")
		return err == nil
	})
}
