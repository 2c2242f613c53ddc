package database_test

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/consign-dev/consign/migrations"
)

var update = flag.Bool("update", false, "add new migrations to testdata/landed")

// TestLandedMigrations: a migration that has landed never changes, because databases have run it. testdata/landed has a line for each,
// with its SHA-256.
func TestLandedMigrations(t *testing.T) {
	t.Parallel()
	const list = "testdata/landed"
	files, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	landed, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(landed, []byte("\n"))
	for i, name := range files {
		text, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(text), name)
		switch {
		case i < len(lines) && len(lines[i]) > 0 && !bytes.Equal(lines[i], want):
			t.Errorf("%s has changed, or stands before one that has landed: take that back, and write a new migration", name)
		case i >= len(lines) || len(lines[i]) == 0:
			if !*update {
				t.Errorf("%s is not in %s: when it is finished, run go test ./internal/database -run Landed -update", name, list)
			}
			lines = append(lines[:i], want)
		}
	}
	if len(bytes.Join(lines[len(files):], nil)) > 0 {
		t.Errorf("a migration of %s is gone", list)
	}
	if all := bytes.Join(lines, nil); *update && !t.Failed() && !bytes.Equal(all, landed) {
		if err := os.WriteFile(list, all, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
