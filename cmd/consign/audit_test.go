package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/audit/stream"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// TestAuditVerify: the command says in one sentence that the chain of a file is whole, where it is broken, or that its tail is missing, and
// without a database what it does not know.
func TestAuditVerify(t *testing.T) {
	t.Parallel()
	url, name := pgtest.URL(t), filepath.Join(t.TempDir(), "audit.jsonl")
	environ := external(t, url)
	db, err := database.New(t.Context(), url, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	target, err := stream.Parse("file://"+name, "localhost")
	if err != nil {
		t.Fatal(err)
	}
	s := stream.New(db, target, time.Now, slog.New(slog.DiscardHandler))
	if err := s.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	runOperator(t, environ)("person", "create", "ann@example.com")
	if _, err := s.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	nowhere := []string{"CONSIGN_DATA_DIR=" + t.TempDir()}
	for _, c := range []struct {
		what, text, says string
		environ          []string
		broken           bool
	}{
		{"whole", text, "The chain is whole: entries 1 to ", environ, false},
		{"whole, no database", text, "Whether later entries are missing is not known", nowhere, false},
		{"tail cut", text[:strings.Index(text, "\n")+1], "The tail is missing: the last entry is 1", environ, true},
		{"changed", strings.Replace(text, `"audit.stream"`, `"audit.streak"`, 1), "Line 1, entry 1 of ", nowhere, true},
	} {
		if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _, err := consign(t.Context(), c.environ, "audit", "verify", name)
		code := exitCode(0)
		if !strings.Contains(out, c.says) || strings.Count(out, "\n") != 1 || errors.As(err, &code) != c.broken || !c.broken && err != nil {
			t.Errorf("%s: %q, %v", c.what, out, err)
		}
	}
}
