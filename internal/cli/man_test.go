// Tests of the man pages and completions.

package cli_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/consign-dev/consign/internal/cli"
)

const manDir = "../../docs/man"

// autolink is what the generator of pages makes of an address in angle brackets.
var autolink = regexp.MustCompile(`([^\s']+@\S+)\n\\\[la\]mailto:[^\\]+\\\[ra\]\\&`)

// TestManPages: the pages of docs/man are those of the commands. WRITE=on writes them.
func TestManPages(t *testing.T) {
	t.Parallel()
	p := &cli.Program{Name: "consign-client", Version: "", Stdout: io.Discard, Stderr: io.Discard}
	root := p.Command()
	root.InitDefaultCompletionCmd()
	date := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	wanted := map[string]string{}
	var page func(c *cobra.Command)
	page = func(c *cobra.Command) {
		var b bytes.Buffer
		if err := doc.GenMan(c, &doc.GenManHeader{Section: "1", Source: "Consign", Manual: "Consign", Date: &date}, &b); err != nil {
			t.Fatal(err)
		}
		wanted[strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"] = autolink.ReplaceAllString(b.String(), "<$1>")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				page(sub)
			}
		}
	}
	page(root)
	if os.Getenv("WRITE") == "on" {
		writePages(t, wanted)
	}
	files, err := filepath.Glob(filepath.Join(manDir, "*"))
	if err != nil || len(files) != len(wanted) {
		t.Errorf("%d pages in docs/man, %d commands: run WRITE=on go test ./internal/cli -run TestManPages", len(files), len(wanted))
	}
	for name, text := range wanted {
		if got, err := os.ReadFile(filepath.Join(manDir, name)); err != nil || string(got) != text {
			t.Errorf("docs/man/%s is not current: run WRITE=on go test ./internal/cli -run TestManPages", name)
		}
	}
}

func writePages(t *testing.T, pages map[string]string) {
	t.Helper()
	if err := os.RemoveAll(manDir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(manDir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(manDir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCompletions: each shell gets a script, and the values of a flag are completed.
func TestCompletions(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for shell, has := range map[string]string{"bash": "__start_consign", "zsh": "#compdef consign", "fish": "complete -c consign"} {
		if out := d.do("completion", shell); !strings.Contains(out, has) {
			t.Errorf("the completion for %s: %.200s", shell, out)
		}
	}
	for _, c := range [][]string{{"__complete", "se", "send"}, {"__complete", "send", "--protection", "p", "password"}, {"__complete", "token", "create", "--scope", "tr", "transfers:read"},
		{"__complete", "receive", "--wa", "--watch"}} {
		if out := d.do(c[:len(c)-1]...); !strings.Contains(out, c[len(c)-1]) {
			t.Errorf("%v gives %s", c, out)
		}
	}
}
