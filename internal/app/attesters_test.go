package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/doctor"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/attester"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/translog"
)

// attesters are a witness and a time stamp service of a server.
type attesters struct {
	server    *testkit.Server
	witness   *attester.Witness
	authority *attester.Authority
}

func newAttesters(t *testing.T) (*attesters, []testkit.Option) {
	t.Helper()
	a := &attesters{authority: attester.NewAuthority(t)}
	a.witness = attester.NewWitness(t, "witness.example/one", func() *translog.Log { return a.server.App.Proofs })
	return a, []testkit.Option{testkit.Env("CONSIGN_LOG_WITNESSES", a.witness.Setting()), testkit.Env("CONSIGN_TSA_URL", a.authority.URL),
		testkit.Env("CONSIGN_ACCESS_TOKEN_LIFETIME", "1h")} // tests let more time pass than the usual ten minutes
}

// entry puts an entry into the log and waits for its checkpoint.
func (a *attesters) entry(t *testing.T) {
	t.Helper()
	pool := a.server.App.DB.Pool
	if _, err := pool.Exec(t.Context(), `INSERT INTO log.pending (entry) VALUES (sha256(gen_random_uuid()::text::bytea))`); err != nil {
		t.Fatal(err)
	}
	a.server.App.Proofs.Wake()
	poll.Until(t, "the entry is in a checkpoint", func() bool {
		var done bool
		err := pool.QueryRow(t.Context(), `SELECT published = size AND NOT EXISTS (SELECT FROM log.pending) FROM log.logs
			WHERE closed_at IS NULL`).Scan(&done)
		return err == nil && done
	})
}

// TestLostAttestersShow: a witness that is lost, and a time stamp service that refuses, show in metrics, doctor and console, and so does
// their return.
func TestLostAttestersShow(t *testing.T) {
	t.Parallel()
	a, options := newAttesters(t)
	s := testkit.New(t, options...)
	a.server = s
	olga, _ := s.SignUpOperator("olga@example.com")
	want := func(witness, stamps bool) {
		t.Helper()
		served := scrape(t, s)
		for name, works := range map[string]bool{"witness.example/one": witness, "time stamp service": stamps} {
			series := `consign_log_attestation_waiting_seconds{attester="` + name + `"}`
			if waits, ok := served[series]; !ok || (waits == 0) != works || !works && waits < 660 {
				t.Errorf("%s is %v, %t", series, waits, ok)
			}
		}
		found := examineWith(t, s.Config, app.DoctorOptions{Now: s.Clock.Now})
		for id, works := range map[string]bool{"log.witness": witness, "log.stamps": stamps} {
			if (found[id].Severity == doctor.Error) == works {
				t.Errorf("doctor says of %s %+v", id, found[id])
			}
		}
		state := map[bool]string{true: "ok", false: "warning"}[witness && stamps]
		if got := olga.Get(overview).Want(http.StatusOK).String("receipts.state"); got != state {
			t.Errorf("the console says %s, want %s", got, state)
		}
		inside := string(olga.Post("/admin/v1/doctor", nil).Want(http.StatusOK).Body)
		if strings.Contains(inside, `"log.witness"`) == witness || strings.Contains(inside, `"log.stamps"`) == stamps ||
			strings.Contains(inside, `"log.ok"`) != (witness && stamps) {
			t.Errorf("doctor in the console says %s", inside)
		}
	}
	attested := func() bool {
		all, err := s.App.Proofs.Attesters(t.Context())
		return err == nil && all[0].Waiting == 0 && all[1].Waiting == 0
	}
	a.entry(t)
	s.Clock.Advance(time.Second)
	poll.Until(t, "the log is attested", attested)
	want(true, true)
	s.Clock.Advance(2 * time.Minute) // the next time stamp is due
	a.witness.Down.Store(true)
	a.authority.Broken.Store(true)
	a.entry(t)
	s.Clock.Advance(11 * time.Minute)
	want(false, false)
	a.witness.Down.Store(false)
	a.authority.Broken.Store(false)
	a.entry(t)
	s.Clock.Advance(2 * time.Minute) // an older checkpoint may have got the time stamp of this minute
	poll.Until(t, "the log is attested again", attested)
	want(true, true)
}
