package mail_test

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/testkit/clock"
	"github.com/consign-dev/consign/internal/testkit/output"
)

// replica is one server process that sends mail.
type replica struct {
	t      testing.TB
	db     *database.DB
	runner *jobs.Runner
	mailer *mail.Mailer
	log    *output.Buffer
	clock  *clock.Manual
}

func newReplica(t testing.TB, url string, transport mail.Transport, o mail.Options) *replica {
	t.Helper()
	db, err := database.New(t.Context(), url, 6)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	sealer, catalog := mail.Parts(t)
	r := &replica{t: t, db: db, log: &output.Buffer{}, clock: clock.New()}
	log := slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r.runner = jobs.New(db, jobs.Options{
		Log: log, NoPeriodic: true, Workers: 8, PollInterval: 100 * time.Millisecond, JobTimeout: 2 * time.Minute, StopWithin: 10 * time.Second,
	})
	if o.From == "" {
		o.From = "no-reply@example.org"
	}
	o.ProductName = cmp.Or(o.ProductName, "Consign")
	if o.FirstRetry == 0 {
		o.FirstRetry = time.Millisecond
	}
	if r.mailer, err = mail.New(db, r.runner, sealer, catalog, transport, o, r.clock.Now, log); err != nil {
		t.Fatal(err)
	}
	return r
}

// run runs the jobs until the returned function is called or the test ends.
func (r *replica) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.runner.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("Run: %v", err)
		}
	})
	r.t.Cleanup(stop)
	return stop
}

func verify(to string) mail.Message {
	return mail.Message{
		To: to, Locale: "de_DE", TimeZone: "Europe/Berlin", Template: mail.VerifyEmail, Reference: "ref-" + to,
		Data:   map[string]any{"address": to, "expiresAt": time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)},
		Secret: map[string]string{"link": link},
	}
}

func (r *replica) queue(msgs ...mail.Message) []id.Mail {
	r.t.Helper()
	var uids []id.Mail
	err := r.db.InTx(r.t.Context(), func(tx database.Tx) (err error) {
		uids, err = r.mailer.QueueAll(r.t.Context(), tx, msgs)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return uids
}

func (r *replica) get(uid id.Mail) mail.Mail {
	r.t.Helper()
	list, err := r.mailer.List(r.t.Context(), mail.Filter{})
	if err != nil {
		r.t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(m mail.Mail) bool { return m.UID == uid })
	if i < 0 {
		r.t.Fatalf("mail %s is not listed", uid)
	}
	return list[i]
}

// await waits until a mail satisfies ok and returns it.
func (r *replica) await(uid id.Mail, what string, ok func(mail.Mail) bool) mail.Mail {
	r.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		m := r.get(uid)
		if ok(m) {
			return m
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("mail did not become %s: %+v\n%s", what, m, r.log)
		}
	}
}

func (r *replica) awaitState(uid id.Mail, state string) mail.Mail {
	r.t.Helper()
	return r.await(uid, state, func(m mail.Mail) bool { return m.State == state })
}

func (r *replica) exec(statements ...string) {
	r.t.Helper()
	for _, sql := range statements {
		if _, err := r.db.Pool.Exec(r.t.Context(), sql); err != nil {
			r.t.Fatal(err)
		}
	}
}

// contents returns the data and the secret in the row of a mail.
func (r *replica) contents(uid id.Mail) (data string, sealed bool) {
	r.t.Helper()
	err := r.db.Pool.QueryRow(r.t.Context(), `SELECT data::text, secret IS NOT NULL FROM mails WHERE uid = $1`, uid).Scan(&data, &sealed)
	if err != nil {
		r.t.Fatal(err)
	}
	return data, sealed
}

func smtpTo(t testing.TB, s *server) mail.Transport {
	t.Helper()
	transport, err := mail.NewSMTP(s.url())
	if err != nil {
		t.Fatal(err)
	}
	return transport
}

// idle waits until no job is due. Jobs that found a mail leased by another job are scheduled for later.
func (r *replica) idle() {
	r.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var n int
		err := r.db.Pool.QueryRow(r.t.Context(),
			`SELECT count(*) FROM river_job WHERE state IN ('available', 'running', 'pending')`).Scan(&n)
		if err != nil {
			r.t.Fatal(err)
		}
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%d jobs still wait", n)
		}
	}
}
