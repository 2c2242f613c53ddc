package mail_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// The mail server stores the mail but answers with an error, twice. Before the third attempt the Consign process is
// restarted with another configuration. All attempts send the same bytes.
func TestAttemptsSendTheSameMail(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	s.answer(nil, func(try int) error {
		if try <= 2 {
			return refuse(451, fmt.Sprintf("later, %d", try))(try)
		}
		return nil
	})
	url := pgtest.URL(t)
	first := newReplica(t, url, smtpTo(t, s), mail.Options{ProductName: "Before", SupportContact: "help@example.org"})
	stop := first.run()
	uid := first.queue(verify("ann@example.org"))[0]
	m := first.await(uid, "tried once", func(m mail.Mail) bool { return m.Attempts >= 1 && m.LastAnswer != "" })
	if m.State != mail.Queued || !strings.Contains(m.LastAnswer, "451 4.1.1 later") || m.NextAttemptAt == nil {
		t.Errorf("listed as %+v", m)
	}
	stop()
	second := newReplica(t, url, smtpTo(t, s), mail.Options{ProductName: "After", From: "other@example.com"})
	second.clock.Advance(time.Hour)
	second.run()
	m = second.awaitState(uid, mail.Sent)
	got := s.mails()
	if len(got) != 3 || m.Attempts != 3 {
		t.Fatalf("%d mails, %d attempts, want 3", len(got), m.Attempts)
	}
	for _, again := range got[1:] {
		if again != got[0] {
			t.Errorf("not the same:\n%s", cmp.Diff(got[0].raw, again.raw))
		}
	}
	if header(got[0].raw, "From") != `"Before" <no-reply@example.org>` {
		t.Errorf("From %q", header(got[0].raw, "From"))
	}
}

func TestPermanentRefusal(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	s.answer(refuse(550, "no such user"), nil)
	var reported []mail.Mail
	fail := true
	r := newReplica(t, pgtest.URL(t), smtpTo(t, s), mail.Options{
		OnFailed: func(ctx context.Context, tx database.Tx, m mail.Mail) error {
			if fail { // the first call rolls the transaction back, so the mail is not marked
				fail = false
				return errors.New("no connection")
			}
			reported = append(reported, m)
			_, err := tx.Exec(ctx, `INSERT INTO settings (name, value, updated_at) VALUES ('reported', '1', now())`)
			return err
		},
	})
	r.run()
	uid := r.queue(verify("nobody@example.org"))[0]
	m := r.awaitState(uid, mail.Failed)
	if !strings.Contains(m.LastAnswer, "550 5.1.1 no such user") || m.FinishedAt == nil || m.NextAttemptAt != nil || m.Attempts != 2 {
		t.Errorf("listed as %+v", m)
	}
	if len(reported) != 1 || reported[0].UID != uid || reported[0].Reference != "ref-nobody@example.org" ||
		reported[0].To != "nobody@example.org" || reported[0].State != mail.Failed {
		t.Errorf("OnFailed got %+v", reported)
	}
	if data, sealed := r.contents(uid); sealed || data != "{}" {
		t.Errorf("a mail that cannot be sent again without its link keeps data %s, link %t", data, sealed)
	}
	if err := r.mailer.Retry(t.Context(), uid); !errors.Is(err, mail.ErrNoSecret) {
		t.Errorf("Retry = %v", err)
	}
}

// A temporary failure becomes final when the mail is older than GiveUpAfter.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	s.answer(refuse(450, "busy"), nil)
	r := newReplica(t, pgtest.URL(t), smtpTo(t, s), mail.Options{GiveUpAfter: time.Hour})
	r.run()
	notice := mail.Message{To: "ann@example.org", Template: mail.PasswordChanged, Data: map[string]any{"at": r.clock.Now()}}
	uid := r.queue(notice)[0]
	r.await(uid, "tried twice", func(m mail.Mail) bool { return m.Attempts >= 2 })
	r.clock.Advance(time.Hour)
	m := r.awaitState(uid, mail.Failed)
	if !strings.Contains(m.LastAnswer, "450 4.1.1 busy") {
		t.Errorf("listed as %+v", m)
	}
	// The operator repairs the server and retries the mail. The mail had no link, so its data was kept.
	s.answer(nil, nil)
	if err := r.mailer.Retry(t.Context(), uid); err != nil {
		t.Fatal(err)
	}
	r.awaitState(uid, mail.Sent)
	if err := r.mailer.Retry(t.Context(), uid); !errors.Is(err, mail.ErrFinished) {
		t.Errorf("Retry = %v", err)
	}
	if err := r.mailer.Retry(t.Context(), id.New[id.Mail]()); !errors.Is(err, mail.ErrNotFound) {
		t.Errorf("Retry = %v", err)
	}
}

// A mail with many jobs on two servers is sent once.
func TestOneMailPerRow(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	url := pgtest.URL(t)
	a, b := newReplica(t, url, smtpTo(t, s), mail.Options{}), newReplica(t, url, smtpTo(t, s), mail.Options{})
	uid := a.queue(verify("ann@example.org"))[0]
	for range 10 {
		if err := a.mailer.Retry(t.Context(), uid); err != nil {
			t.Fatal(err)
		}
	}
	a.run()
	b.run()
	a.awaitState(uid, mail.Sent)
	a.idle()
	if got := s.mails(); len(got) != 1 {
		t.Errorf("%d mails were sent", len(got))
	}
}

// An attempt that takes longer than the lease keeps it: no other server sends the mail meanwhile.
func TestLeaseIsRenewed(t *testing.T) {
	t.Parallel()
	slow := make(slowTransport)
	url := pgtest.URL(t)
	a := newReplica(t, url, slow, mail.Options{Lease: 400 * time.Millisecond})
	uid := a.queue(verify("ann@example.org"))[0]
	a.run()
	<-slow // the attempt has begun
	b := newReplica(t, url, slow, mail.Options{})
	for range 12 { // three times the lease
		time.Sleep(100 * time.Millisecond)
		if err := b.runner.RunOnce(t.Context(), mail.ResumeJob); err != nil {
			t.Fatal(err)
		}
	}
	slow <- struct{}{}
	if m := a.awaitState(uid, mail.Sent); m.Attempts != 1 {
		t.Errorf("%d attempts", m.Attempts)
	}
}

// slowTransport reports the start of a Send on the channel, and returns after a receive from it.
type slowTransport chan struct{}

// Send implements mail.Transport.
func (c slowTransport) Send(context.Context, mail.Envelope) (string, error) {
	c <- struct{}{}
	<-c
	return "250 ok", nil
}
