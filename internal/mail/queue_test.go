package mail_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

const link = "https://files.example.org/confirm/K3y-of_the-link"

func TestQueuedMailIsSent(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	p := newPost(t, pgtest.URL(t), smtpTo(t, s), mail.Options{ProductName: "Testversand"})
	rolledBack := errors.New("rolled back")
	err := p.db.InTx(t.Context(), func(tx database.Tx) error {
		if _, err := p.mailer.Queue(t.Context(), tx, verify("never@example.org")); err != nil {
			return err
		}
		return rolledBack
	})
	if !errors.Is(err, rolledBack) {
		t.Fatal(err)
	}
	uid := p.queue(verify("ann@example.org"))[0]
	if data, sealed := p.contents(uid); !sealed || !strings.Contains(data, "ann@example.org") || strings.Contains(data, "K3y") {
		t.Errorf("queued: data %s, sealed %v", data, sealed)
	}
	p.run()
	m := p.awaitState(uid, mail.Sent)
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
	if data, sealed := p.contents(uid); sealed || data != "{}" {
		t.Errorf("sent: data %s, sealed %v", data, sealed)
	}
	if m.Attempts != 1 || !strings.HasPrefix(m.LastAnswer, "250 ") || m.FinishedAt == nil || m.NextAttemptAt != nil || m.LastAttemptAt == nil {
		t.Errorf("listed as %+v", m)
	}
	if strings.Contains(p.log.String(), "K3y") || strings.Contains(p.log.String(), "ann@") {
		t.Errorf("the log tells too much:\n%s", p.log)
	}
}

// The mail server stores the mail but answers with an error, twice. Before the third attempt the Consign process is
// restarted with another configuration. All attempts send the same bytes.
func TestRepeatedAttemptsAreTheSameMail(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	s.answer(nil, func(try int) error {
		if try <= 2 {
			return refuse(451, fmt.Sprintf("later, %d", try))(try)
		}
		return nil
	})
	url := pgtest.URL(t)
	first := newPost(t, url, smtpTo(t, s), mail.Options{ProductName: "Before", SupportContact: "help@example.org"})
	stop := first.run()
	uid := first.queue(verify("ann@example.org"))[0]
	m := first.await(uid, "tried once", func(m mail.Mail) bool { return m.Attempts >= 1 && m.LastAnswer != "" })
	if m.State != mail.Queued || !strings.Contains(m.LastAnswer, "451 4.1.1 later") || m.NextAttemptAt == nil {
		t.Errorf("listed as %+v", m)
	}
	stop()
	second := newPost(t, url, smtpTo(t, s), mail.Options{ProductName: "After", From: "other@example.com"})
	second.advance(time.Hour)
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
	var told []mail.Mail
	broken := true
	p := newPost(t, pgtest.URL(t), smtpTo(t, s), mail.Options{
		OnFailed: func(ctx context.Context, tx database.Tx, m mail.Mail) error {
			if broken { // the first time, the transaction must not mark the mail
				broken = false
				return errors.New("not now")
			}
			told = append(told, m)
			_, err := tx.Exec(ctx, `INSERT INTO settings (name, value, updated_at) VALUES ('told', '1', now())`)
			return err
		},
	})
	p.run()
	uid := p.queue(verify("nobody@example.org"))[0]
	m := p.awaitState(uid, mail.Failed)
	if !strings.Contains(m.LastAnswer, "550 5.1.1 no such user") || m.FinishedAt == nil || m.NextAttemptAt != nil || m.Attempts != 2 {
		t.Errorf("listed as %+v", m)
	}
	if len(told) != 1 || told[0].UID != uid || told[0].Reference != "ref-nobody@example.org" || told[0].To != "nobody@example.org" || told[0].State != mail.Failed {
		t.Errorf("told %+v", told)
	}
	if data, sealed := p.contents(uid); sealed || data != "{}" {
		t.Errorf("of a mail that cannot be sent again, for want of its link, is kept: %s, link %t", data, sealed)
	}
	if err := p.mailer.Retry(t.Context(), uid); !errors.Is(err, mail.ErrNoSecret) {
		t.Errorf("Retry = %v", err)
	}
}

// A temporary failure becomes final when the mail is too old.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	s.answer(refuse(450, "busy"), nil)
	p := newPost(t, pgtest.URL(t), smtpTo(t, s), mail.Options{GiveUpAfter: time.Hour})
	p.run()
	notice := mail.Message{To: "ann@example.org", Template: mail.PasswordChanged, Data: map[string]any{"at": p.clock()}}
	uid := p.queue(notice)[0]
	p.await(uid, "tried twice", func(m mail.Mail) bool { return m.Attempts >= 2 })
	p.advance(time.Hour)
	m := p.awaitState(uid, mail.Failed)
	if !strings.Contains(m.LastAnswer, "450 4.1.1 busy") {
		t.Errorf("listed as %+v", m)
	}
	// The operator repairs the server and retries the mail. It had no link, so its data was kept.
	s.answer(nil, nil)
	if err := p.mailer.Retry(t.Context(), uid); err != nil {
		t.Fatal(err)
	}
	p.awaitState(uid, mail.Sent)
	if err := p.mailer.Retry(t.Context(), uid); !errors.Is(err, mail.ErrFinished) {
		t.Errorf("Retry = %v", err)
	}
	if err := p.mailer.Retry(t.Context(), id.New[id.Mail]()); !errors.Is(err, mail.ErrNotFound) {
		t.Errorf("Retry = %v", err)
	}
}

// A mail with many jobs on two servers is sent once.
func TestOneMailPerRow(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	url := pgtest.URL(t)
	a, b := newPost(t, url, smtpTo(t, s), mail.Options{}), newPost(t, url, smtpTo(t, s), mail.Options{})
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
		t.Errorf("%d mails went out", len(got))
	}
}

// Erase removes the content of failed mails about a reference, and Retry does not send them without it.
func TestErase(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	s.answer(refuse(550, "no such user"), nil)
	p := newPost(t, pgtest.URL(t), smtpTo(t, s), mail.Options{})
	p.run()
	about := func(reference string) mail.Message {
		return mail.Message{To: "ann@example.org", Template: mail.TransferAccessed, Reference: reference, Data: map[string]any{"subject": "Secret plans"}}
	}
	uids := p.queue(about("transfer:1"), about("transfer:2"))
	for _, uid := range uids {
		p.awaitState(uid, mail.Failed)
	}
	err := p.db.InTx(t.Context(), func(tx database.Tx) error {
		return p.mailer.Erase(t.Context(), tx, []string{"transfer:1", ""})
	})
	if err != nil {
		t.Fatal(err)
	}
	s.answer(nil, nil)
	if data, _ := p.contents(uids[0]); data != "{}" {
		t.Errorf("kept: %s", data)
	}
	if err := p.mailer.Retry(t.Context(), uids[0]); !errors.Is(err, mail.ErrErased) {
		t.Errorf("Retry = %v", err)
	}
	if err := p.mailer.Retry(t.Context(), uids[1]); err != nil {
		t.Fatal(err)
	}
	p.awaitState(uids[1], mail.Sent)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	p := newPost(t, pgtest.URL(t), smtpTo(t, s), mail.Options{})
	uids := p.queue(verify("ann@example.org"), verify("bob@example.org"))
	err := p.db.InTx(t.Context(), func(tx database.Tx) error {
		return errors.Join(p.mailer.Cancel(t.Context(), tx, "ref-ann@example.org"), p.mailer.Cancel(t.Context(), tx, ""))
	})
	if err != nil {
		t.Fatal(err)
	}
	if m := p.get(uids[0]); m.State != mail.Cancelled || m.FinishedAt == nil {
		t.Errorf("listed as %+v", m)
	}
	if data, sealed := p.contents(uids[0]); sealed || data != "{}" {
		t.Errorf("cancelled: data %s, sealed %v", data, sealed)
	}
	p.run()
	p.awaitState(uids[1], mail.Sent)
	p.idle()
	if got := s.mails(); len(got) != 1 || got[0].to != "bob@example.org" {
		t.Errorf("went out: %+v", got)
	}
}

// A mail whose job was lost, for example by restoring a backup of some tables, gets a new job.
func TestRequeue(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	p := newPost(t, pgtest.URL(t), smtpTo(t, s), mail.Options{})
	uids := p.queue(verify("ann@example.org"), verify("bob@example.org"))
	for _, sql := range []string{
		`DELETE FROM river_job`,
		`UPDATE mails SET next_attempt_at = now() - interval '11 minutes' WHERE recipient LIKE 'ann%'`,
	} {
		if _, err := p.db.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := p.runner.RunOnce(t.Context(), mail.RequeueJob); err != nil {
			t.Fatal(err)
		}
	}
	p.run()
	p.awaitState(uids[0], mail.Sent)
	p.idle()
	if m := p.get(uids[1]); m.State != mail.Queued {
		t.Errorf("a mail that is not overdue is %s", m.State)
	}
	if n := len(s.mails()); n != 1 {
		t.Errorf("%d mails went out", n)
	}
}

func TestListAndClean(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	p := newPost(t, pgtest.URL(t), smtpTo(t, s), mail.Options{Retention: 24 * time.Hour})
	uids := p.queue(verify("ann@example.org"), verify("bob@example.org"))
	stop := p.run()
	for _, uid := range uids {
		p.awaitState(uid, mail.Sent)
	}
	stop()
	p.advance(time.Minute)
	waiting := p.queue(verify("Ann@example.org"))[0]
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
		list, err := p.mailer.List(t.Context(), c.filter)
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
	p.advance(24 * time.Hour)
	if err := p.runner.RunOnce(t.Context(), mail.CleanJob); err != nil {
		t.Fatal(err)
	}
	if list, err := p.mailer.List(t.Context(), mail.Filter{}); err != nil || len(list) != 1 || list[0].UID != waiting {
		t.Errorf("after cleaning: %+v, %v", list, err)
	}
}

// Without SMTP, a mail is written to a file and its links are logged.
func TestDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "var", "mail")
	var log buffer
	transport, err := mail.NewDirectory(dir, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	p := newPost(t, pgtest.URL(t), transport, mail.Options{})
	p.run()
	uid := p.queue(verify("ann@example.org"))[0]
	m := p.awaitState(uid, mail.Sent)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	name := entries[0].Name()
	if name != uid.String()+"-verify-email.eml" || !strings.Contains(m.LastAnswer, name) {
		t.Errorf("file %q, answer %q", name, m.LastAnswer)
	}
	info, err := entries[0].Info()
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || !bytes.Contains(content, []byte(link)) || header(string(content), "To") != "<ann@example.org>" {
		t.Errorf("content, %v:\n%s", err, content)
	}
	if !strings.Contains(log.String(), link) || !strings.Contains(log.String(), name) {
		t.Errorf("log: %s", &log)
	}
	if strings.Contains(p.log.String(), "K3y") {
		t.Errorf("the mailer's own log tells the link:\n%s", p.log)
	}
	if _, err := transport.Send(t.Context(), mail.Envelope{UID: uid, Template: mail.VerifyEmail, Bytes: []byte("again")}); err != nil {
		t.Fatal(err)
	}
	if entries, err = os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("a repeated attempt leaves %v, %v", entries, err)
	}
}

func TestTestMail(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	p := newPost(t, pgtest.URL(t), smtpTo(t, s), mail.Options{})
	answer, err := p.mailer.Test(t.Context(), "ann@example.org", "ja_JP")
	if err != nil || !strings.HasPrefix(answer, "250 ") {
		t.Fatalf("%q, %v", answer, err)
	}
	if got := s.mails(); len(got) != 1 || got[0].to != "ann@example.org" || header(got[0].raw, "Content-Language") != "ja-JP" {
		t.Errorf("the server got %+v", got)
	}
	s.answer(refuse(550, "no"), nil)
	if _, err := p.mailer.Test(t.Context(), "ann@example.org", ""); !errors.Is(err, mail.ErrPermanent) {
		t.Errorf("Test = %v", err)
	}
	if _, err := p.mailer.Test(t.Context(), "nonsense", ""); err == nil {
		t.Error("a test to no address succeeded")
	}
}

func TestNewRefusesAWrongSender(t *testing.T) {
	t.Parallel()
	sealer, err := seal.New(bytes.Repeat([]byte{7}, 32), nil)
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := i18n.New()
	if err != nil {
		t.Fatal(err)
	}
	db := &database.DB{}
	_, err = mail.New(db, jobs.New(db, jobs.Options{Log: slog.Default()}), sealer, catalog, nil, mail.Options{From: "nobody"}, time.Now, slog.Default())
	if err == nil {
		t.Error("a sender that is no address was accepted")
	}
}
