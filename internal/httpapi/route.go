package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/token"
)

// HandlerFunc answers a request or returns why it did not. It must not have written anything when it returns an error
// that the client shall see; an error after the first byte cuts the connection instead, so that no answer looks whole.
type HandlerFunc func(w http.ResponseWriter, r *http.Request) error

// Style is what tells the two APIs' refusals apart.
type Style int

// The styles: a full bucket is 429 in the transfer API and 509 in the identity API (contract 1.7).
const (
	Transfer Style = iota
	Identity
)

// Body says what a route takes as request body. A positive number is a limit in bytes.
type Body int64

// The bodies of routes. JSONBody, the zero value, is limited to 1 MiB and has to arrive within a minute. A StreamBody
// has no limit here, and lives as long as its bytes keep moving.
const (
	JSONBody   Body = 0
	StreamBody Body = -1
)

const maxJSON = 1 << 20

func (b Body) limit() int64 {
	if b == JSONBody {
		return maxJSON
	}
	return int64(b)
}

// AnyType in Produces stands for content whose type only the handler knows.
const AnyType = "*/*"

// Route declares one operation. The table of a domain's Routes is what the router, the authorization table and the
// OpenAPI check are made from.
type Route struct {
	Method, Pattern string // chi pattern below the base path; a GET also answers HEAD unless a HEAD route is declared, or it is Once
	Auth            token.Auth
	Bucket          Bucketing
	Handler         HandlerFunc
	Body            Body
	Produces        []string  // media types of the answer; nil: application/json
	Deprecated      string    // what to do instead; the route still works and says so (contract 1.8)
	DeprecatedSince time.Time // when Deprecated took effect
	Dropped         bool      // answers 410
	Download        bool      // GET answers with the bytes of files: counted while it lasts
	Once            bool      // GET uses something up: HEAD, which must change nothing (RFC 9110, 9.2.1), is refused
}

// MountedRoute is a Route where it is served.
type MountedRoute struct {
	Route
	Base  string // base path, "" for the root
	Path  string // Base + Pattern: what logs and metrics call the route
	Style Style
}

// Mount serves routes below base. It panics when an operation is declared twice.
func (a *API) Mount(base string, style Style, routes []Route) {
	for _, route := range routes {
		m := MountedRoute{Route: route, Base: base, Path: base + route.Pattern, Style: style}
		if slices.ContainsFunc(a.routes, func(o MountedRoute) bool { return o.Method == m.Method && o.Path == m.Path }) {
			panic(fmt.Sprintf("httpapi: %s %s is mounted twice", m.Method, m.Path))
		}
		a.routes = append(a.routes, m)
		endpoint := a.endpoint(m)
		a.mux.Method(m.Method, m.Path, endpoint)
		hasHead := slices.ContainsFunc(routes, func(o Route) bool { return o.Method == http.MethodHead && o.Pattern == route.Pattern })
		if m.Method == http.MethodGet && !hasHead && !m.Once {
			a.mux.Method(http.MethodHead, m.Path, endpoint)
		}
	}
}

// Routes returns what is mounted, in order.
func (a *API) Routes() []MountedRoute { return slices.Clone(a.routes) }

// Dropped answers 410 at prefix and everything below it: a version that is gone (contract 1.1).
func (a *API) Dropped(prefix string) {
	for _, pattern := range []string{prefix, prefix + "/*"} {
		a.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if x := exchangeOf(w); x != nil {
				x.route = pattern
			}
			WriteError(w, r, errDropped)
		})
	}
}

var errDropped = fault.ErrGone.With("this version of the API was dropped; see /api/ for the current ones")

// Handle serves pages and the like at a chi pattern: all of serve applies, but no token, bucket or body limit.
func (a *API) Handle(pattern string, h http.Handler) {
	a.mux.Handle(pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exchangeOf(w).route = pattern
		h.ServeHTTP(w, r)
	}))
}

// HandleUnknown serves the paths that no route has; without it they answer with fault.ErrNotFound.
func (a *API) HandleUnknown(h http.HandlerFunc) { a.mux.NotFound(h) }

// Probe serves a health check at exactly path. It is answered over plain HTTP, to any host, during maintenance, and
// logged at debug level.
func (a *API) Probe(path string, h http.Handler) { a.probes[path] = h }

func (a *API) endpoint(m MountedRoute) http.HandlerFunc {
	var deprecation, warning string
	if m.Deprecated != "" {
		deprecation = "@" + strconv.FormatInt(max(0, m.DeprecatedSince.Unix()), 10) // RFC 9745
		warning = `299 - ` + strconv.Quote(m.Deprecated)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(w)
		x.route, x.style = m.Path, m.Style
		if warning != "" {
			x.Header().Set("Warning", warning)
			x.Header().Set("Deprecation", deprecation)
		}
		if err := a.call(x, r, m.Route); err != nil {
			x.hearOut(r)
			x.fail(r, err)
		}
	}
}

var errQuery = fault.ErrInvalid.With("query: must be name=value pairs, percent-encoded and joined by &")

// call is the way of a request from its route to its handler and back.
func (a *API) call(x *exchange, r *http.Request, route Route) error {
	if route.Dropped {
		return fault.ErrGone
	}
	caller, err := a.identify(x, r, route.Auth)
	if err != nil {
		return err
	}
	if err := a.pay(x, r, route.Bucket, caller); err != nil {
		return err
	}
	if err := checkAccept(r, route.Produces); err != nil {
		return err
	}
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil { // what net/url leaves out in silence may be what the caller relied on
		return errQuery
	}
	if limit := route.Body.limit(); limit >= 0 && r.ContentLength > limit {
		return tooLarge(limit)
	}
	if flying := a.traffic.of(route, r.Method); flying != nil {
		flying.Add(1)
		defer flying.Add(-1)
	}
	x.identified(caller)
	defer x.takeBody(r, route.Body)()
	return route.Handler(x, r)
}

// identify verifies the request's token. An invalid one costs the client's address a drop (contract 1.7), so that
// guessing is bounded.
func (a *API) identify(x *exchange, r *http.Request, auth token.Auth) (token.Caller, error) {
	if auth == token.None || a.authenticate == nil && auth.IsOptional() {
		return token.Caller{}, nil
	}
	if a.authenticate == nil {
		return token.Caller{}, token.ErrMissing
	}
	caller, err := a.authenticate(r, auth)
	if err == nil {
		return caller, nil
	}
	if isInvalidToken(err) {
		if full := a.buckets.TakeQuietly(x, r.Context(), a.address, AddressKey(x.client().Address), x.style); full != nil {
			return token.Caller{}, full
		}
	}
	return token.Caller{}, err
}

// Param returns a path parameter, unescaped. The router matches the escaped path when the two differ, so that a slash
// in a parameter stays a part of it.
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
