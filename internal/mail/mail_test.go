package mail_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

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
	_, err := mail.New(db, jobs.New(db, jobs.Options{Log: slog.Default()}), sealer, catalog, nil, mail.Options{From: "nobody"}, time.Now,
		slog.Default())
	if err == nil {
		t.Error("a sender without an address was accepted")
	}
}
