//go:build unix

package localpg

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestInstalled(t *testing.T) {
	t.Parallel()
	if found := installed(nil, ""); len(found) != 0 {
		t.Errorf("found %v although no programs are installed", found)
	}
	if text := errNoPrograms.Error(); !strings.Contains(text, "apt-get install postgresql") ||
		!strings.Contains(text, "brew install postgresql") || !strings.Contains(text, "CONSIGN_DATABASE_URL") {
		t.Error(text)
	}
	root := t.TempDir()
	install := func(dir string, names ...string) string {
		dir = filepath.Join(root, dir)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho 'postgres (PostgreSQL) 12.3'\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	nine := install("postgresql/9/bin", "initdb", "postgres")
	sixteen := install("postgresql/16/bin", "initdb", "postgres")
	install("postgresql/17/bin", "psql") // the client only
	real := install("elsewhere", "initdb", "postgres")
	links := install("links")
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.Symlink(filepath.Join(real, name), filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	real, err := filepath.EvalSymlinks(real)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	found := installed([]string{filepath.Join(root, "postgresql/*/bin")},
		strings.Join([]string{"relative", links, nine, root}, string(filepath.ListSeparator)))
	for _, p := range found {
		got = append(got, p.dir)
	}
	if want := []string{sixteen, nine, real}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if v := found[2].version(); v != 12 {
		t.Errorf("version %d, want the version the program prints", v)
	}
}
