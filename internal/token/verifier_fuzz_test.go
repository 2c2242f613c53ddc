package token

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/fault"
)

// FuzzVerify checks that no token but the issued one is accepted, however its parts are changed, and that a refusal is a 401.
func FuzzVerify(f *testing.F) {
	r := newReplica(f, testURL(f), replicaOptions{})
	good := r.issue(f, KindAccess, claimsOf(KindAccess))
	parts := strings.Split(good, ".")
	f.Add(parts[0], parts[1], parts[2])
	f.Add("eyJhbGciOiJub25lIn0", parts[1], "")
	f.Add("", "e30", "....")
	f.Fuzz(func(t *testing.T, header, payload, signature string) {
		raw := header + "." + payload + "." + signature
		_, err := r.verifier.Verify(t.Context(), raw)
		if (err == nil) != (raw == good) {
			t.Errorf("%q: %v", raw, err)
		}
		var refused *fault.Error
		if err != nil && (!errors.As(err, &refused) || refused.Kind != fault.Unauthenticated) {
			t.Errorf("%q is refused with %v", raw, err)
		}
		Bearer(&http.Request{Header: http.Header{"Authorization": {header, raw}}})
	})
}
