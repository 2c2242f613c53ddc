package cli

import (
	"runtime/debug"
	"testing"
)

func TestVersionOfInstalledModule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		linked, want string
		module       debug.Module
	}{
		{"dev", "1.1.0", debug.Module{Version: "v1.1.0", Sum: "h1:x"}},
		{"dev", "dev", debug.Module{Version: "v1.1.1-0.20261127022825-ab54e316a0b1"}}, // built in a work tree
		{"1.1.0+ab54e316", "1.1.0+ab54e316", debug.Module{Version: "v1.1.0", Sum: "h1:x"}},
	} {
		if got := moduleVersion(c.linked, c.module); got != c.want {
			t.Errorf("linked %q, module %+v: %q, want %q", c.linked, c.module, got, c.want)
		}
	}
}
