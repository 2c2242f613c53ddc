// Tests of transactions: rollback, retries, deadlocks, cuts of connections, and the classes of errors.

package database_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/testkit/relay"
)

func open(t *testing.T, url string) *database.DB {
	t.Helper()
	db, err := database.New(t.Context(), url, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func put(t *testing.T, q database.Querier, name string) {
	t.Helper()
	if _, err := q.Exec(t.Context(), insert, name); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, q database.Querier) (n int) {
	t.Helper()
	if err := q.QueryRow(t.Context(), "SELECT count(*) FROM settings").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

const insert = "INSERT INTO settings (name, value) VALUES ($1, 'true')"

func TestInTxCommitsAndRollsBack(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	err := db.InTx(t.Context(), func(tx database.Tx) error {
		_, err := tx.Exec(t.Context(), insert, "kept")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	wanted := errors.New("refused")
	err = db.InTx(t.Context(), func(tx database.Tx) error {
		put(t, tx, "dropped")
		return wanted
	})
	if !errors.Is(err, wanted) {
		t.Errorf("InTx = %v, want the function's own error", err)
	}
	if n := count(t, db.Pool); n != 1 {
		t.Errorf("%d rows, want the committed one", n)
	}
}

func TestInTxRollsBackWhenTheRequestIsOver(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	ctx, cancel := context.WithCancel(t.Context())
	err := db.InTx(ctx, func(tx database.Tx) error {
		put(t, tx, "dropped")
		cancel()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("InTx = %v", err)
	}
	if n := count(t, db.Pool); n != 0 {
		t.Errorf("%d rows", n)
	}
	if stat := db.Pool.Stat(); stat.AcquiredConns() != 0 || stat.TotalConns() == 0 {
		t.Errorf("the connection was not released: %d in use of %d", stat.AcquiredConns(), stat.TotalConns())
	}
}

func TestInTxRollsBackAfterPanic(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	func() {
		defer func() { _ = recover() }()
		_ = db.InTx(t.Context(), func(database.Tx) error { panic("defect") })
	}()
	if n := db.Pool.Stat().AcquiredConns(); n != 0 {
		t.Errorf("%d connections leaked", n)
	}
}

func TestInTxRetries(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	for code, failures := range map[string]int{"40001": 2, "40P01": 2} {
		tries := 0
		err := db.InTx(t.Context(), func(tx database.Tx) error {
			if tries++; tries <= failures {
				return fault.ErrInvalid.Because(raise(t.Context(), tx, code))
			}
			return nil
		})
		if err != nil || tries != 3 {
			t.Errorf("%s: InTx = %v after %d tries", code, err, tries)
		}
	}
	tries := 0
	err := db.InTx(t.Context(), func(tx database.Tx) error {
		tries++
		return raise(t.Context(), tx, "40001")
	})
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != 409001 || f.Message != fault.MessageNotStored || tries != 3 {
		t.Errorf("InTx = %v after %d tries", err, tries)
	}
}

// TestReadSurvivesDeadlock: a read outside of a transaction meets a migration that locks the same tables in the opposite order. Postgres
// aborts the read, and its retry succeeds.
func TestReadSurvivesDeadlock(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	if _, err := db.Pool.Exec(t.Context(), `CREATE TABLE first AS SELECT 1 AS n; CREATE TABLE second AS SELECT 2 AS n`,
		pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	waiting := func() bool {
		var n int
		return db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'first'::regclass`).Scan(
			&n) == nil && n == 1
	}
	sum := make(chan int, 1)
	if err := db.InTx(t.Context(), func(tx database.Tx) error {
		if _, err := tx.Exec(t.Context(), `SET LOCAL deadlock_timeout = '1min'; LOCK TABLE first`, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		go func() {
			n, err := database.Scalar[int](t.Context(), db.Pool, "add", nil, `SELECT second.n + first.n FROM second, first`)
			if err != nil {
				t.Error(err)
			}
			sum <- n
		}()
		poll.Until(t, "the read waits", waiting)
		_, err := tx.Exec(t.Context(), `LOCK TABLE second`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if n := <-sum; n != 3 {
		t.Errorf("the read returned %d", n)
	}
}

// TestInTxSurvivesRealDeadlock: two transactions lock two rows in opposite order. Postgres aborts one, and its retry succeeds.
func TestInTxSurvivesRealDeadlock(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	put(t, db.Pool, "a")
	put(t, db.Pool, "b")
	results := make(chan error, 2)
	reached := make(chan bool, 10)
	lock := "SELECT FROM settings WHERE name = $1 FOR UPDATE"
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		go func() {
			first := true
			results <- db.InTx(t.Context(), func(tx database.Tx) error {
				if _, err := tx.Exec(t.Context(), lock, order[0]); err != nil {
					return err
				}
				if first {
					first = false
					reached <- true
					poll.Until(t, "both hold a row", func() bool { return len(reached) == 2 })
				}
				_, err := tx.Exec(t.Context(), lock, order[1])
				return err
			})
		}()
	}
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

func raise(ctx context.Context, q database.Querier, code string) error {
	_, err := q.Exec(ctx, fmt.Sprintf("DO $$ BEGIN RAISE EXCEPTION 'told to' USING ERRCODE = '%s'; END $$", code))
	return err
}

func TestConstraint(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	put(t, db.Pool, "a")
	_, unique := db.Pool.Exec(t.Context(), insert, "a")
	_, check := db.Pool.Exec(t.Context(), insert, "")
	_, syntax := db.Pool.Exec(t.Context(), "SELEKT")
	for want, err := range map[string]error{"settings_pkey": unique, "settings_name_check": check, "": syntax} {
		if got := database.Constraint(fmt.Errorf("insert: %w", err)); got != want {
			t.Errorf("Constraint(%v) = %q, want %q", err, got, want)
		}
	}
	if got := database.Constraint(nil); got != "" {
		t.Errorf("Constraint(nil) = %q", got)
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	ctx := t.Context()
	_, nul := db.Pool.Exec(ctx, insert, "a\x00b")
	_, latin := db.Pool.Exec(ctx, insert, "\xff")
	_, nested := db.Pool.Exec(ctx, `INSERT INTO settings (name, value) VALUES ('a', $1::text::jsonb)`, `"\u0000"`)
	_, syntax := db.Pool.Exec(ctx, "SELEKT")
	closed, err := database.New(ctx, pgtest.URL(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	away, err := database.New(ctx, "postgres://nobody@127.0.0.1:1/none?sslmode=disable", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer away.Close()
	_, err = away.Pending(ctx)
	cases := []struct {
		name string
		err  error
		want error // nil: unchanged
	}{
		{"NUL", nul, fault.ErrInvalid},
		{"invalid UTF-8", latin, fault.ErrInvalid},
		{"NUL in JSON", nested, fault.ErrInvalid},
		{"serialization failure", raise(ctx, db.Pool, "40001"), fault.ErrConflict},
		{"shutting down", raise(ctx, db.Pool, "57P01"), fault.ErrUnavailable},
		{"disk full", raise(ctx, db.Pool, "53100"), fault.ErrUnavailable},
		{"standby", raise(ctx, db.Pool, "25006"), fault.ErrUnavailable},
		{"refused", err, fault.ErrUnavailable},
		{"closed pool", closed.Pool.Ping(ctx), fault.ErrUnavailable},
		{"deadline", fmt.Errorf("select: %w", context.DeadlineExceeded), fault.ErrUnavailable},
		{"request over", context.Canceled, nil},
		{"syntax", syntax, nil},
		{"no rows", pgx.ErrNoRows, nil},
		{"a client that stopped sending", io.ErrUnexpectedEOF, nil},
		{"a fault of a domain", fault.ErrForbidden.Because(&pgconn.PgError{Code: "57P01"}), nil},
	}
	for _, c := range cases {
		if c.err == nil {
			t.Errorf("%s: there is no error to classify", c.name)
			continue
		}
		got := database.Classify(fmt.Errorf("do: %w", c.err))
		if !errors.Is(got, c.err) {
			t.Errorf("%s: %v does not wrap its cause", c.name, got)
		}
		var f *fault.Error
		switch {
		case c.want != nil && !errors.Is(got, c.want):
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		case errors.Is(got, fault.ErrUnavailable) && errors.As(got, &f) && f.RetryAfter <= 0:
			t.Errorf("%s: no RetryAfter", c.name)
		case c.want == nil && !errors.Is(c.err, fault.ErrForbidden) && errors.As(got, &f):
			t.Errorf("%s: became %v", c.name, got)
		}
	}
	if database.Classify(nil) != nil {
		t.Error("Classify(nil) is an error")
	}
}

func TestPoolSurvivesCuts(t *testing.T) {
	t.Parallel()
	hop := relay.New(t, pgtest.URL(t))
	db := open(t, hop.URL)
	put(t, db.Pool, "a")

	err := db.InTx(t.Context(), func(tx database.Tx) error {
		hop.Cut()
		_, err := tx.Exec(t.Context(), insert, "b")
		return err
	})
	if got := database.Classify(err); !errors.Is(got, fault.ErrUnavailable) {
		t.Errorf("a cut in a transaction is %v", got)
	}
	poll.Until(t, "works again", func() bool { return db.Pool.Ping(t.Context()) == nil })
	if n := count(t, db.Pool); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}

	hop.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = db.Pool.Exec(ctx, "SELECT 1")
	if got := database.Classify(err); !errors.Is(got, fault.ErrUnavailable) {
		t.Errorf("no answer before the deadline is %v", got)
	}
	hop.Cut()
	hop.Up()
	poll.Until(t, "works again", func() bool { return db.Pool.Ping(t.Context()) == nil })
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://%zz", "postgres://127.0.0.1:1/x?connect_timeout=1"} {
		db, err := database.New(t.Context(), url, 0)
		if err == nil {
			_, err = db.Pending(t.Context())
			db.Close()
		}
		if err == nil {
			t.Errorf("opened %q", url)
		}
	}
}

// TestRefusesModesThatInferTypes: New refuses the modes in which pgx infers the types of parameters, before a statement fails.
func TestRefusesModesThatInferTypes(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	for mode, want := range map[string]bool{"cache_statement": true, "cache_describe": true, "describe_exec": true, "exec": false,
		"simple_protocol": false} {
		db, err := database.New(t.Context(), url+"&default_query_exec_mode="+mode, 1)
		if (err == nil) != want {
			t.Errorf("%s: %v", mode, err)
		}
		if err == nil {
			db.Close()
		}
	}
}
