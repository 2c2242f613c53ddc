package httpapi

import (
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/text"
)

// Query reads the query of a request and collects what is wrong with it.
type Query struct {
	values   url.Values
	problems fault.Problems
}

// QueryOf returns the query of a request.
func QueryOf(r *http.Request) *Query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &Query{values: values}
	if err != nil {
		q.refuse("query", "cannot be read")
	}
	return q
}

// refuse adds what is wrong with a parameter.
func (q *Query) refuse(name, problem string) { q.problems.Add(name, problem) }

// Err returns an error when something is wrong.
// Errors: fault.ErrInvalid.
func (q *Query) Err() error { return q.problems.Err() }

// One returns a parameter that may be given once, empty when absent.
func (q *Query) One(name string) string {
	values := q.values[name]
	if len(values) > 1 {
		q.refuse(name, "must be given once only")
	}
	if len(values) == 0 {
		return ""
	}
	if err := text.Line(values[0], text.MaxURL); err != nil {
		q.refuse(name, err.Error())
		return ""
	}
	return values[0]
}

// Word returns a parameter that is one of words.
func (q *Query) Word(name string, words ...string) string {
	v := q.One(name)
	if v != "" && !slices.Contains(words, v) {
		q.refuse(name, "must be one of "+strings.Join(words, ", "))
	}
	return v
}

// Number returns a whole number from least to most; otherwise when the parameter is absent.
func (q *Query) Number(name string, least, most, otherwise int64) int64 {
	v := q.One(name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		q.refuse(name, "must be from "+strconv.FormatInt(least, 10)+" to "+strconv.FormatInt(most, 10))
	}
	return n
}

// Moment returns a time, zero when absent.
func (q *Query) Moment(name string) time.Time {
	v := q.One(name)
	if v == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, v)
	if err != nil {
		q.refuse(name, "must be a time like 2026-11-20T09:30:00Z")
	}
	return t
}

// QueryUID returns an identifier, zero when absent.
func QueryUID[T ~struct{ uuid.UUID }](q *Query, name string) (u T) {
	v := q.One(name)
	if v == "" {
		return u
	}
	u, err := id.Parse[T](v)
	if err != nil {
		q.refuse(name, "must be a uid")
	}
	return u
}

// Height returns the query parameter height of a picture, in pixels and rounded up; 0 when absent.
// Errors: fault.ErrInvalid.
func Height(r *http.Request) (int, error) {
	const name, most = "height", 100_000
	q := QueryOf(r)
	v := q.One(name)
	if !q.values.Has(name) {
		return 0, q.Err()
	}
	pixels, err := strconv.ParseFloat(v, 64)
	if err != nil || !(pixels >= 1 && pixels <= most) { // not a number is neither
		q.refuse(name, "must be a number of pixels from 1 to "+strconv.Itoa(most))
		return 0, q.Err()
	}
	return int(math.Ceil(pixels)), q.Err()
}
