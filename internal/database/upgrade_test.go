// Tests of data that a migration changes.

package database_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// changed are the columns that migrations change on purpose, by table.
var changed = map[string]string{}

// TestUpgradeKeepsData applies the migrations one by one. After each step testdata/upgrade adds the rows of an installation of that
// age. At the end every value of every row must still be there, and a server must work with them. A migration that changes old values
// on purpose needs an exception here.
func TestUpgradeKeepsData(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	conn := pgtest.Connect(t, url)
	versions, err := database.MigrationVersions(t.Context(), url)
	if err != nil || len(versions) == 0 {
		t.Fatalf("versions %v, %v", versions, err)
	}
	before := map[string][]string{}
	for _, version := range versions {
		if err := database.MigrateFilesTo(t.Context(), url, version); err != nil {
			t.Fatalf("migrate from %d to %d with data: %v", version-1, version, err)
		}
		seed, err := os.ReadFile(fmt.Sprintf("testdata/upgrade/%04d.sql", version))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), string(seed), pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("testdata/upgrade/%04d.sql: %v", version, err)
		}
		for table, rows := range contents(t, conn) {
			if _, known := before[table]; !known { // the rows at the first step that has the table
				before[table] = rows
			}
			if len(before[table]) == 0 {
				t.Errorf("testdata/upgrade/%04d.sql adds no row to the new table %s", version, table)
			}
		}
	}
	if err := database.Migrate(t.Context(), url, discard()); err != nil {
		t.Fatal(err)
	}
	if pending, err := open(t, url).Pending(t.Context()); err != nil || pending {
		t.Errorf("Pending = %v, %v", pending, err)
	}
	for table, rows := range before {
		for _, row := range rows {
			var kept bool
			if err := conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM `+table+` t WHERE to_jsonb(t) @> $1::jsonb - $2)`, row,
				changed[table]).Scan(&kept); err != nil {
				t.Errorf("look for a row of %s: %v", table, err)
			} else if !kept {
				t.Errorf("%s lost or changed %s", table, row)
			}
		}
	}
	work(t, url)
}

// contents returns every row of every table of Consign as JSON, by table.
func contents(t *testing.T, conn *pgx.Conn) map[string][]string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `
		SELECT format('%I.%I', nspname, relname) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
		WHERE relkind IN ('r', 'p') AND nspname IN ('public', 'identity', 'transfer', 'directory')
		AND relname NOT LIKE 'river%' AND relname <> 'migrations'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, table := range tables {
		rows, err := conn.Query(t.Context(), `SELECT to_jsonb(t)::text FROM `+table+` t`)
		if err != nil {
			t.Fatal(err)
		}
		if all[table], err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// work logs Ann in to a server on the upgraded database, and reads and reserves.
func work(t *testing.T, url string) {
	t.Helper()
	storage := t.TempDir() // the server does not create these directories for existing rows; the files of the rows are missing
	for _, name := range []string{"uploads", "objects"} {
		if err := os.Mkdir(filepath.Join(storage, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := testkit.New(t, testkit.Through(url), testkit.Env("CONSIGN_STORAGE_URL", "file://"+storage))
	var token struct{ Token string }
	decode := func(r *testkit.Response, dst any) {
		t.Helper()
		if err := json.Unmarshal(r.Want(200).Body, dst); err != nil {
			t.Fatal(err)
		}
	}
	decode(s.Stranger().Post(s.Identity+"/auth/login",
		map[string]string{"email": "ann@example.com", "type": "bcrypt", "key": "the tide is out at noon"}), &token)
	decode(s.Stranger().As(token.Token).Post(s.Identity+"/auth/access", nil), &token)
	ann := s.Stranger().As(token.Token)
	var list struct {
		Transfers []struct {
			UID, Subject string
			Objects      []struct{ Name string }
		}
	}
	decode(ann.Get(s.Transfer+"/transfers?location=received"), &list)
	if len(list.Transfers) != 1 || list.Transfers[0].Subject != "Plans" || list.Transfers[0].Objects[0].Name != "plans.pdf" {
		t.Errorf("Ann's inbox: %+v", list)
	}
	ann.Get(s.Identity + "/profile").Want(200)
	ann.Get(s.Identity + "/organizations/00000000-0000-7000-8000-000000000002/members").Want(200)
	ann.Get(s.Transfer + "/mailboxgroups").Want(200)
	s.Stranger().Get(s.Transfer + "/public/mailbox/ann").Want(200)
	s.Stranger().Post(s.Transfer+"/public/mailbox/ann", map[string]string{"anonSender": "Sam", "anonEmail": "sam@example.com"}).Want(201)
}
