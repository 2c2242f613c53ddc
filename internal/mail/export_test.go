package mail

import (
	"bytes"
	"testing"

	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/seal"
)

// Parts returns a sealer and the catalogues, for a Mailer of a test.
func Parts(t testing.TB) (*seal.Sealer, *i18n.Catalog) {
	t.Helper()
	sealer, err := seal.New(bytes.Repeat([]byte{7}, 32), nil)
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := i18n.New()
	if err != nil {
		t.Fatal(err)
	}
	return sealer, catalog
}
