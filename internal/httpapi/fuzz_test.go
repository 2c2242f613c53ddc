package httpapi_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/consign-dev/consign/internal/httpapi"
)

// FuzzAccept checks that a negotiated type is one of the offers.
func FuzzAccept(f *testing.F) {
	for _, accept := range []string{"*/*", "text/csv;q=0.5, application/json", "application/*;q=0", ";;q=,,", "text/csv;q=NaN"} {
		f.Add(accept, "gzip;q=0")
	}
	f.Fuzz(func(t *testing.T, accept, encoding string) {
		r := &http.Request{Header: http.Header{"Accept": {accept}, "Accept-Encoding": {encoding}}}
		offers := []string{"application/json", "text/csv"}
		if got, ok := httpapi.Negotiate(r, offers...); ok != slices.Contains(offers, got) {
			t.Errorf("%q gives %q, %v", accept, got, ok)
		}
		httpapi.AcceptsGzip(r)
		_ = httpapi.CheckAccept(r, offers)
	})
}
