package httpapi_test

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
)

func TestDocument(t *testing.T) {
	t.Parallel()
	get := func(name, value string) (*httptest.ResponseRecorder, error) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/document", nil)
		if name != "" {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("ETag", `"v1"`)
		return w, httpapi.Document(w, r, []byte("0123456789"))
	}
	for _, c := range []struct {
		name, header, value string
		status              int
	}{
		{"no condition", "", "", 200},
		{"the client has this version", "If-None-Match", `"v0", "v1"`, 304},
		{"the client has another version", "If-None-Match", `"v0"`, 200},
		{"a range", "Range", "bytes=2-3", 200},
		{"a malformed range", "Range", "bytes=9999999999999999999-", 200},
		{"the current version is required", "If-Match", `"v0", "v1"`, 200},
		{"any version is required", "If-Match", "*", 200},
	} {
		w, err := get(c.header, c.value)
		if err != nil || w.Code != c.status {
			t.Errorf("%s: status %d, want %d: %v", c.name, w.Code, c.status, err)
		}
		if c.status == 200 && w.Body.String() != "0123456789" {
			t.Errorf("%s: body %q", c.name, w.Body)
		}
	}
	w, err := get("If-Match", `"v0"`)
	if f := new(fault.Error); !errors.As(err, &f) || f.Code != 409002 || w.Body.Len() > 0 {
		t.Errorf("another version is required: %v, body %q", err, w.Body)
	}
}
