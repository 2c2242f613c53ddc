package app_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/doctor"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/transfer/content"
)

// TestDamagedFile: wrong bytes on disk are never delivered as complete, also not to a client that continues where it was cut. The log,
// a metric and a refusal tell.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann, second := mailboxOwner(s), testkit.New(t, testkit.Beside(s))
	operator, _ := s.SignUpOperator("oli@example.com")
	data := canaries(1 << 20)
	transfer, object := send(t, s, data)
	damage(t, s, object)
	resp, err := ann.Try(t.Context(), http.MethodGet, object, nil)
	if err == nil && resp.Status == http.StatusOK && len(resp.Body) == len(data) {
		t.Error("wrong bytes were delivered as complete")
	}
	for _, spec := range []string{"bytes=0-", "bytes=524288-", "bytes=-1", "bytes=10-20"} {
		ann.With("Range", spec).Get(object).Want(http.StatusServiceUnavailable)
	}
	ann.Get(object).Want(http.StatusServiceUnavailable)
	ann.At(second).Get(object).Want(http.StatusServiceUnavailable)
	ann.At(second).With("Range", "bytes=10-20").Get(object).Want(http.StatusServiceUnavailable)
	ann.Get(transfer + "/archive").Want(http.StatusServiceUnavailable)
	if got := scrape(t, s)["consign_damaged_files"]; got != 1 {
		t.Errorf("%v damaged files are counted", got)
	}
	if got := operator.Get(overview).Want(http.StatusOK); got.String("storage.state") != "warning" || got.Number("storage.damaged") != 1 {
		t.Errorf("the overview is %s", got.Body)
	}
	if got := operator.Post(httpapi.OperatorBase+"/doctor", nil).Want(http.StatusOK).Body; !bytes.Contains(got, []byte("integrity.damaged")) {
		t.Errorf("doctor says %s", got)
	}
	uid := path.Base(transfer)
	if log := s.Log(); strings.Count(log, `"stored bytes are damaged"`) != 1 || !strings.Contains(log, uid) {
		t.Error("the log does not name the damaged file and its transfer once")
	}
	shown := operator.Get("/admin/v1/storage").Want(http.StatusOK)
	if shown.String("damaged.0.transfers.0.uid") != uid || shown.String("damaged.0.transfers.0.recipients.0") != "ann@example.com" {
		t.Errorf("the console shows %s", shown.Body)
	}

	// A file that stays damaged stays refused; one that was restored is given out again within the hour.
	recheck := func() {
		t.Helper()
		s.Clock.Advance(time.Hour)
		if err := s.App.Jobs.RunOnce(t.Context(), content.RecheckJob); err != nil {
			t.Fatal(err)
		}
		ann.Refresh()
	}
	recheck()
	ann.Get(object).Want(http.StatusServiceUnavailable)
	damage(t, s, object) // the same bit again
	recheck()
	for _, at := range []*testkit.Person{ann, ann.At(second)} {
		if got := at.Get(object).Want(http.StatusOK); !bytes.Equal(got.Body, data) {
			t.Error("the repaired file is not the one that was sent")
		}
	}
}

// TestScrub: damage that nobody meets is found by a check that begins by itself, a month after the last one. An operator can hurry it.
func TestScrub(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := mailboxOwner(s)
	transfer, object := send(t, s, canaries(1<<20))
	ann.Patch(transfer, map[string]any{"pinned": true}).Want(http.StatusOK)
	damage(t, s, object)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := s.App.DB.Pool.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("UPDATE transfer.segments SET lease_until = NULL") // the upload was long ago
	run := func() {
		t.Helper()
		if err := s.App.Jobs.RunOnce(t.Context(), content.ScrubJob); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if list, err := s.App.Content.Checks(t.Context(), 1); err != nil || len(list) > 0 {
		t.Errorf("a check of new files has begun: %v, %v", list, err)
	}
	s.Clock.Advance(30 * 24 * time.Hour)
	ann = ann.Login()
	operator, _ := s.SignUpOperator("oli@example.com")
	checks := func() *testkit.Response { return operator.Get("/admin/v1/storage").Want(http.StatusOK) }
	run()
	poll.Until(t, "the check has ended", func() bool { return checks().String("checks.0.state") == "done" })
	if got := checks(); got.Number("checks.0.findings") != 1 || got.Value("checks.0.scrub") != true || got.String("damaged.0.object") == "" {
		t.Errorf("the check has found %s", got.Body)
	}
	ann.Get(object).Want(http.StatusServiceUnavailable)
	run()
	if got := checks(); got.Value("checks.1") != nil {
		t.Errorf("another check has begun: %s", got.Body)
	}

	uid := id.New[id.StorageCheck]()
	exec("INSERT INTO transfer.storage_checks (uid, started_at, scrub, lease_until) VALUES ($1, now(), true, 'infinity')", uid)
	got := operator.Post("/admin/v1/storage/checks", nil).Want(http.StatusOK)
	if got.String("uid") != uid.String() || got.Value("scrub") != false {
		t.Errorf("the operator got %s", got.Body)
	}
}

// TestScrubOfSmallFiles: a check that begins by itself does not hurry through small files. Each of them costs the database several queries.
func TestScrubOfSmallFiles(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	mailboxOwner(s)
	sam, reservation := reserve(s.Stranger(), "dr-ann", 1)
	sam.Put(reservation+"/objects/a/content", []byte("x")).Want(http.StatusOK)
	const files = 20
	for n := 1; n < files; n++ {
		name := fmt.Sprint(n)
		sam.Post(reservation+"/objects", map[string]any{"clientId": name, "name": name, "intendedSize": 1}).Want(http.StatusCreated)
		sam.Put(reservation+"/objects/"+name+"/content", []byte("x")).Want(http.StatusOK)
	}
	sam.Post(reservation+"/confirm", nil).Want(http.StatusOK)
	s.Clock.Advance(30 * 24 * time.Hour)
	began := time.Now()
	if err := s.App.Jobs.RunOnce(t.Context(), content.ScrubJob); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the check has ended", func() bool {
		list, err := s.App.Content.Checks(t.Context(), 1)
		return err == nil && len(list) == 1 && list[0].State == "done" && list[0].Objects == files
	})
	// 64 files a second, after four at once.
	if took := time.Since(began); took < (files-4)*time.Second/64 {
		t.Errorf("%d files were read within %v", files, took)
	}
}

// TestReadOnlyDatabase: a server whose database cannot be written is not ready, its metric is 0, and doctor says why.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	conn, err := pgx.Connect(t.Context(), s.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	run := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	others := "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
	alter := func(what string) {
		t.Helper()
		run("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I " + what + "', current_database()); END $$")
		run(others)
	}
	alter("SET default_transaction_read_only = on")
	poll.Until(t, "the server is not ready", func() bool {
		r := s.Stranger().Get("/readyz")
		return r.Status == http.StatusServiceUnavailable && strings.Contains(string(r.Body), "read-only")
	})
	if got, ok := scrape(t, s)["consign_database_up"]; !ok || got != 0 {
		t.Error("consign_database_up is 1 while the database cannot be written")
	}
	if f := examineWith(t, s.Config, app.DoctorOptions{Now: s.Clock.Now})["database.read-only"]; f.Severity != doctor.Error {
		t.Errorf("doctor: %+v", f)
	}
	alter("RESET default_transaction_read_only")
	poll.Until(t, "the server is ready", func() bool { return s.Stranger().Get("/readyz").Status == http.StatusOK })
}

// TestLostFile: a file that the disk has lost is named in the log and refused, and is no failure of the server.
func TestLostFile(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	ann := mailboxOwner(s)
	transfer, object := send(t, s, canaries(200_000))
	if err := os.Remove(stored(t, s, object)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		ann.Get(object).Want(http.StatusServiceUnavailable)
	}
	if !strings.Contains(s.Log(), `"stored bytes are damaged"`) {
		t.Error("the log does not name the lost file")
	}
	ann.Delete(transfer).Want(http.StatusNoContent)
	ann.Get(object).Want(http.StatusNotFound)
}

// TestReadyOutlivesItsClient: a client that leaves while readyz writes does not make the server unready for others.
func TestReadyOutlivesItsClient(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	s.Stranger().Get("/readyz").Want(http.StatusOK)
	tx, err := s.App.DB.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context()) //nolint:errcheck // rolled back below, or the test has failed
	if _, err := tx.Exec(t.Context(), "SELECT FROM settings WHERE name = 'health' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // the next request writes
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if r, err := s.Stranger().Try(ctx, http.MethodGet, "/readyz", nil); err == nil {
		t.Errorf("readyz answered %d while its row was locked", r.Status)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Stranger().Get("/readyz").Want(http.StatusOK)
}
