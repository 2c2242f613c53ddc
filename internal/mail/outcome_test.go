// Health of the mail queue by outcome, and sending all refused mails again.

package mail_test

import (
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

func (r *replica) waiting() mail.Waiting {
	r.t.Helper()
	w, err := r.mailer.Waiting(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return w
}

func (r *replica) retryAll(f mail.Filter) mail.Retried {
	r.t.Helper()
	done, err := r.mailer.RetryAll(r.t.Context(), f)
	if err != nil {
		r.t.Fatal(err)
	}
	return done
}

// TestHealthByOutcome: a queue that can be read is not healthy when nothing of it leaves. After the repair one call sends again all that
// failed with an error within a time, apart from those whose link was erased.
func TestHealthByOutcome(t *testing.T) {
	t.Parallel()
	s := newServer(t, serverOptions{})
	r := newReplica(t, pgtest.URL(t), smtpTo(t, s), mail.Options{})
	if w := r.waiting(); w.Health() != mail.Leaving {
		t.Errorf("without mails: %+v", w)
	}
	s.answer(refuse(550, "relaying denied"), nil)
	r.run()
	notice := func(to string) mail.Message {
		return mail.Message{To: to, Template: mail.PasswordChanged, Data: map[string]any{"at": r.clock.Now()}}
	}
	r.awaitState(r.queue(notice("one@example.org"))[0], mail.Failed)
	if w := r.waiting(); w.Health() != mail.Partly || w.Failed != 1 || w.Since != 1 {
		t.Errorf("after one failure: %+v", w)
	}
	uids := r.queue(notice("two@example.org"), notice("three@example.org"), verify("four@example.org"))
	for _, uid := range uids {
		r.awaitState(uid, mail.Failed)
	}
	if w := r.waiting(); w.Health() != mail.None || w.Failed != 4 || w.Since != 4 || w.Queued != 0 {
		t.Errorf("after four failures: %+v", w)
	}

	s.answer(refuse(451, "greylisted"), nil)
	late := r.queue(notice("five@example.org"))[0]
	r.await(late, "tried", func(m mail.Mail) bool { return m.Attempts >= 1 && m.LastAnswer != "" })
	if w := r.waiting(); w.Health() != mail.None || w.Refused != 1 || w.Since != 5 {
		t.Errorf("with one that waits: %+v", w)
	}
	s.answer(nil, nil)
	r.awaitState(late, mail.Sent)
	if w := r.waiting(); w.Health() != mail.Partly || w.Since != 0 || w.Sent != 1 {
		t.Errorf("after one was sent: %+v", w)
	}

	for name, f := range map[string]mail.Filter{
		"another error": {Answer: "greylisted"}, "later": {Since: r.clock.Now().Add(time.Second)}, "earlier": {Until: r.clock.Now()},
		"another state": {State: mail.Queued}, "another person": {To: "six@example.org"},
	} {
		if done := r.retryAll(f); done != (mail.Retried{}) {
			t.Errorf("%s: %+v", name, done)
		}
	}
	if done := r.retryAll(mail.Filter{Answer: "RELAYING", Since: r.clock.Now().Add(-time.Hour)}); done != (mail.Retried{Due: 3, Left: 1}) {
		t.Errorf("retried: %+v", done)
	}
	for _, uid := range uids[:2] {
		r.awaitState(uid, mail.Sent)
	}
	r.idle()
	if done := r.retryAll(mail.Filter{}); done != (mail.Retried{Left: 1}) || len(s.mails()) != 4 {
		t.Errorf("retried again: %+v, %d mails", done, len(s.mails()))
	}
	if w := r.waiting(); w.Failed != 1 || w.Sent != 4 || w.Since != 0 {
		t.Errorf("at the end: %+v", w)
	}
	r.clock.Advance(25 * time.Hour)
	if w := r.waiting(); w.Health() != mail.Leaving {
		t.Errorf("a day later: %+v", w)
	}
}
