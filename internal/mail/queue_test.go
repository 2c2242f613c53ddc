// Tests of the queue of mails.

package mail_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
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

// Erase removes the content of failed mails about a reference. Retry refuses a mail without content.
func TestErase(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	s.answer(refuse(550, "no such user"), nil)
	r := newReplica(t, pgtest.URL(t), smtpTo(t, s), mail.Options{})
	r.run()
	about := func(reference string) mail.Message {
		return mail.Message{To: "ann@example.org", Template: mail.TransferAccessed, Reference: reference,
			Data: map[string]any{"subject": "Secret plans"}}
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
	r.exec(
		`DELETE FROM river_job`,
		`UPDATE mails SET next_attempt_at = now() - interval '11 minutes' WHERE recipient LIKE 'ann%'`,
	)
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
	r.exec( // what kill -9 leaves: Ann's server is dead, Bob's is alive
		`UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now() WHERE kind = 'mail'`,
		`UPDATE mails SET attempts = 1, busy_until = now() - interval '1 second' WHERE recipient LIKE 'ann%'`,
		`UPDATE mails SET attempts = 1, busy_until = now() + interval '1 hour' WHERE recipient LIKE 'bob%'`,
	)
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
