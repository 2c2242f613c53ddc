package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/testkit"
)

// TestOverview: the parts of an installation that works, and of one whose volume is nearly full.
func TestOverview(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, testkit.Space(func(string) (int64, int64, error) { return 1 << 30, 100 << 30, nil }))
	olga, _ := s.SignUpOperator("olga@example.com")
	got := olga.Get(overview).Want(http.StatusOK)
	for part, want := range map[string]string{"database": "ok", "storage": "failed", "mail": "ok", "jobs": "ok", "receipts": "ok",
		"redis": "off", "scanner": "off"} {
		if state := got.String(part + ".state"); state != want {
			t.Errorf("%s is %s, want %s", part, state, want)
		}
	}
	if got.Number("storage.free") != 1<<30 || got.Number("storage.size") != 100<<30 || got.Number("database.maximum") < 4 {
		t.Errorf("the overview is %s", got.Body)
	}
}

// TestOverviewOfRefusedMails: the state of mails is that of their outcome. 43 failed mails are not "ok", in the overview, in doctor and in
// the metrics.
func TestOverviewOfRefusedMails(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	if _, err := s.App.DB.Pool.Exec(t.Context(), `
		INSERT INTO mails (uid, created_at, template, reference, recipient, recipient_name, reply_to, reply_to_name, locale, time_zone, sender,
			data, has_secret, message_id, give_up_at, state, attempts, last_attempt_at, last_answer, finished_at)
		SELECT gen_random_uuid(), $1, 'test', '', 'bob@example.com', '', '', '', 'en_US', '', '{}', '{}', false, 'm' || n, $1, 'failed', 1, $1,
			'550 Relaying denied', $1
		FROM generate_series(1, 43) n`, s.Clock.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(2 * time.Second)
	if got := olga.Get(overview).Want(http.StatusOK); got.String("mail.state") != "failed" || got.Number("mail.failed") != 43 {
		t.Errorf("the overview is %s", got.Body)
	}
	if got := olga.Post(httpapi.OperatorBase+"/doctor", nil).Want(http.StatusOK); !strings.Contains(string(got.Body), `"mails.refused"`) {
		t.Errorf("doctor says %s", got.Body)
	}
	served := scrape(t, s)
	if served["consign_mails_refused"] != 43 || served["consign_mails_failed"] != 43 {
		t.Errorf("the metrics are %v and %v", served["consign_mails_refused"], served["consign_mails_failed"])
	}
}

// TestConsoleDoctor: an operator runs the checks from inside the server. They find a full disk, say nothing secret, and leave out what a
// server that runs proves. A bucket bounds them.
func TestConsoleDoctor(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, limited(), testkit.Space(func(string) (int64, int64, error) { return 1 << 30, 100 << 30, nil }))
	olga, _ := s.SignUpOperator("olga@example.com")
	at := httpapi.OperatorBase + "/doctor"
	got := olga.Post(at, nil).Want(http.StatusOK)
	var body struct {
		Findings []struct{ ID, Severity, Sentence, Advice string }
	}
	got.JSON(&body)
	found := map[string]string{}
	for _, f := range body.Findings {
		found[f.ID] = f.Severity
		if f.Sentence == "" || f.Severity != "ok" && f.Advice == "" && f.ID != "files.unknown" || strings.HasPrefix(f.ID, "migrations") {
			t.Errorf("a finding is %+v", f)
		}
	}
	for id, want := range map[string]string{"storage.full": "error", "public-url.localhost": "hint", "proxy.ok": "ok", "smtp.ok": "ok",
		"listen.ok": "ok", "organization.ok": "ok"} {
		if found[id] != want {
			t.Errorf("%s is %q, want %q: %s", id, found[id], want, got.Body)
		}
	}
	if body.Findings[0].Severity != "error" {
		t.Errorf("the first finding is %+v", body.Findings[0])
	}
	if strings.Contains(string(got.Body), strings.Repeat("a2tr", 4)) { // the kit's secret key
		t.Error("the findings show the secret key")
	}
	for range 4 {
		olga.Post(at, nil).Want(http.StatusOK)
	}
	olga.Post(at, nil).WantError(fault.ErrRateLimited)
}

// TestConsoleDoctorRunsOnce: while the checks run, another run on the same server is refused.
func TestConsoleDoctorRunsOnce(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	olga, _ := s.SignUpOperator("olga@example.com")
	const runs = 4
	statuses := make(chan int, runs)
	for range runs {
		go func() { statuses <- olga.Post(httpapi.OperatorBase+"/doctor", nil).Status }()
	}
	count := map[int]int{}
	for range runs {
		count[<-statuses]++
	}
	if count[http.StatusOK] == 0 || count[http.StatusOK]+count[http.StatusConflict] != runs {
		t.Errorf("the runs were answered %v", count)
	}
	olga.Post(httpapi.OperatorBase+"/doctor", nil).Want(http.StatusOK)
}

// TestSamples: what two replicas count is one sample, also after a restart. Periods in which no server ran are missing, not zero. Logins
// and transfers are counted when a sample has ended.
func TestSamples(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	second := testkit.New(t, testkit.Beside(s))
	olga, _ := s.SignUpOperator("olga@example.com")
	sample := func(of *testkit.Server) {
		t.Helper()
		if err := of.App.Operator.Sample(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// The clock moves to the beginning of a step. What came before counts for another sample.
	s.Clock.Advance(10*time.Minute - s.Clock.Now().Sub(s.Clock.Now().Truncate(10*time.Minute)))
	sample(s)
	sample(second)
	began := s.Clock.Now()
	s.Clock.Advance(time.Minute)
	for range 3 {
		second.Stranger().Get(s.Transfer + "/environment").Want(http.StatusOK)
	}
	addPerson(t, s, "ann@example.com", "")
	signIn(s.Stranger(), "ann@example.com")
	sample(second)
	sample(second)
	s.Clock.Advance(5 * time.Minute)
	sample(s)
	second.Stop()
	second = testkit.New(t, testkit.Beside(s)) // counts from 0
	second.Stranger().Get(s.Transfer + "/nothing").WantError(fault.ErrNotFound)
	sample(second)
	s.Clock.Advance(25 * time.Minute) // two steps without a server
	sample(s)
	s.Clock.Advance(10 * time.Minute)
	olga.Refresh()
	var got struct {
		From, Until string
		Seconds     int64
		Samples     []struct {
			At                                                                 time.Time
			Requests, Errors                                                   int64
			Logins, Deliveries, Mails, Jobs, Free, Database, People, Transfers *int64
		}
	}
	at := httpapi.OperatorBase + "/samples"
	olga.Get(at + "?period=24h").Want(http.StatusOK).JSON(&got)
	if got.Seconds != 600 || len(got.Samples) != 2 && len(got.Samples) != 3 { // 3: the kit's first requests are in the step before
		t.Fatalf("the samples are %+v", got)
	}
	first := got.Samples[len(got.Samples)-2]
	if !first.At.Equal(began) || first.Requests < 4 || first.Errors != 0 || *first.Logins != 1 || *first.Deliveries != 0 ||
		*first.People != 1 || *first.Database < 1<<20 {
		t.Errorf("the first sample is %+v: %d %d %d %d", first, *first.Logins, *first.Deliveries, *first.People, *first.Database)
	}
	if last := got.Samples[len(got.Samples)-1]; !last.At.Equal(began.Add(30*time.Minute)) || last.Requests < 0 {
		t.Errorf("the last sample is %+v", last)
	}
	olga.Get(at + "?period=30d").Want(http.StatusOK)
	olga.Get(at + "?period=1y").WantError(fault.ErrInvalid)
	s.Clock.Advance(32 * 24 * time.Hour)
	if err := s.App.Jobs.RunOnce(t.Context(), "samples-clean"); err != nil {
		t.Fatal(err)
	}
	left, err := database.Scalar[int](t.Context(), s.App.DB.Pool, "count", nil, "SELECT count(*) FROM samples")
	if err != nil || left != 0 {
		t.Errorf("%d samples are left, %v", left, err)
	}
}
