package httpapi

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/fault"
)

// Document answers a GET with a body that is in memory, whose Content-Type and ETag the handler has set, or with 304 to a client that
// has it already. It is sent as a whole: a Range is ignored, as RFC 9110 (14.2) allows. Errors: fault.ErrConflict, see IfMatch.
func Document(w http.ResponseWriter, r *http.Request, body []byte) error {
	if err := IfMatch(r, w.Header().Get("ETag")); err != nil {
		return err
	}
	r.Header.Del("Range")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	return nil
}

// IfMatch refuses a request that wants another version than the one with this ETag. Neither API has a 412; what the specification says
// of 409, reread and retry, is what such a client has to do. Errors: fault.ErrConflict.
func IfMatch(r *http.Request, etag string) error {
	wanted := strings.Join(r.Header.Values("If-Match"), ",")
	r.Header.Del("If-Match") // decided here, with an error body; http.ServeContent would answer without
	if wanted == "" || strings.TrimSpace(wanted) == "*" {
		return nil
	}
	for one := range strings.SplitSeq(wanted, ",") {
		if strings.TrimSpace(one) == etag {
			return nil
		}
	}
	return fault.ErrConflict.With("If-Match: the resource is at another version, " + etag)
}
