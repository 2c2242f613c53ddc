package httpapi

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/fault"
)

// Document answers a GET with body, or with 304 to a client that has it already. The handler has set Content-Type and ETag. A Range
// is ignored, as RFC 9110 (14.2) allows.
// Errors: fault.ErrVersion when If-Match names another version.
func Document(w http.ResponseWriter, r *http.Request, body []byte) error {
	if err := IfMatch(r, w.Header().Get("ETag")); err != nil {
		return err
	}
	r.Header.Del("Range")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	return nil
}

// IfMatch checks the If-Match header against etag. The APIs have no 412: the specification's advice for 409, read again and retry,
// fits.
// Errors: fault.ErrVersion when the header names another version.
func IfMatch(r *http.Request, etag string) error {
	wanted := strings.Join(r.Header.Values("If-Match"), ",")
	r.Header.Del("If-Match") // otherwise http.ServeContent would answer 412 without an error body
	if wanted == "" || strings.TrimSpace(wanted) == "*" {
		return nil
	}
	for one := range strings.SplitSeq(wanted, ",") {
		if strings.TrimSpace(one) == etag {
			return nil
		}
	}
	return fault.ErrVersion.With("If-Match: the resource is at another version, " + etag)
}
