// Tests of consign selftest: what it leaves behind, also after a kill, and two at a time.

package main

import (
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer/content"
)

// remains are the tables in which a self-test leaves rows, and what they are. None limits anybody.
var remains = map[string]string{
	"public.audit": "who ran it", "public.mails": "not sent, gone after their retention", "log.": "hashes of statements",
	"transfer.receipts": "the same",
	"transfer.erasing":  "waits for the statement of the erasure", "identity.persons": "an empty row",
	"public.event_feeds": "of the deleted person", "public.events": "the same",
	"public.river": "done jobs", "transfer.volumes": "of the deleted person", "transfer.daily_mailbox_mails": "of the deleted mailbox",
	"transfer.stored_volumes": "0 bytes", "transfer.volume_advances": "of no volume",
	"transfer.upload_confirmations": "of the stranger's address", "public.revo": "ended tokens", "public.idempotency": "answers, for a day",
}

// rowsOf counts the rows of all tables.
func rowsOf(t *testing.T, conn *pgx.Conn) map[string]int64 {
	t.Helper()
	rows, _ := conn.Query(t.Context(), `
		SELECT schemaname || '.' || tablename AS name,
			(xpath('/row/n/text()', query_to_xml(format('SELECT count(*) AS n FROM %I.%I', schemaname, tablename), false, true,
				'')))[1]::text::bigint AS n
		FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`)
	type table struct {
		Name string
		N    int64
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[table])
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	for _, r := range list {
		counts[r.Name] = r.N
	}
	return counts
}

// nothingLeft waits until all tables but those of remains have as many rows as before, and no file is stored.
func nothingLeft(t *testing.T, s *testkit.Server, before map[string]int64) {
	t.Helper()
	conn := pgtest.Connect(t, s.DatabaseURL)
	var more []string
	defer func() {
		if len(more) > 0 {
			t.Errorf("left: %v", more)
		}
	}()
	poll.Until(t, "everything is removed", func() bool {
		more = nil
		for _, job := range []string{content.PurgeBytesJob, content.ReleaseVolumesJob} { // which run each minute
			if err := s.App.Jobs.RunOnce(t.Context(), job); err != nil {
				t.Fatal(err)
			}
		}
		var stored int64
		if err := conn.QueryRow(t.Context(), `SELECT coalesce(sum(bytes + reserved), 0)::bigint FROM transfer.stored_totals`).Scan(
			&stored); err != nil {
			t.Fatal(err)
		}
		if stored != 0 {
			more = append(more, "stored volume")
		}
		for name, n := range rowsOf(t, conn) {
			if n > before[name] && !slices.ContainsFunc(slices.Collect(maps.Keys(remains)),
				func(r string) bool { return strings.HasPrefix(name, r) }) {
				more = append(more, name)
			}
		}
		_ = filepath.WalkDir(filepath.Join(s.DataDir, "objects"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.Contains(path, "log") {
				more = append(more, path)
			}
			return nil
		})
		return len(more) == 0
	})
}

func selftestServer(t *testing.T, options ...testkit.Option) (s *testkit.Server, environ []string, before map[string]int64) {
	t.Helper()
	s = testkit.New(t, options...)
	environ = append(external(t, s.DatabaseURL), "CONSIGN_PUBLIC_URL="+s.URL, "USER=olga")
	return s, environ, rowsOf(t, pgtest.Connect(t, s.DatabaseURL))
}

// TestSelftest does the main job against a running server, tells each step, and leaves nothing but the audit.
func TestSelftest(t *testing.T) {
	t.Parallel()
	s, environ, before := selftestServer(t)
	out, _, err := consign(t.Context(), environ, "selftest", "--json")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var report struct {
		OK    bool
		URL   string
		Bytes int
		Steps []selftestStep
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || !report.OK || report.URL != s.URL || report.Bytes != 5_000_000 ||
		len(report.Steps) != 10 {
		t.Errorf("%v: %s", err, out)
	}
	nothingLeft(t, s, before)
	for range 2 { // again at once
		out, _, err := consign(t.Context(), environ, "selftest", "--mb", "1")
		if err != nil || strings.Count(out, " ms\n") != 10 || !strings.Contains(out, "download and compare") {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	nothingLeft(t, s, before)
	audited := runOperator(t, environ)("audit")
	if strings.Count(audited, "installation.selftest") != 3 || !strings.Contains(audited, "olga") ||
		!strings.Contains(audited, "result=passed") {
		t.Errorf("the audit:\n%s", audited)
	}
	conn := pgtest.Connect(t, s.DatabaseURL)
	poll.Until(t, "its mails are dropped", func() bool {
		var open, dropped int
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE state <> 'cancelled'), count(*) FROM mails`).Scan(&open,
			&dropped); err != nil {
			t.Fatal(err)
		}
		return open == 0 && dropped >= 3
	})
	if n := len(s.Mail.To(selftestAddress)) + len(s.Mail.To("stranger@selftest.invalid")); n > 0 {
		t.Errorf("%d mails went out", n)
	}
}

// cancelling cancels a context when a text is written to it.
type cancelling struct {
	mu     sync.Mutex
	text   strings.Builder
	at     string
	cancel context.CancelFunc
}

// Write implements io.Writer.
func (c *cancelling) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.Write(p)
	if strings.Contains(c.text.String(), c.at) {
		c.cancel()
	}
	return len(p), nil
}

// TestSelftestInterrupted: a self-test that ends after any step, as by Ctrl-C, leaves nothing.
func TestSelftestInterrupted(t *testing.T) {
	t.Parallel()
	s, environ, before := selftestServer(t)
	for _, at := range []string{"create a person", "create a mailbox", "reserve as a stranger", "upload", "confirm", "find it in the inbox"} {
		ctx, cancel := context.WithCancel(t.Context())
		out := &cancelling{at: at, cancel: cancel}
		err := run(ctx, []string{"selftest", "--mb", "1"}, environ, out, out)
		if err == nil || !strings.Contains(out.text.String(), "remove everything") ||
			strings.Contains(out.text.String(), "remove everything          FAILED") {
			t.Errorf("after %q: %v\n%s", at, err, out.text.String())
		}
		cancel()
		nothingLeft(t, s, before)
	}
	if audited := runOperator(t, environ)("audit"); !strings.Contains(audited, "result=failed") {
		t.Errorf("the audit:\n%s", audited)
	}
}

// TestSelftestFails: a self-test that does not reach the server, or whose uploads are refused, says so and leaves nothing.
func TestSelftestFails(t *testing.T) {
	t.Parallel()
	s, environ, before := selftestServer(t, testkit.Space(func(string) (int64, int64, error) { return 1, 100 << 30, nil }))
	out, _, err := consign(t.Context(), environ, "selftest", "--json")
	if err == nil || !strings.Contains(err.Error(), "503001") || !strings.Contains(out, `"ok": false`) {
		t.Errorf("without space: %v\n%s", err, out)
	}
	nothingLeft(t, s, before)
	for _, wrong := range []string{"0", "1000", "x"} {
		if _, _, err := consign(t.Context(), environ, "selftest", "--mb", wrong); err == nil {
			t.Errorf("--mb %s is accepted", wrong)
		}
	}
}

// TestSelftestAlone: one self-test runs at a time; what a killed one has left goes once it is old.
func TestSelftestAlone(t *testing.T) {
	t.Parallel()
	s, environ, before := selftestServer(t)
	do := runOperator(t, environ)
	do("person", "create", selftestAddress)
	do("mailbox", "create", selftestAddress)
	if _, _, err := consign(t.Context(), environ, "selftest", "--mb", "1"); err == nil ||
		!strings.Contains(err.Error(), "another self-test runs") {
		t.Errorf("beside another one: %v", err)
	}
	if out := do("person", "show", selftestAddress); !strings.Contains(out, selftestAddress) {
		t.Errorf("the other one's person is gone: %s", out)
	}
	if _, err := pgtest.Connect(t, s.DatabaseURL).Exec(t.Context(), `UPDATE identity.persons SET created_at = $1`,
		time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	do("selftest", "--mb", "1")
	nothingLeft(t, s, before)
}
