package cli_test

import (
	"strings"
	"testing"
)

// TestCompletions: each shell gets a script, and the values of a flag are completed.
func TestCompletions(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for shell, has := range map[string]string{"bash": "__start_consign", "zsh": "#compdef consign", "fish": "complete -c consign"} {
		if out := d.do("completion", shell); !strings.Contains(out, has) {
			t.Errorf("the completion for %s: %.200s", shell, out)
		}
	}
	for _, c := range [][]string{{"__complete", "se", "send"}, {"__complete", "send", "--protection", "p", "password"},
		{"__complete", "token", "create", "--scope", "tr", "transfers:read"},
		{"__complete", "receive", "--wa", "--watch"}} {
		if out := d.do(c[:len(c)-1]...); !strings.Contains(out, c[len(c)-1]) {
			t.Errorf("%v gives %s", c, out)
		}
	}
}
