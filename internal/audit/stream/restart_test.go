package stream_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/audit/stream"
)

// TestRestartedChain: after the database was restored to before entry 4, its chain contradicts the file. After a restart a new chain holds
// what was written since, also lines that had a place in the old one and were not sent; verify names where it begins.
func TestRestartedChain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "siem")
	db, name := open(t), filepath.Join(dir, "audit.jsonl")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, by := sender(t, db, "file://"+name), audit.Actor{Kind: audit.Job}
	if err := s.Restart(t.Context(), by); !errors.Is(err, stream.ErrNoStream) {
		t.Errorf("restart of a stream that has never begun: %v", err)
	}
	if err := s.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, db, 0, 2)
	step(t, s)
	sequence, hash, err := s.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write(t, db, 2, 5)
	step(t, s)
	if _, err := db.Pool.Exec(t.Context(), `UPDATE audit_stream SET sequence = $1, hash = $2, sent = $1, sent_hash = $2`,
		sequence, hash); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	write(t, db, 5, 7)
	if _, err := s.Step(t.Context()); err == nil {
		t.Fatal("sent to a directory that is away")
	}
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(t.Context(), by); err != nil {
		t.Fatal(err)
	}
	write(t, db, 7, 8)
	step(t, s)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	c := whole(t, s, string(text))
	if len(c.Restarts) != 1 || !strings.Contains(c.Restarts[0], "line 7,") || c.First != 1 || c.Last != 4 {
		t.Errorf("after the restart: %+v", c)
	}
	if n := strings.Count(string(text[len(before):]), "\n"); n != 4 {
		t.Errorf("%d lines in the new chain, want the two that waited, the restart and a later one", n)
	}
}
