package stream_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/audit/stream"
)

// TestVerify: each change of a file is found, and said in one sentence.
func TestVerify(t *testing.T) {
	t.Parallel()
	db, name := open(t), filepath.Join(t.TempDir(), "audit.jsonl")
	s := sender(t, db, "file://"+name)
	if err := s.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, db, 0, 9)
	step(t, s)
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(raw), "\n"), "\n")
	join := func(parts ...[]string) string {
		var all strings.Builder
		for _, p := range parts {
			all.WriteString(strings.Join(p, ""))
		}
		return all.String()
	}
	forged := func(line string) string { // with a right hash of its own
		return stream.Rehash(t, strings.Replace(line, `"object":"3"`, `"object":"4"`, 1))
	}
	for name, c := range map[string]struct{ text, want string }{
		"as it is":      {string(raw), ""},
		"with a prefix": {strings.ReplaceAll(string(raw), `{"sequence"`, `Nov 26 18:00:00 host consign: {"sequence"`), ""},
		"again":         {join(lines[:4], lines[2:]), ""},
		"changed": {strings.Replace(string(raw), `"object":"3"`, `"object":"4"`, 1),
			"Line 5, entry 5 of 2026-11-20T09:30:00Z, was changed"},
		"changed, hashed": {join(lines[:4], []string{forged(lines[4])}, lines[5:]), "Line 6: entry 6 does not continue entry 5"},
		"removed":         {join(lines[:4], lines[5:]), "Line 5: entry 5 is missing."},
		"three removed":   {join(lines[:4], lines[7:]), "Line 5: entries 5 to 7 are missing."},
		"exchanged":       {join(lines[:4], lines[5:6], lines[4:5], lines[6:]), "Line 5: entry 5 is missing."},
		"added":           {join(lines[:4], []string{forged(lines[4])}, lines[4:]), "Line 6, entry 5 of 2026-11-20T09:30:00Z, is there before"},
		"tail cut":        {join(lines[:7]), "The tail is missing: the last entry is 7 of 2026-11-20T09:30:00Z, and the server has sent 10."},
		"line cut":        {string(raw[:len(raw)-20]), "Line 10 is no entry, or was cut off."},
		"empty":           {"", "The tail is missing: the last entry is 0"},
		"forged as a whole": {stream.Rechain(t, strings.Replace(string(raw), `"object":"3"`, `"object":"4"`, 1)),
			"Entry 10 is not the one that this server has sent"},
	} {
		checked, err := stream.Verify(strings.NewReader(c.text))
		n, hash, headErr := s.Head(t.Context())
		if headErr != nil {
			t.Fatal(headErr)
		}
		if err == nil {
			err = checked.Compare(n, hash)
		}
		got := ""
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
