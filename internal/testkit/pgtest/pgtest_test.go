package pgtest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/localpg"
)

// pending reports whether the database at url lacks a migration of this program.
func pending(t *testing.T, url string) (bool, error) {
	t.Helper()
	db, err := database.New(t.Context(), url, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return db.Pending(t.Context())
}

func TestDatabasesAreFreshAndSeparate(t *testing.T) {
	t.Parallel()
	for range 3 {
		t.Run("clone", func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			url := URL(t)
			t.Logf("made in %v", time.Since(began))
			if pending, err := pending(t, url); err != nil || pending {
				t.Errorf("Pending = %v, %v", pending, err)
			}
			conn := Connect(t, url)
			tag, err := conn.Exec(t.Context(), "INSERT INTO settings (name, value) VALUES ('mine', 'true')")
			if err != nil || tag.RowsAffected() != 1 {
				t.Error(err)
			}
		})
	}
}

func TestDatabasesAreDropped(t *testing.T) {
	t.Parallel()
	var url string
	t.Run("uses it", func(t *testing.T) {
		url = URL(t)
		// The connection stays open on purpose: it must not prevent the drop of the database.
		if _, err := pgx.Connect(context.Background(), url); err != nil {
			t.Fatal(err)
		}
	})
	if conn, err := pgx.Connect(t.Context(), url); err == nil {
		_ = conn.Close(t.Context())
		t.Error("the database outlived its test")
	}
}

func TestEmptyURL(t *testing.T) {
	t.Parallel()
	if pending, err := pending(t, EmptyURL(t)); err != nil || !pending {
		t.Errorf("Pending = %v, %v", pending, err)
	}
}

func TestSweepAndWatchdog(t *testing.T) {
	t.Parallel()
	cluster := Own(t, localpg.Options{})
	conn := Connect(t, cluster.URL("postgres"))
	now := time.Unix(1_800_000_000, 0)
	for _, sql := range []string{
		"CREATE DATABASE test_1799990000_1_1", "CREATE DATABASE test_1799999000_1_1", "CREATE DATABASE test_me",
		"CREATE DATABASE template_old", "COMMENT ON DATABASE template_old IS '1799900000'",
		"CREATE DATABASE template_new", "COMMENT ON DATABASE template_new IS '1799990000'",
		"CREATE DATABASE template_mine", "COMMENT ON DATABASE template_mine IS '1'",
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := sweep(t.Context(), conn, "template_mine", now); err != nil {
		t.Fatal(err)
	}
	var left string
	err := conn.QueryRow(t.Context(),
		`SELECT string_agg(datname, ' ' ORDER BY datname) FROM pg_database WHERE datname ~ '^(test|template)_'`).Scan(&left)
	if want := "template_mine template_new test_1799999000_1_1 test_me"; err != nil || left != want {
		t.Errorf("left are %q (%v), want %q", left, err, want)
	}

	session, err := use(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	if err := watch(cluster, "0.1"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	if err := conn.Ping(t.Context()); err != nil {
		t.Fatalf("the watchdog stopped a cluster in use: %v", err)
	}
	if err := session.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); conn.Ping(t.Context()) == nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the watchdog did not stop a cluster that nobody uses")
		}
	}
}
