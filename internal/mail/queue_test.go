package mail_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

const link = "https://files.example.org/confirm/K3y-of_the-link"

func TestQueuedMailIsSent(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	r := newReplica(t, pgtest.URL(t), smtpTo(t, s), mail.Options{ProductName: "Testversand"})
	rolledBack := errors.New("rolled back")
	err := r.db.InTx(t.Context(), func(tx database.Tx) error {
		if _, err := r.mailer.Queue(t.Context(), tx, verify("never@example.org")); err != nil {
			return err
		}
		return rolledBack
	})
	if !errors.Is(err, rolledBack) {
		t.Fatal(err)
	}
	uid := r.queue(verify("ann@example.org"))[0]
	if data, sealed := r.contents(uid); !sealed || !strings.Contains(data, "ann@example.org") || strings.Contains(data, "K3y") {
		t.Errorf("queued: data %s, sealed %v", data, sealed)
	}
	r.run()
	m := r.awaitState(uid, mail.Sent)
	got := s.mails()
	if len(got) != 1 || got[0].to != "ann@example.org" || got[0].from != "no-reply@example.org" {
		t.Fatalf("the server got %+v", got)
	}
	if header(got[0].raw, "Message-ID") != m.MessageID || header(got[0].raw, "From") != `"Testversand" <no-reply@example.org>` ||
		header(got[0].raw, "Date") != "Fri, 20 Nov 2026 09:30:00 +0000" {
		t.Errorf("headers of\n%s", got[0].raw)
	}
	if !strings.Contains(got[0].raw, link) {
		t.Errorf("no link in\n%s", got[0].raw)
	}
	if data, sealed := r.contents(uid); sealed || data != "{}" {
		t.Errorf("sent: data %s, sealed %v", data, sealed)
	}
	if m.Attempts != 1 || !strings.HasPrefix(m.LastAnswer, "250 ") || m.FinishedAt == nil || m.NextAttemptAt != nil || m.LastAttemptAt == nil {
		t.Errorf("listed as %+v", m)
	}
	if strings.Contains(r.log.String(), "K3y") || strings.Contains(r.log.String(), "ann@") {
		t.Errorf("the log contains the key or the address:\n%s", r.log)
	}
}

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
	if len(reported) != 1 || reported[0].UID != uid || reported[0].Reference != "ref-nobody@example.org" || reported[0].To != "nobody@example.org" || reported[0].State != mail.Failed {
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

// Erase removes the content of failed mails about a reference. Retry refuses a mail without content.
func TestErase(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	s.answer(refuse(550, "no such user"), nil)
	r := newReplica(t, pgtest.URL(t), smtpTo(t, s), mail.Options{})
	r.run()
	about := func(reference string) mail.Message {
		return mail.Message{To: "ann@example.org", Template: mail.TransferAccessed, Reference: reference, Data: map[string]any{"subject": "Secret plans"}}
	}
	uids := r.queue(about("transfer:1"), about("transfer:2"))
	for _, uid := range uids {
		r.awaitState(uid, mail.Failed)
	}
	err := r.db.InTx(t.Context(), func(tx database.Tx) error {
		return r.mailer.Erase(t.Context(), tx, []string{"transfer:1", ""})
	})
	if err != nil {
		t.Fatal(err)
	}
	s.answer(nil, nil)
	if data, _ := r.contents(uids[0]); data != "{}" {
		t.Errorf("kept: %s", data)
	}
	if err := r.mailer.Retry(t.Context(), uids[0]); !errors.Is(err, mail.ErrErased) {
		t.Errorf("Retry = %v", err)
	}
	if err := r.mailer.Retry(t.Context(), uids[1]); err != nil {
		t.Fatal(err)
	}
	r.awaitState(uids[1], mail.Sent)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	r := newReplica(t, pgtest.URL(t), smtpTo(t, s), mail.Options{})
	uids := r.queue(verify("ann@example.org"), verify("bob@example.org"))
	err := r.db.InTx(t.Context(), func(tx database.Tx) error {
		return errors.Join(r.mailer.Cancel(t.Context(), tx, "ref-ann@example.org"), r.mailer.Cancel(t.Context(), tx, ""))
	})
	if err != nil {
		t.Fatal(err)
	}
	if m := r.get(uids[0]); m.State != mail.Cancelled || m.FinishedAt == nil {
		t.Errorf("listed as %+v", m)
	}
	if data, sealed := r.contents(uids[0]); sealed || data != "{}" {
		t.Errorf("cancelled: data %s, sealed %v", data, sealed)
	}
	r.run()
	r.awaitState(uids[1], mail.Sent)
	r.idle()
	if got := s.mails(); len(got) != 1 || got[0].to != "bob@example.org" {
		t.Errorf("sent: %+v", got)
	}
}

// A mail whose job is missing, for example after the restore of some tables, gets a new job.
func TestRequeue(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	r := newReplica(t, pgtest.URL(t), smtpTo(t, s), mail.Options{})
	uids := r.queue(verify("ann@example.org"), verify("bob@example.org"))
	for _, sql := range []string{
		`DELETE FROM river_job`,
		`UPDATE mails SET next_attempt_at = now() - interval '11 minutes' WHERE recipient LIKE 'ann%'`,
	} {
		if _, err := r.db.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := r.runner.RunOnce(t.Context(), mail.RequeueJob); err != nil {
			t.Fatal(err)
		}
	}
	r.run()
	r.awaitState(uids[0], mail.Sent)
	r.idle()
	if m := r.get(uids[1]); m.State != mail.Queued {
		t.Errorf("a mail that is not overdue is %s", m.State)
	}
	if n := len(s.mails()); n != 1 {
		t.Errorf("%d mails were sent", n)
	}
}

// A mail that a killed server was sending is sent by another one once its lease ends, long before River gives the job away.
func TestInterruptedMail(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	r := newReplica(t, pgtest.URL(t), smtpTo(t, s), mail.Options{})
	uids := r.queue(verify("ann@example.org"), verify("bob@example.org"))
	for _, sql := range []string{ // what kill -9 leaves: Ann's server is dead, Bob's is alive
		`UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now() WHERE kind = 'mail'`,
		`UPDATE mails SET attempts = 1, busy_until = now() - interval '1 second' WHERE recipient LIKE 'ann%'`,
		`UPDATE mails SET attempts = 1, busy_until = now() + interval '1 hour' WHERE recipient LIKE 'bob%'`,
	} {
		if _, err := r.db.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	r.run()
	for range 2 {
		if err := r.runner.RunOnce(t.Context(), mail.ResumeJob); err != nil {
			t.Fatal(err)
		}
	}
	r.awaitState(uids[0], mail.Sent)
	if m := r.get(uids[1]); m.State != mail.Queued || m.Attempts != 1 {
		t.Errorf("the mail that another server is sending: %+v", m)
	}
	if n := len(s.mails()); n != 1 {
		t.Errorf("%d mails were sent", n)
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

// slowTransport says that a mail is being sent, and has sent it when told so.
type slowTransport chan struct{}

// Send implements mail.Transport.
func (c slowTransport) Send(context.Context, mail.Envelope) (string, error) {
	c <- struct{}{}
	<-c
	return "250 ok", nil
}

func TestListAndClean(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	r := newReplica(t, pgtest.URL(t), smtpTo(t, s), mail.Options{Retention: 24 * time.Hour})
	uids := r.queue(verify("ann@example.org"), verify("bob@example.org"))
	stop := r.run()
	for _, uid := range uids {
		r.awaitState(uid, mail.Sent)
	}
	stop()
	r.clock.Advance(time.Minute)
	waiting := r.queue(verify("Ann@example.org"))[0]
	for _, c := range []struct {
		filter mail.Filter
		want   []id.Mail
	}{
		{mail.Filter{}, []id.Mail{waiting, uids[1], uids[0]}},
		{mail.Filter{Limit: 1}, []id.Mail{waiting}},
		{mail.Filter{State: mail.Queued}, []id.Mail{waiting}},
		{mail.Filter{To: "ANN@example.org"}, []id.Mail{waiting, uids[0]}},
		{mail.Filter{State: mail.Sent, To: "ann@example.org"}, []id.Mail{uids[0]}},
	} {
		list, err := r.mailer.List(t.Context(), c.filter)
		if err != nil {
			t.Fatal(err)
		}
		var got []id.Mail
		for _, m := range list {
			got = append(got, m.UID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("List(%+v): %s", c.filter, diff)
		}
	}
	r.clock.Advance(24 * time.Hour)
	if err := r.runner.RunOnce(t.Context(), mail.CleanJob); err != nil {
		t.Fatal(err)
	}
	if list, err := r.mailer.List(t.Context(), mail.Filter{}); err != nil || len(list) != 1 || list[0].UID != waiting {
		t.Errorf("after cleaning: %+v, %v", list, err)
	}
}

func TestTestMail(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	r := newReplica(t, pgtest.URL(t), smtpTo(t, s), mail.Options{})
	answer, err := r.mailer.Test(t.Context(), "ann@example.org", "ja_JP")
	if err != nil || !strings.HasPrefix(answer, "250 ") {
		t.Fatalf("%q, %v", answer, err)
	}
	if got := s.mails(); len(got) != 1 || got[0].to != "ann@example.org" || header(got[0].raw, "Content-Language") != "ja-JP" {
		t.Errorf("the server got %+v", got)
	}
	s.answer(refuse(550, "no"), nil)
	if _, err := r.mailer.Test(t.Context(), "ann@example.org", ""); !errors.Is(err, mail.ErrPermanent) {
		t.Errorf("Test = %v", err)
	}
	if _, err := r.mailer.Test(t.Context(), "nonsense", ""); err == nil {
		t.Error("a test mail to an invalid address succeeded")
	}
}

func TestNewRefusesInvalidSender(t *testing.T) {
	t.Parallel()
	sealer, catalog := mail.Parts(t)
	db := &database.DB{}
	_, err := mail.New(db, jobs.New(db, jobs.Options{Log: slog.Default()}), sealer, catalog, nil, mail.Options{From: "nobody"}, time.Now, slog.Default())
	if err == nil {
		t.Error("a sender without an address was accepted")
	}
}
