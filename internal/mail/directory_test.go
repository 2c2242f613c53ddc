package mail_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/testkit/output"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// Without SMTP, a mail is written to a file and its links are logged.
func TestDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "var", "mail")
	var log output.Buffer
	transport, err := mail.NewDirectory(dir, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	r := newReplica(t, pgtest.URL(t), transport, mail.Options{})
	r.run()
	uid := r.queue(verify("ann@example.org"))[0]
	m := r.awaitState(uid, mail.Sent)
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
	if strings.Contains(r.log.String(), "K3y") {
		t.Errorf("the mailer's own log contains the link:\n%s", r.log)
	}
	if _, err := transport.Send(t.Context(), mail.Envelope{UID: uid, Template: mail.VerifyEmail, Bytes: []byte("again")}); err != nil {
		t.Fatal(err)
	}
	if entries, err = os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("a repeated attempt leaves %v, %v", entries, err)
	}
}
