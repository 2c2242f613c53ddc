package identity_test

import (
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/identity"
)

// FuzzClientFamily checks that the family of a client is not longer than its User-Agent header and the names that it may add.
func FuzzClientFamily(f *testing.F) {
	f.Add("Mozilla/5.0 (Windows NT 10.0) Chrome/130.0 Safari/537.36")
	f.Add("curl/8.15.0")
	f.Fuzz(func(t *testing.T, agent string) {
		if got := identity.ClientFamily(agent); len(got) > len(agent)+len(", Firefox") || strings.Contains(got, "/") {
			t.Errorf("%q becomes %q", agent, got)
		}
	})
}
