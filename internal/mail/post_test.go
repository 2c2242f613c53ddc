package mail_test

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
)

// post is one server process that sends mail.
type post struct {
	t      testing.TB
	db     *database.DB
	runner *jobs.Runner
	mailer *mail.Mailer
	log    *buffer

	mu  sync.Mutex
	now time.Time
}

// buffer is a log that is safe for concurrent use.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newPost(t testing.TB, url string, transport mail.Transport, o mail.Options) *post {
	t.Helper()
	db, err := database.New(t.Context(), url, 6)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	sealer, err := seal.New(bytes.Repeat([]byte{7}, 32), nil)
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := i18n.New()
	if err != nil {
		t.Fatal(err)
	}
	p := &post{t: t, db: db, log: &buffer{}, now: time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)}
	log := slog.New(slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p.runner = jobs.New(db, jobs.Options{
		Log: log, NoPeriodic: true, Workers: 8, PollInterval: 100 * time.Millisecond, JobTimeout: 2 * time.Minute, StopWithin: 10 * time.Second,
	})
	if o.From == "" {
		o.From = "no-reply@example.org"
	}
	o.ProductName = cmp.Or(o.ProductName, "Consign")
	if o.FirstRetry == 0 {
		o.FirstRetry = time.Millisecond
	}
	if p.mailer, err = mail.New(db, p.runner, sealer, catalog, transport, o, p.clock, log); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *post) clock() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

func (p *post) advance(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = p.now.Add(d)
}

// run runs the jobs until the returned function is called or the test ends.
func (p *post) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.runner.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			p.t.Errorf("Run: %v", err)
		}
	})
	p.t.Cleanup(stop)
	return stop
}

func verify(to string) mail.Message {
	return mail.Message{
		To: to, Locale: "de_DE", TimeZone: "Europe/Berlin", Template: mail.VerifyEmail, Reference: "ref-" + to,
		Data:   map[string]any{"address": to, "expiresAt": time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)},
		Secret: map[string]string{"link": link},
	}
}

func (p *post) queue(msgs ...mail.Message) []id.Mail {
	p.t.Helper()
	var uids []id.Mail
	err := p.db.InTx(p.t.Context(), func(tx database.Tx) (err error) {
		uids, err = p.mailer.QueueAll(p.t.Context(), tx, msgs)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return uids
}

func (p *post) get(uid id.Mail) mail.Mail {
	p.t.Helper()
	list, err := p.mailer.List(p.t.Context(), mail.Filter{})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, m := range list {
		if m.UID == uid {
			return m
		}
	}
	p.t.Fatalf("mail %s is not listed", uid)
	panic("unreachable")
}

// await waits until a mail satisfies ok and returns it.
func (p *post) await(uid id.Mail, what string, ok func(mail.Mail) bool) mail.Mail {
	p.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		m := p.get(uid)
		if ok(m) {
			return m
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("mail did not become %s: %+v\n%s", what, m, p.log)
		}
	}
}

func (p *post) awaitState(uid id.Mail, state string) mail.Mail {
	p.t.Helper()
	return p.await(uid, state, func(m mail.Mail) bool { return m.State == state })
}

// contents returns the data and the secret in the row of a mail.
func (p *post) contents(uid id.Mail) (data string, sealed bool) {
	p.t.Helper()
	err := p.db.Pool.QueryRow(p.t.Context(), `SELECT data::text, secret IS NOT NULL FROM mails WHERE uid = $1`, uid).Scan(&data, &sealed)
	if err != nil {
		p.t.Fatal(err)
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
func (p *post) idle() {
	p.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var n int
		err := p.db.Pool.QueryRow(p.t.Context(),
			`SELECT count(*) FROM river_job WHERE state IN ('available', 'running', 'pending')`).Scan(&n)
		if err != nil {
			p.t.Fatal(err)
		}
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%d jobs still wait", n)
		}
	}
}
