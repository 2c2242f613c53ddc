// Mounts routes and calls them: token, bucket, Accept, query and body size are checked in this order.

package httpserver

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
)

// Mount serves routes below base. It panics when an operation is declared twice.
func (s *Server) Mount(base string, style httpapi.Style, routes []httpapi.Route) {
	for _, route := range routes {
		m := httpapi.MountedRoute{Route: route, Base: base, Path: base + route.Pattern, Style: style}
		if slices.ContainsFunc(s.routes, func(o httpapi.MountedRoute) bool { return o.Method == m.Method && o.Path == m.Path }) {
			panic(fmt.Sprintf("httpserver: %s %s is mounted twice", m.Method, m.Path))
		}
		s.routes = append(s.routes, m)
		if m.SignIn || m.Auth.IsOperator() {
			s.lasting[m.Method+" "+m.Path] = true
		}
		endpoint := s.endpoint(m)
		s.mux.Method(m.Method, m.Path, endpoint)
		hasHead := slices.ContainsFunc(routes, func(o httpapi.Route) bool { return o.Method == http.MethodHead && o.Pattern == route.Pattern })
		if m.Method == http.MethodGet && !hasHead && !m.Once {
			s.mux.Method(http.MethodHead, m.Path, endpoint)
		}
	}
}

// Routes returns the mounted routes in the order of mounting.
func (s *Server) Routes() []httpapi.MountedRoute { return slices.Clone(s.routes) }

// Gone answers 410 at prefix and below it, for an API version that no longer exists (contract 1.1).
func (s *Server) Gone(prefix string) {
	for _, pattern := range []string{prefix, prefix + "/*"} {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if x := w.(*exchange); x != nil {
				x.route = pattern
			}
			httpapi.WriteError(w, r, errGone)
		})
	}
}

var errGone = fault.ErrGone.With("this version of the API was dropped; see /api/ for the current ones")

// Handle serves pages at a chi pattern: without token, bucket and body limit.
func (s *Server) Handle(pattern string, h http.Handler) {
	s.mux.Handle(pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(*exchange).route = pattern
		h.ServeHTTP(w, r)
	}))
}

// HandleSignIn is Handle for pages and files with which operators sign in: they go on during maintenance at hosts that have the console.
func (s *Server) HandleSignIn(pattern string, h http.Handler) {
	s.lasting[pattern] = true
	s.Handle(pattern, h)
}

// HandleAlways is Handle for files of pages: they go on during maintenance.
func (s *Server) HandleAlways(pattern string, h http.Handler) {
	s.always[pattern] = true
	s.Handle(pattern, h)
}

// HandleMaintenance serves what is refused during maintenance. h reports whether it answered; otherwise a fault does.
func (s *Server) HandleMaintenance(h func(http.ResponseWriter, *http.Request) bool) { s.closed = h }

// HandleUnknown serves paths without a route. The default answers fault.ErrNotFound.
func (s *Server) HandleUnknown(h http.HandlerFunc) { s.mux.NotFound(h) }

// Probe serves a health check at exactly path. It answers over plain HTTP, to any host and during maintenance, and is logged at
// debug level.
func (s *Server) Probe(path string, h http.Handler) { s.probes[path] = h }

func (s *Server) endpoint(m httpapi.MountedRoute) http.HandlerFunc {
	var deprecation, warning string
	if m.Deprecated != "" {
		deprecation = "@" + strconv.FormatInt(max(0, m.DeprecatedSince.Unix()), 10) // RFC 9745
		warning = `299 - ` + strconv.Quote(m.Deprecated)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		x := w.(*exchange)
		x.route, x.style = m.Path, m.Style
		for name, value := range m.Headers {
			x.Header().Set(name, value)
		}
		if warning != "" {
			x.Header().Set("Warning", warning)
			x.Header().Set("Deprecation", deprecation)
		}
		if err := s.call(x, r, m.Route); err != nil {
			x.drainBody(r)
			x.Fail(r, err)
		}
	}
}

var errQuery = fault.ErrInvalid.With("query: must be name=value pairs, percent-encoded and joined by &")

// call takes a request from its route to the handler: authentication, rate limit, checks, body limits.
func (s *Server) call(x *exchange, r *http.Request, route httpapi.Route) error {
	if route.Gone {
		return fault.ErrGone
	}
	if route.Auth.IsOperator() && !s.hasConsole(x) {
		return fault.ErrNotFound
	}
	caller, err := s.identify(x, r, route.Auth)
	if err != nil {
		return err
	}
	if err := s.takeToken(x, r, route.Bucket, caller); err != nil {
		return err
	}
	if err := httpapi.CheckAccept(r, route.Produces); err != nil {
		return err
	}
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil { // url.Query would skip malformed pairs silently
		return errQuery
	}
	if s.room != nil && route.MakesRows() {
		if err := s.room(); err != nil {
			return err
		}
	}
	if limit := route.Body.Limit(); limit >= 0 && r.ContentLength > limit {
		return strictjson.TooLarge(limit)
	}
	if x.moves = s.traffic.of(route, r.Method); x.moves != nil {
		x.moves.Add(1)
		defer x.moves.Add(-1)
	}
	if !caller.Anonymous() {
		caller.Client = x.client
		r = r.WithContext(token.WithCaller(r.Context(), caller))
	}
	defer x.takeBody(r, route.Body)()
	return s.once(x, r, route, caller)
}

// identify authenticates the request. An invalid token takes a token from the bucket of the client's address (contract 1.7), which
// limits guessing.
func (s *Server) identify(x *exchange, r *http.Request, auth token.Auth) (token.Caller, error) {
	if auth == token.None || s.authenticate == nil && auth.IsOptional() {
		return token.Caller{}, nil
	}
	if s.authenticate == nil {
		return token.Caller{}, token.ErrMissing
	}
	caller, err := s.authenticate(r, auth)
	if err == nil {
		return caller, nil
	}
	if isInvalidToken(err) {
		if full := s.buckets.TakeQuietly(x, r.Context(), s.address, ratelimit.AddressKey(x.client.Address), x.style); full != nil {
			return token.Caller{}, full
		}
	}
	return token.Caller{}, err
}
