// Tests of checks of the storage that an operator starts in the console.

package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer/content"
)

const storage = httpapi.OperatorBase + "/storage"

// delivered sends a file of that content to dr-ann's mailbox, and returns the path of the file in the storage.
func delivered(t *testing.T, s *testkit.Server, text string) string {
	t.Helper()
	sam, reservation := reserve(s.Stranger(), "dr-ann", len(text))
	sam.Put(reservation+"/objects/a/content", text).Want(http.StatusOK)
	sam.Post(reservation+"/confirm", nil).Want(http.StatusOK)
	var newest string
	if err := s.App.DB.Pool.QueryRow(t.Context(), "SELECT uid::text FROM transfer.objects ORDER BY uid DESC LIMIT 1").Scan(
		&newest); err != nil {
		t.Fatal(err)
	}
	var found string
	err := filepath.WalkDir(s.DataDir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(path, newest) {
			found = path
		}
		return err
	})
	if err != nil || found == "" {
		t.Fatalf("the file of %s is not found: %v", newest, err)
	}
	return found
}

// checked returns a check once it has ended.
func checked(t *testing.T, olga *testkit.Person, uid string) *testkit.Response {
	t.Helper()
	var got *testkit.Response
	poll.Until(t, "the check ends", func() bool {
		got = olga.Get(storage + "/checks/" + uid).Want(http.StatusOK)
		return got.String("state") != "running"
	})
	return got
}

// TestStorageChecks: a check of all files finds what is lost and damaged, without names of files. Parallel starts are one check. The list
// has it.
func TestStorageChecks(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Env("CONSIGN_STORAGE_ENCRYPTION", "off"))
	olga, _ := s.SignUpOperator("olga@example.com")
	mailboxOwner(s)
	delivered(t, s, "a good file")
	lost, damaged := delivered(t, s, "a lost file"), delivered(t, s, "a damaged file")
	if err := os.Remove(lost); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(damaged, []byte("a DAMAGED file"), 0o600); err != nil {
		t.Fatal(err)
	}
	// else they count as held for another second
	if _, err := s.App.DB.Pool.Exec(t.Context(), "UPDATE transfer.segments SET lease_until = NULL"); err != nil {
		t.Fatal(err)
	}
	starts := make(chan string, 4)
	for range cap(starts) {
		go func() { starts <- olga.Post(storage+"/checks", nil).Want(http.StatusOK).String("uid") }()
	}
	uids := map[string]bool{}
	for range cap(starts) {
		uids[<-starts] = true
	}
	kinds := map[string]bool{}
	for uid := range uids { // one, or more if the first has ended before the last start
		got := checked(t, olga, uid)
		if got.String("state") != "done" || got.Number("objects") != 3 || got.Number("total") != 3 || got.Number("findings") != 2 ||
			got.Value("sweepOff") != false {
			t.Errorf("the check is %s", got.Body)
		}
		for _, p := range got.Value("problems").([]any) {
			kinds[p.(map[string]any)["kind"].(string)] = true
		}
	}
	if !kinds["lost"] || !kinds["damaged"] || len(kinds) != 2 {
		t.Errorf("the problems are %v", kinds)
	}
	all := olga.Get(storage).Want(http.StatusOK)
	if all.Number("objects") != 3 || all.Number("bytes") != 36 || all.Value("encryption") != false || all.Number("encryptedObjects") != 0 ||
		all.String("checks.0.state") != "done" {
		t.Errorf("the storage is %s", all.Body)
	}
	if n, err := audit.List(t.Context(), s.App.DB.Pool, audit.Filter{Action: "storage.check"}); err != nil || len(n) != len(uids) ||
		n[0].Person.IsZero() {
		t.Errorf("the audit has %v, %v", n, err)
	}
	olga.Get(storage + "/checks/" + id.New[id.StorageCheck]().String()).WantError(fault.ErrNotFound)
	olga.Post(storage+"/checks/x/cancel", nil).WantError(fault.ErrNotFound)
}

// TestStorageCheckResumes: a check whose server was killed goes on where it was, once its lease has ended. One that is cancelled ends.
func TestStorageCheckResumes(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	mailboxOwner(s)
	for range 3 {
		delivered(t, s, "a file")
	}
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := s.App.DB.Pool.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	// What a killed server leaves: a lease, and a check that has compared two of three objects.
	killed := id.New[id.StorageCheck]().String()
	exec(`INSERT INTO transfer.storage_checks (uid, started_at, total, compared, objects, bytes, findings, problems, epoch, lease_until)
		SELECT $1, now(), 3, (SELECT uid FROM transfer.objects ORDER BY uid OFFSET 1 LIMIT 1), 2, 12, 1,
			'[{"kind": "lost", "object": "00000000-0000-7000-8000-000000000001", "detail": "found before"}]', 7,
				clock_timestamp() + interval '1 hour'`, killed)
	resume := func() {
		t.Helper()
		if err := s.App.Jobs.RunOnce(t.Context(), content.ResumeChecksJob); err != nil {
			t.Fatal(err)
		}
	}
	resume()
	if got := olga.Post(storage+"/checks", nil).Want(http.StatusOK).String("uid"); got != killed {
		t.Errorf("a second check runs: %s", got)
	}
	exec("UPDATE transfer.storage_checks SET lease_until = clock_timestamp() - interval '1 second'")
	resume()
	resume() // a job too many
	got := checked(t, olga, killed)
	if got.String("state") != "done" || got.Number("objects") != 3 || got.Number("bytes") != 18 || got.Number("findings") != 1 ||
		got.String("problems.0.detail") != "found before" {
		t.Errorf("the check is %s", got.Body)
	}
	cancelled := id.New[id.StorageCheck]().String()
	exec(`INSERT INTO transfer.storage_checks (uid, started_at, epoch, lease_until) VALUES ($1, now(), 1, clock_timestamp() + interval '1 hour')`, cancelled)
	for range 2 {
		if state := olga.Post(storage+"/checks/"+cancelled+"/cancel", nil).Want(http.StatusOK).String("state"); state != "cancelled" {
			t.Errorf("a cancelled check is %s", state)
		}
	}
	if n, err := audit.List(t.Context(), s.App.DB.Pool, audit.Filter{Action: "storage.check.cancel"}); err != nil || len(n) != 1 ||
		n[0].Object != cancelled || n[0].Person.IsZero() {
		t.Errorf("the audit has %v, %v", n, err)
	}
	resume()
}

// TestStorageAccept: after a restore an operator accepts the storage, for a reason. Parallel calls are no errors.
func TestStorageAccept(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	if err := s.App.Jobs.RunOnce(t.Context(), content.SweepOrphansJob); err != nil { // makes the mark
		t.Fatal(err)
	}
	if _, err := s.App.DB.Pool.Exec(t.Context(),
		`UPDATE settings SET value = jsonb_set(value::jsonb, '{current}', '"another"') WHERE name = 'transfer-storage'`); err != nil {
		t.Fatal(err)
	}
	if olga.Get(storage).Want(http.StatusOK).Value("sweepOff") != true {
		t.Error("the marks are said to agree")
	}
	olga.Post(storage+"/accept", map[string]any{}).WantError(fault.ErrInvalid)
	answers := make(chan int, 4)
	for range cap(answers) {
		go func() { answers <- olga.Post(storage+"/accept", map[string]any{"reason": "Restored, ticket 7"}).Status }()
	}
	for range cap(answers) {
		if status := <-answers; status != http.StatusNoContent {
			t.Errorf("accepting answered %d", status)
		}
	}
	if olga.Get(storage).Want(http.StatusOK).Value("sweepOff") != false {
		t.Error("the storage is not accepted")
	}
	// A check can find what the marks do not show. Only one that is newer than the acceptance counts.
	for started, want := range map[string]bool{"1 hour": true, "-1 hour": false} {
		if _, err := s.App.DB.Pool.Exec(t.Context(), `DELETE FROM transfer.storage_checks`); err != nil {
			t.Fatal(err)
		}
		if _, err := s.App.DB.Pool.Exec(t.Context(), `INSERT INTO transfer.storage_checks (uid, started_at, finished_at, state, sweep_off)
			VALUES (gen_random_uuid(), now() + $1::interval, now(), 'done', true)`, started); err != nil {
			t.Fatal(err)
		}
		if got := olga.Get(storage).Want(http.StatusOK).Value("sweepOff"); got != want {
			t.Errorf("with a check of %s from now sweepOff is %v", started, got)
		}
	}
	entries, err := audit.List(t.Context(), s.App.DB.Pool, audit.Filter{Action: "storage.accept"})
	if err != nil || len(entries) != 4 || entries[0].Person.IsZero() || entries[0].Details["why"] != "Restored, ticket 7" {
		t.Errorf("the audit has %v, %v", entries, err)
	}
}
