// What happens to every request before routing: request id, security headers, HTTPS rule, host, maintenance.

package httpserver

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/idempotency"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/requestid"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
)

// Options is what a Server is built from. All members but the functions
// Authenticate, Classify, Room, Maintenance, Stopping and Observe are required.
type Options struct {
	// Authenticate turns a request's token into its caller: token.Verifier's method. Without it only routes of
	// token.None can be called.
	Authenticate     func(*http.Request, token.Auth) (token.Caller, error)
	Limiter          *ratelimit.Limiter
	Hosts            *hosts.Directory
	Sealer           *seal.Sealer // signs the anonymous session cookie; recognizes the questions of consign doctor
	TrustedProxies   []netip.Prefix
	RequireHTTPS     bool
	HSTSSubdomains   bool // HSTS includes subdomains
	PublicURL        *url.URL
	CORSOrigins      []string                   // allowed beside the organization's own hostnames, as scheme://host[:port]
	UploadPaths      []string                   // prefixes of paths that the upload origins of the host's organization may call, too
	APIBucket        ratelimit.Limit            // for calls with an API token, instead of the general bucket, per token
	AddressBucket    ratelimit.Limit            // for new anonymous sessions and invalid tokens, per client address
	AnonymousSession time.Duration              // life of the anonymous session cookie
	Classify         func(error) error          // maps errors of libraries to faults and returns others unchanged: database.Classify
	Idempotency      *idempotency.Store         // answers of requests with Idempotency-Key; nil: the header is ignored
	Room             func() error               // refuses requests that make rows for content while the volume is nearly full; nil: never
	Maintenance      func() bool                // whether consign maintenance is on
	Console          Console                    // where the routes and pages of operators exist
	Settings         map[string]string          // marks of the settings (package probe), for consign doctor
	Memory           func() (used, limit int64) // probe.Memory, for consign doctor
	Stopping         func() bool                // whether the server is shutting down: answers then close their connections
	Observe          func(Finished)             // is called for each finished request except health checks
	Now              func() time.Time
	Log              *slog.Logger
}

// Server is the pipeline and the routes mounted on it. Mount everything before the first request.
type Server struct {
	authenticate func(*http.Request, token.Auth) (token.Caller, error)
	buckets      *httpapi.Buckets
	api          ratelimit.Bucket // takes a token for each call with an API token whose route has the general bucket
	address      ratelimit.Bucket // takes a token for each new anonymous session and each invalid token
	sessions     *sessions
	hosts        *hosts.Directory
	trusted      []netip.Prefix
	requireHTTPS bool
	hsts         string // Strict-Transport-Security over https
	publicURL    *url.URL
	origins      []string
	uploadPaths  []string
	classify     func(error) error
	idempotency  *idempotency.Store
	maintenance  func() bool
	room         func() error
	console      Console
	stopping     func() bool
	observe      func(Finished)
	sealer       *seal.Sealer
	settings     map[string]string
	memory       func() (used, limit int64)
	now          func() time.Time
	log          *slog.Logger

	mux    *chi.Mux
	routes []httpapi.MountedRoute
	probes map[string]http.Handler
	always map[string]bool                               // a page's pattern: goes on during maintenance at all hosts
	closed func(http.ResponseWriter, *http.Request) bool // answers browsers during maintenance
	// lasting: method and pattern, or a page's pattern. It goes on during maintenance at hosts that have the console.
	lasting map[string]bool
	traffic traffic
	warned  atomic.Bool // the warning about untrusted forwarding headers was logged
}

// New returns a Server without routes.
func New(o Options) *Server {
	s := &Server{
		authenticate: o.Authenticate, hosts: o.Hosts, trusted: o.TrustedProxies, requireHTTPS: o.RequireHTTPS, hsts: hsts(o.HSTSSubdomains),
		publicURL: o.PublicURL, uploadPaths: o.UploadPaths, classify: o.Classify, maintenance: o.Maintenance, room: o.Room, console: o.Console,
		stopping: o.Stopping, observe: o.Observe,
		sealer: o.Sealer, settings: o.Settings, memory: o.Memory, now: o.Now, log: o.Log, idempotency: o.Idempotency,
		buckets: httpapi.NewBuckets(o.Limiter),
		address: ratelimit.Bucket{Name: "address", Limit: o.AddressBucket, By: ratelimit.ByAddress},
		api:     ratelimit.Bucket{Name: "api-token", Limit: o.APIBucket, By: ratelimit.BySession},
		mux:     chi.NewMux(),
		probes:  make(map[string]http.Handler),
		lasting: make(map[string]bool), always: make(map[string]bool),
	}
	for _, origin := range o.CORSOrigins {
		s.origins = append(s.origins, strings.ToLower(strings.TrimSuffix(origin, "/")))
	}
	s.sessions = newSessions(o.Sealer, o.AnonymousSession, httpapi.SecureCookies(o.PublicURL), o.Now)
	s.mux.NotFound(func(w http.ResponseWriter, r *http.Request) { httpapi.WriteError(w, r, fault.ErrNotFound) })
	s.mux.MethodNotAllowed(s.methodNotAllowed)
	return s
}

// Handler returns the handler for an http.Server.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, false) })
}

// serve takes every request up to the router. Server.call continues for a route. admin: it came to the admin listener.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, admin bool) {
	x := s.begin(w, r)
	x.admin = admin
	defer s.end(x, r) // recovers from panics and writes the access log
	ctx := requestid.With(r.Context(), x.id)
	if probe, ok := s.probes[r.URL.Path]; ok {
		x.route, x.probe = r.URL.Path, true
		probe.ServeHTTP(x, r.WithContext(ratelimit.WithClient(ctx, x.client.Address)))
		return
	}
	forwarded := s.forwarded(x, r)
	if s.probed(x, r, forwarded) {
		return
	}
	s.warnUntrusted(x, r)
	x.client.Address = forwarded.address
	ctx = ratelimit.WithClient(ctx, x.client.Address)
	x.client.SameOrigin = s.sameOrigin(r, forwarded.host, s.originOf(x, forwarded))
	err := s.admit(ctx, x, r, forwarded)
	r = r.WithContext(token.WithCaller(ctx, token.Caller{Client: x.client}))
	if errors.Is(err, errMaintenance) && s.closed != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		x.Header().Set("Retry-After", "60")
		if s.closed(x, r) {
			return
		}
	}
	if err != nil {
		x.Fail(r, err)
		return
	}
	if x.origin != "" && isPreflight(r) {
		answerPreflight(x)
		return
	}
	s.mux.ServeHTTP(x, r)
}

// begin wraps the response writer and sets the headers that every answer has (contract 1.13).
func (s *Server) begin(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{ResponseWriter: w, server: s, started: time.Now(), route: "unmatched", conn: connectionOf(r)}
	x.client = token.Client{
		Address: peer(r.RemoteAddr), UserAgent: r.UserAgent(),
		Browser: r.Header.Get("Cookie") != "" || r.Header.Get("Sec-Fetch-Site") == "same-origin",
	}
	x.trusted = s.isTrusted(x.client.Address)
	x.startWrites()
	x.id = newID()
	if x.trusted {
		if sent := r.Header.Get(headerRequestID); wellFormedID(sent) {
			x.id = sent
		}
	}
	h := w.Header()
	h.Set(headerRequestID, x.id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", apiPolicy) // pages and downloads set their own
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Origin")
	if s.stopping != nil && s.stopping() {
		h.Set("Connection", "close")
	}
	return x
}

// hsts returns the value of Strict-Transport-Security: one year.
func hsts(subdomains bool) string {
	if subdomains {
		return "max-age=31536000; includeSubDomains"
	}
	return "max-age=31536000"
}

// apiPolicy is the Content-Security-Policy of an API's answer, in case that a browser opens it as a page.
const apiPolicy = "default-src 'none'; frame-ancestors 'none'"

const headerRequestID = "X-Request-Id"

// newID returns a new request id: 128 random bits in hexadecimal. They are unique, not secret.
func newID() string {
	var raw [16]byte
	binary.NativeEndian.PutUint64(raw[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(raw[8:], rand.Uint64())
	var text [2 * len(raw)]byte
	hex.Encode(text[:], raw[:])
	return string(text[:])
}

// wellFormedID reports whether a request id that a proxy sent is taken over into answers and logs.
func wellFormedID(s string) bool {
	if len(s) < 8 || len(s) > 64 {
		return false
	}
	return strings.IndexFunc(s, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')
	}) < 0
}

// errNoHTTPS names the setting because an operator who has not declared the proxy sees this error.
var errNoHTTPS = fault.ErrForbidden.With(
	"this server answers over HTTPS only; if a proxy ends TLS in front of it, list the proxy's address in CONSIGN_TRUSTED_PROXIES and let " +
		"it send X-Forwarded-Proto: https")

var errMaintenance = fault.ErrUnavailable.With("the service is under maintenance").WithRetryAfter(time.Minute)

// admit resolves the host, answers CORS, and refuses plain HTTP, unknown hosts and requests during maintenance (contract 1.2, 1.3,
// 1.9, 1.10).
func (s *Server) admit(ctx context.Context, x *exchange, r *http.Request, f forwarding) error {
	if f.https {
		x.Header().Set("Strict-Transport-Security", s.hsts)
	} else if s.requireHTTPS && !(x.admin && f.address.IsLoopback()) {
		return errNoHTTPS
	}
	name := f.host
	if x.admin {
		name = s.publicURL.Hostname()
	}
	host, hostErr := s.hosts.Resolve(ctx, name)
	x.client.Host, x.client.HostName = host, hosts.Normalize(name)
	if !x.admin {
		s.allowOrigin(x, r, host)
	}
	if s.maintenance != nil && s.maintenance() && !x.admin && !s.lasts(x, r) {
		return errMaintenance
	}
	return hostErr
}

func (s *Server) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}
	var allowed []string
	for _, method := range methods {
		if s.mux.Match(chi.NewRouteContext(), method, path) {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 { // no route has this method
		httpapi.WriteError(w, r, fault.ErrNotFound)
		return
	}
	allow := strings.Join(allowed, ", ")
	w.Header().Set("Allow", allow)
	httpapi.WriteError(w, r, fault.ErrMethodNotAllowed.With("this resource supports "+allow))
}

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodOptions}

// end finishes a request. It turns a panic into a 500, or cuts the connection if the answer has begun, reports to Options.Observe
// and writes the access log.
func (s *Server) end(x *exchange, r *http.Request) {
	thrown := recover()
	err, _ := thrown.(error)
	aborted := errors.Is(err, http.ErrAbortHandler)
	if thrown != nil && !aborted {
		aborted = x.crashed(thrown)
	}
	if x.status == 0 {
		x.status = http.StatusOK // what net/http sends for a handler that wrote nothing
	}
	f := Finished{Route: x.route, Method: knownMethod(r.Method), Status: x.status, Aborted: aborted, Elapsed: time.Since(x.started)}
	x.endWrites(x.started.Add(f.Elapsed))
	if !x.probe {
		s.traffic.count(x)
		if s.observe != nil {
			s.observe(f)
		}
	}
	s.logRequest(x, r, f)
	if aborted {
		panic(http.ErrAbortHandler)
	}
}

func (s *Server) isTrusted(addr netip.Addr) bool {
	return addr.IsValid() && slices.ContainsFunc(s.trusted, func(p netip.Prefix) bool { return p.Contains(addr) })
}
