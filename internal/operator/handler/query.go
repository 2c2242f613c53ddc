package handler

import (
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

// Items of a page of a list.
const (
	defaultLimit = 50
	maxLimit     = 200
)

// query reads the query of a list and collects what is wrong with it.
type query struct {
	values   url.Values
	problems fault.Problems
}

func queryOf(r *http.Request) *query { return &query{values: r.URL.Query()} }

// one returns a parameter that may be given once, empty when absent.
func (q *query) one(name string) string {
	values := q.values[name]
	if len(values) > 1 {
		q.problems.Add(name, "must be given once only")
	}
	if len(values) == 0 {
		return ""
	}
	if err := text.Line(values[0], text.MaxURL); err != nil {
		q.problems.Add(name, err.Error())
		return ""
	}
	return values[0]
}

// word returns a parameter that is one of words.
func (q *query) word(name string, words ...string) string {
	v := q.one(name)
	if v != "" && !slices.Contains(words, v) {
		q.problems.Add(name, "must be one of "+strings.Join(words, ", "))
	}
	return v
}

// number returns a whole number from least to most, otherwise when absent.
func (q *query) number(name string, least, most, otherwise int64) int64 {
	v := q.one(name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		q.problems.Add(name, "must be from "+strconv.FormatInt(least, 10)+" to "+strconv.FormatInt(most, 10))
	}
	return n
}

// limit returns how many items a page has.
func (q *query) limit() int { return int(q.number("limit", 1, maxLimit, defaultLimit)) }

// moment returns a time, zero when absent.
func (q *query) moment(name string) time.Time {
	v := q.one(name)
	if v == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, v)
	if err != nil {
		q.problems.Add(name, "must be a time like 2026-11-20T09:30:00Z")
	}
	return t
}

// uid returns an identifier, zero when absent.
func uid[T ~struct{ uuid.UUID }](q *query, name string) (u T) {
	v := q.one(name)
	if v == "" {
		return u
	}
	u, err := id.Parse[T](v)
	if err != nil {
		q.problems.Add(name, "must be a uid")
	}
	return u
}
