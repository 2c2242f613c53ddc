// Tests of migrations: from nothing, many at once, locks, and names of constraints.

package database_test

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/testkit/output"
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
	if len(before) < 2 || before[0].Name != "0001_mechanisms.sql" {
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
	if err := database.Migrate(t.Context(), url, discard()); err == nil || !strings.Contains(err.Error(), "SQL_ASCII") ||
		!strings.Contains(err.Error(), "ENCODING 'UTF8'") {
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
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var log output.Buffer
	migrated := make(chan error, 1)
	go func() { migrated <- database.Migrate(ctx, url, slog.New(slog.NewTextHandler(&log, nil))) }()
	poll.Until(t, "the log says why Migrate waits", func() bool { return strings.Contains(log.String(), "waiting for another migration") })
	time.Sleep(300 * time.Millisecond) // for several looks at the lock
	cancel()
	if err := <-migrated; err == nil {
		t.Error("migrated although another process holds the lock")
	}
	if n := strings.Count(log.String(), "waiting for another migration"); n != 1 {
		t.Errorf("the log says it %d times", n)
	}
}

// TestMigrateDoesNotBlockReaders: a backup locks all tables for hours. It delays a migration, but the waiting migration does not block
// readers.
func TestMigrateDoesNotBlockReaders(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	next := allFiles(t)
	next[fmt.Sprintf("%04d_example.sql", len(next)+1)] = &fstest.MapFile{
		Data: []byte("-- +goose Up\nALTER TABLE transfer.transfers ADD COLUMN example text;\n")}
	backup, err := pgtest.Connect(t, url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Exec(t.Context(), `LOCK TABLE transfer.transfers IN ACCESS SHARE MODE`); err != nil {
		t.Fatal(err)
	}
	migrated := make(chan error, 1)
	go func() { migrated <- database.MigrateFiles(t.Context(), url, next, discard()) }()
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

// TestFilesShowTheSchema: the files are the place where a reader finds the schema. Each table, view, function, trigger and index of the
// database is written there by its name, and each column and constraint in its table. Repositories find domain errors by constraint names,
// and names that Postgres chooses may change.
func TestFilesShowTheSchema(t *testing.T) {
	t.Parallel()
	conn := pgtest.Connect(t, pgtest.URL(t))
	rows, err := conn.Query(t.Context(), `
		WITH tables AS (
			SELECT c.oid, relkind, CASE nspname WHEN 'public' THEN '' ELSE nspname || '.' END || relname AS name
			FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
			WHERE nspname IN ('public', 'identity', 'directory', 'transfer', 'log') AND relkind IN ('r', 'p', 'v')
			AND relname NOT LIKE 'river%' AND relname <> 'migrations' AND NOT relispartition
		)
		SELECT '', CASE relkind WHEN 'v' THEN 'VIEW ' ELSE 'TABLE ' END || name || CASE relkind WHEN 'v' THEN ' AS' ELSE ' (' END FROM tables
		UNION ALL SELECT name, attname FROM pg_attribute JOIN tables t ON t.oid = attrelid WHERE attnum > 0 AND NOT attisdropped
			AND relkind <> 'v'
		UNION ALL SELECT name, 'CONSTRAINT ' || conname FROM pg_constraint JOIN tables t ON t.oid = conrelid WHERE contype NOT IN ('n', 't')
		UNION ALL SELECT '', 'INDEX ' || relname || ' ON ' || name FROM pg_index JOIN pg_class c ON c.oid = indexrelid
			JOIN tables t ON t.oid = indrelid
			WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
		UNION ALL SELECT '', 'TRIGGER ' || tgname FROM pg_trigger JOIN tables t ON t.oid = tgrelid WHERE NOT tgisinternal
		UNION ALL SELECT '', 'FUNCTION ' || CASE nspname WHEN 'public' THEN '' ELSE nspname || '.' END || proname || '(' FROM pg_proc
			JOIN pg_namespace n ON n.oid = pronamespace
			WHERE nspname IN ('public', 'identity', 'directory', 'transfer', 'log') AND proname NOT LIKE 'river%'`)
	if err != nil {
		t.Fatal(err)
	}
	type row struct{ Table, Text string }
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	if err != nil || len(all) < 500 {
		t.Fatalf("%d things in the catalogue: %v", len(all), err)
	}
	written, definitions := "", map[string]string{} // without comments; by table, what makes it and changes it
	for _, file := range allFiles(t) {
		written += regexp.MustCompile(`--[^\n]*`).ReplaceAllString(string(file.Data), "")
	}
	written = strings.ReplaceAll(written, "INDEX CONCURRENTLY ", "INDEX ")
	for _, statement := range regexp.MustCompile(`(?m)^(?:CREATE|ALTER) TABLE (\S+)[^;]*;`).FindAllStringSubmatch(written, -1) {
		definitions[statement[1]] += statement[0]
	}
	for _, r := range all {
		found := strings.Contains(written, r.Text)
		if r.Table != "" && found {
			found = regexp.MustCompile(`\b` + r.Text + `\b`).MatchString(definitions[r.Table])
		}
		if !found {
			t.Errorf("%s %q is in the database, not in the files", r.Table, r.Text)
		}
	}
}

// TestGrowingTablesAreVacuumedOften: Postgres vacuums tables that grow after 2 % of their rows have changed, not after a fifth.
func TestGrowingTablesAreVacuumedOften(t *testing.T) {
	t.Parallel()
	conn := pgtest.Connect(t, pgtest.URL(t))
	for _, table := range []string{"transfer.objects", "transfer.transfers", "transfer.deliveries", "transfer.reservations",
		"transfer.search_texts", "identity.id_tokens", "events"} {
		var often bool
		if err := conn.QueryRow(t.Context(),
			`SELECT reloptions @> '{autovacuum_vacuum_scale_factor=0.02,autovacuum_analyze_scale_factor=0.02}'
				FROM pg_class WHERE oid = $1::regclass`,
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

// allFiles returns all migrations by name.
func allFiles(t *testing.T) fstest.MapFS {
	t.Helper()
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	all := fstest.MapFS{}
	for _, name := range names {
		content, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = &fstest.MapFile{Data: content}
	}
	return all
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
