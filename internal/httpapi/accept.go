// Accept and Accept-Encoding: quality values, the best type, and 406.

package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/consign-dev/consign/internal/fault"
)

const typeJSON = "application/json"

// Negotiate returns the offer with the highest quality in the request's Accept header, the first of equal ones, and false when the
// header excludes all. A missing header accepts anything (RFC 9110, 12.5.1).
func Negotiate(r *http.Request, offers ...string) (string, bool) {
	values := r.Header["Accept"]
	if len(values) == 0 {
		return offers[0], true
	}
	accept := strings.Join(values, ",")
	if strings.TrimSpace(accept) == "" {
		return offers[0], true
	}
	best, bestQuality := "", 0.0
	for _, offer := range offers {
		if q := quality(accept, offer); q > bestQuality {
			best, bestQuality = offer, q
		}
	}
	return best, best != ""
}

// quality returns the weight of the most specific range in accept that matches offer.
func quality(accept, offer string) float64 {
	if offer == AnyType {
		return 1
	}
	major, _, _ := strings.Cut(offer, "/")
	best, specific := 0.0, 0
	for part := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(part, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		var rank int
		switch name {
		case offer:
			rank = 3
		case major + "/*":
			rank = 2
		case AnyType:
			rank = 1
		}
		if rank == 0 || rank < specific {
			continue
		}
		q := weight(params)
		if rank > specific || q > best {
			best, specific = q, rank
		}
	}
	return best
}

// weight returns the parameter q, 1 when it is missing or invalid.
func weight(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(q >= 0 && q <= 1) {
			return 1
		}
		return q
	}
	return 1
}

// AcceptsGzip reports whether the request's Accept-Encoding (RFC 9110, 12.5.3) names gzip and does not refuse it.
func AcceptsGzip(r *http.Request) bool {
	for _, field := range r.Header["Accept-Encoding"] {
		for part := range strings.SplitSeq(field, ",") {
			if name, params, _ := strings.Cut(part, ";"); strings.EqualFold(strings.TrimSpace(name), "gzip") {
				return weight(params) > 0
			}
		}
	}
	return false
}

// CheckAccept returns an error unless the request's Accept header allows one of the media types a route produces; nil stands for
// application/json.
// Errors: fault.ErrNotAcceptable.
func CheckAccept(r *http.Request, produces []string) error {
	if len(r.Header["Accept"]) == 0 {
		return nil
	}
	if produces == nil {
		if quality := r.Header.Get("Accept"); quality == "*/*" || quality == typeJSON {
			return nil
		}
		produces = []string{typeJSON}
	}
	if _, ok := Negotiate(r, produces...); !ok {
		return fault.ErrNotAcceptable.With("Accept: this resource offers " + strings.Join(produces, ", "))
	}
	return nil
}
