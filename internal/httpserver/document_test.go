package httpserver_test

import (
	"net/http"
	"testing"

	"github.com/consign-dev/consign/internal/httpapi"
)

func TestDocument(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil).route(func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("ETag", `"v1"`)
		return httpapi.Document(w, r, []byte("0123456789"))
	})
	for _, c := range []struct {
		name, header, value string
		status              int
	}{
		{"plain", "", "", 200},
		{"known", "If-None-Match", `"v0", "v1"`, 304},
		{"new", "If-None-Match", `"v0"`, 200},
		{"a range", "Range", "bytes=2-3", 200},
		{"a range that is none", "Range", "bytes=9999999999999999999-", 200},
		{"the version there is", "If-Match", `"v0", "v1"`, 200},
		{"any version", "If-Match", "*", 200},
	} {
		got := f.do("GET", "/api/thing", "", header(c.header, c.value))
		if wantStatus(t, got, c.status); c.status == 200 && got.Body.String() != "0123456789" {
			t.Errorf("%s: %q", c.name, got.Body)
		}
	}
	wantError(t, f.do("GET", "/api/thing", "", header("If-Match", `"v0"`)), 409001)
}
