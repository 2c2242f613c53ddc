package strictjson

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/consign-dev/consign/internal/fault"
)

const typeForm = "application/x-www-form-urlencoded"

// DecodeForm reads a form body of at most 1 MiB (application/x-www-form-urlencoded). An empty body has no fields and needs no
// Content-Type. Field values may be any bytes; the caller validates them.
//
// Errors: 400 for a body that is malformed, 413, 415.
func DecodeForm(r *http.Request) (url.Values, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return url.Values{}, nil
	}
	if r.ContentLength > MaxBytes {
		return nil, TooLarge(MaxBytes)
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, MaxBytes))
	if err != nil {
		return nil, bodyError(err)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return url.Values{}, nil
	}
	if name, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || name != typeForm {
		return nil, fault.ErrUnsupported.With("Content-Type: send the body as " + typeForm)
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fault.ErrInvalid.With("body: is not " + typeForm)
	}
	return values, nil
}
