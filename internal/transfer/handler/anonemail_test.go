package handler_test

import (
	"net/http"
	"testing"

	"github.com/consign-dev/consign/internal/fault"
)

// TestAddressWithoutDomain: a stranger's address that no mail reaches is refused when it is entered.
func TestAddressWithoutDomain(t *testing.T) {
	t.Parallel()
	s, _ := newMailbox(t)
	d := reserve(s)
	d.Patch(d.path, object{"anonEmail": "eve@nodomain"}).WantError(fault.ErrInvalid)
	for _, address := range []string{"eve@example.com", "eve@localhost"} {
		d.Patch(d.path, object{"anonEmail": address}).Want(http.StatusOK)
	}
}
