package strictjson_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/strictjson"
)

// FuzzForm checks that a form body is read or refused with a problem of the client.
func FuzzForm(f *testing.F) {
	f.Add("state=a&id_token=b", "application/x-www-form-urlencoded")
	f.Add("a=%zz;b", "application/x-www-form-urlencoded; charset=utf-8")
	f.Add("x", "text/plain;;;")
	f.Fuzz(func(t *testing.T, body, kind string) {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		if values, err := strictjson.DecodeForm(r); (values == nil) == (err == nil) {
			t.Errorf("%q: %v, %v", body, values, err)
		}
	})
}
