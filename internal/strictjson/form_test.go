package strictjson_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/strictjson"
)

func TestDecodeForm(t *testing.T) {
	t.Parallel()
	const form = "application/x-www-form-urlencoded"
	for name, c := range map[string]struct {
		contentType, body, value string
		want                     error
	}{
		"a field":        {form, "a=1&b=2", "1", nil},
		"escaped":        {form + "; charset=UTF-8", "a=%26+x%00%ff", "& x\x00\xff", nil},
		"empty":          {"", "", "", nil},
		"white space":    {"", "\r\n", "", nil},
		"no type":        {"", "a=1", "", fault.ErrUnsupported},
		"JSON":           {"application/json", `{"a":"1"}`, "", fault.ErrUnsupported},
		"multipart":      {"multipart/form-data; boundary=x", "--x--", "", fault.ErrUnsupported},
		"half an escape": {form, "a=%4", "", fault.ErrInvalid},
		"semicolon":      {form, "a=1;b=2", "", fault.ErrInvalid},
		"exactly 1 MiB":  {form, "a=" + strings.Repeat("x", 1<<20-2), strings.Repeat("x", 1<<20-2), nil},
		"over 1 MiB":     {form, "a=" + strings.Repeat("x", 1<<20), "", fault.ErrTooLarge},
	} {
		for _, announced := range []bool{true, false} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(c.body))
			if c.contentType != "" {
				r.Header.Set("Content-Type", c.contentType)
			}
			if !announced {
				r.ContentLength = -1
			}
			values, err := strictjson.DecodeForm(r)
			if !errors.Is(err, c.want) || c.want == nil && err != nil || values.Get("a") != c.value {
				t.Errorf("%s (length announced: %v): got %.40q and %v, want %v", name, announced, values.Get("a"), err, c.want)
			}
		}
	}
}
