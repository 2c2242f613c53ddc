package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
)

// HandlerFunc answers a request or returns an error, which the pipeline turns into the answer. It must not write anything
// before it returns an error that the client shall see: an error after the first byte cuts the connection, so that a partial
// answer does not look complete.
type HandlerFunc func(w http.ResponseWriter, r *http.Request) error

// Style is which API a route belongs to.
type Style int

// The styles: a full bucket is 429 in the transfer API and 509 in the identity API (contract 1.7).
const (
	Transfer Style = iota
	Identity
)

// Body says what a route takes as request body. A positive number is a limit in bytes.
type Body int64

// The bodies of routes. JSONBody, the zero value, is limited to 1 MiB and has to arrive within 10 s and a second for each 16 KiB. A
// StreamBody has no limit here, and may take as long as its bytes keep moving.
const (
	JSONBody   Body = 0
	StreamBody Body = -1
)

// Limit returns the maximum size in bytes, negative for no limit.
func (b Body) Limit() int64 {
	if b == JSONBody {
		return strictjson.MaxBytes
	}
	return int64(b)
}

// OperatorBase is the base path of the console's API (contract 9), whose routes each domain has in its own route table.
const OperatorBase = "/admin/v1"

// AnyType in Produces stands for content whose type only the handler knows.
const AnyType = "*/*"

// Route declares one operation. The router, the authorization table and the OpenAPI check are made from a domain's table of
// routes.
type Route struct {
	Method, Pattern string // chi pattern below the base path; a GET also answers HEAD unless a HEAD route is declared, or it is Once
	Auth            token.Auth
	Bucket          Bucketing
	Handler         HandlerFunc
	Body            Body
	Produces        []string          // media types of the answer; nil: application/json
	Deprecated      string            // what to use instead; the route still works and sends a Warning header (contract 1.8)
	DeprecatedSince time.Time         // when Deprecated took effect
	Gone            bool              // answers 410
	Download        bool              // GET answers with the bytes of files: counted while in progress
	Creates         bool              // POST creates something: the header Idempotency-Key makes it repeatable
	Grows           bool              // makes rows for content, besides those of Creates: refused when the database's volume is nearly full
	Headers         map[string]string // of every answer, also of a refusal
	SignIn          bool              // operators sign in with it: it answers during maintenance at hosts that have the console
	Sensitive       []Sensitive       // sensitive changes of an organization that it can make (contract 3.29)
	Harmless        string            // why a route that changes an organization makes none
	Once            bool              // GET consumes something: HEAD, which must change nothing (RFC 9110, 9.2.1), is refused
}

// MakesRows reports whether a request makes rows for content. Operators' requests are left out: they make room.
func (r Route) MakesRows() bool { return (r.Creates || r.Grows) && !r.Auth.IsOperator() }

// Sensitive is a sensitive change of an organization, as a route table declares it.
type Sensitive struct {
	Change  token.Sensitive
	When    string // the condition, where the route makes other changes, too; empty: always
	NoProof bool   // the change itself needs no step-up: When says who has proved before
}

// MountedRoute is a Route at its full path.
type MountedRoute struct {
	Route
	Base  string // base path, "" for the root
	Path  string // Base + Pattern: the route's name in logs and metrics
	Style Style
}

// Client returns the sender of the request with context ctx.
func Client(ctx context.Context) token.Client { return token.CallerFrom(ctx).Client }

// Param returns a path parameter, unescaped. The router matches the escaped path when the two differ, so that an escaped
// slash stays part of the parameter.
func Param(r *http.Request, name string) string {
	value := chi.URLParam(r, name)
	if r.URL.RawPath == "" {
		return value
	}
	plain, err := url.PathUnescape(value)
	if err != nil {
		return value
	}
	return plain
}
