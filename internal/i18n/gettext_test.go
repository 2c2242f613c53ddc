//go:build gettext

package i18n_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/consign-dev/consign/internal/i18n"
)

// TestMsgfmt checks the catalogues with msgfmt of gettext: make test-gettext.
func TestMsgfmt(t *testing.T) {
	t.Parallel()
	for _, locale := range i18n.Locales() {
		cmd := exec.CommandContext(t.Context(), "msgfmt", "--check", "-o", os.DevNull, "locales/"+locale+".po")
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", locale, err, out)
		}
	}
}
