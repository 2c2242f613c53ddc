// Tests of migrations: from nothing, many at once, locks, and names of constraints.

package database_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/migrations"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestMigrateFromNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.EmptyURL(t)

	before, err := database.MigrationStatus(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	if len(before) < 2 || before[0].Name != "0001_settings.sql" {
		t.Fatalf("status of an empty database lists %v", before)
	}
	for _, m := range before {
		if m.Applied || !m.AppliedAt.IsZero() {
			t.Errorf("an empty database has %s", m.Name)
		}
	}
	if n := tables(t, url); n != 0 {
		t.Errorf("MigrationStatus created %d tables", n)
	}
	if pending, err := open(t, url).Pending(ctx); err != nil || !pending {
		t.Errorf("Pending of an empty database = %v, %v", pending, err)
	}

	for range 2 { // the second call has nothing to do
		if err := database.Migrate(ctx, url, discard()); err != nil {
			t.Fatal(err)
		}
	}
	after, err := database.MigrationStatus(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range after {
		if !m.Applied {
			t.Errorf("%s is not applied", m.Name)
		}
		if strings.HasSuffix(m.Name, ".sql") && m.AppliedAt.IsZero() {
			t.Errorf("%s was applied at no time", m.Name)
		}
	}
	if pending, err := open(t, url).Pending(ctx); err != nil || pending {
		t.Errorf("Pending after Migrate = %v, %v", pending, err)
	}
}

func TestMigrateManyAtOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if err := database.Migrate(t.Context(), url, discard()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// TestMigrateRefusesOtherEncodings: in other encodings Postgres folds and truncates UTF-8 text byte by byte.
func TestMigrateRefusesOtherEncodings(t *testing.T) {
	t.Parallel()
	conn := pgtest.Connect(t, pgtest.EmptyURL(t))
	name := conn.Config().Database + "_ascii"
	if _, err := conn.Exec(t.Context(), "CREATE DATABASE "+name+" ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := conn.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	}()
	url := strings.Replace(conn.Config().ConnString(), conn.Config().Database, name, 1)
	if err := database.Migrate(t.Context(), url, discard()); err == nil || !strings.Contains(err.Error(), "SQL_ASCII") || !strings.Contains(err.Error(), "ENCODING 'UTF8'") {
		t.Errorf("a database in SQL_ASCII: %v", err)
	}
	if n := tables(t, url); n != 0 {
		t.Errorf("the refusal left %d tables", n)
	}
}

func TestMigrateWaitsOnlyAsLongAsItsContext(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	conn := pgtest.Connect(t, url)
	if _, err := conn.Exec(t.Context(), "SELECT pg_advisory_lock($1)", int64(0x636f6e7369676e)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var log bytes.Buffer
	if err := database.Migrate(ctx, url, slog.New(slog.NewTextHandler(&log, nil))); err == nil {
		t.Error("migrated although another process holds the lock")
	}
	if strings.Count(log.String(), "waiting for another migration") != 1 {
		t.Errorf("the log does not say why Migrate waits:\n%s", log.String())
	}
}

// TestMigrateDoesNotBlockReaders: a backup locks all tables for hours. It delays a migration, but the waiting migration does not block
// readers.
func TestMigrateDoesNotBlockReaders(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	if err := database.MigrateFilesTo(t.Context(), url, 10); err != nil {
		t.Fatal(err)
	}
	backup, err := pgtest.Connect(t, url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Exec(t.Context(), `LOCK TABLE transfer.transfers IN ACCESS SHARE MODE`); err != nil {
		t.Fatal(err)
	}
	migrated := make(chan error, 1)
	go func() { migrated <- database.Migrate(t.Context(), url, discard()) }()
	reader := pgtest.Connect(t, url)
	poll.Until(t, "the migration waits for the backup", func() (waits bool) {
		if err := reader.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
			WHERE d.datname = current_database() AND l.mode = 'AccessExclusiveLock' AND NOT l.granted)`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
		return waits
	})
	short, cancel := context.WithTimeout(t.Context(), 8*time.Second) // less than the timeout of a server's statements
	defer cancel()
	if _, err := reader.Exec(short, `SELECT FROM transfer.transfers`); err != nil {
		t.Errorf("a reader has to wait for the migration: %v", err)
	}
	if err := backup.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Error(err)
	}
}

// TestEveryConstraintIsNamed: repositories find domain errors by constraint names, so every name is written in a migration. Names that
// Postgres chooses may change.
func TestEveryConstraintIsNamed(t *testing.T) {
	t.Parallel()
	hash, err := database.SchemaHash()
	if err != nil || len(hash) != 64 {
		t.Fatalf("SchemaHash = %q, %v", hash, err)
	}
	conn := pgtest.Connect(t, pgtest.URL(t))
	rows, err := conn.Query(t.Context(), `
		SELECT conname FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
		WHERE relnamespace = 'public'::regnamespace AND contype <> 'n'
		AND relname NOT LIKE 'river%' AND relname NOT LIKE 'goose%'`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	written := migrationText(t)
	for _, name := range names {
		if !strings.Contains(written, name) {
			t.Errorf("constraint %s is not named in a migration", name)
		}
	}
}

// TestGrowingTablesAreVacuumedOften: Postgres vacuums tables that grow after 2 % of their rows have changed, not after a fifth.
func TestGrowingTablesAreVacuumedOften(t *testing.T) {
	t.Parallel()
	conn := pgtest.Connect(t, pgtest.URL(t))
	for _, table := range []string{"transfer.objects", "transfer.transfers", "transfer.deliveries", "transfer.reservations", "transfer.search_texts", "identity.id_tokens", "events"} {
		var often bool
		if err := conn.QueryRow(t.Context(), `SELECT reloptions @> '{autovacuum_vacuum_scale_factor=0.02,autovacuum_analyze_scale_factor=0.02}' FROM pg_class WHERE oid = $1::regclass`,
			table).Scan(&often); err != nil || !often {
			t.Errorf("%s is not vacuumed after changes of 2 %%: %v", table, err)
		}
	}
}

func tables(t *testing.T, url string) int {
	t.Helper()
	var n int
	err := pgtest.Connect(t, url).QueryRow(t.Context(), "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace").Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// migrationText returns all migrations as one text.
func migrationText(t *testing.T) string {
	t.Helper()
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range names {
		content, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(content)
	}
	return all.String()
}

// TestMigrationNumbers: two branches that add a migration at the same time get different numbers, and none is missing.
func TestMigrationNumbers(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names { // sorted
		if prefix := fmt.Sprintf("%04d_", i+1); !strings.HasPrefix(name, prefix) {
			t.Fatalf("%s: its number should be %s", name, prefix[:4])
		}
	}
}
