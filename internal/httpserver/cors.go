package httpserver

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/hosts"
)

const (
	exposedHeaders = "Authorization, Location, ETag, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, Content-Range, Accept-Ranges, Warning"
	allowedHeaders = "Authorization, Content-Type, Accept, Content-Range, Content-Digest, Repr-Digest, Range, If-Range, If-Match, If-None-Match, Last-Event-ID"
	allowedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE"
	preflightLife  = "600" // seconds
)

// allowOrigin sets the CORS headers for an allowed origin, never with credentials (contract 1.10).
func (s *Server) allowOrigin(x *exchange, r *http.Request, host hosts.Host) {
	origin := r.Header.Get("Origin")
	if origin == "" || !s.originAllowed(r, origin, host) {
		return
	}
	x.origin = origin
	x.Header().Set("Access-Control-Allow-Origin", origin)
	x.Header().Set("Access-Control-Expose-Headers", exposedHeaders)
}

// originAllowed reports whether origin is configured, or is a hostname of the request host's organization with the scheme and port
// of the public URL.
func (s *Server) originAllowed(r *http.Request, origin string, host hosts.Host) bool {
	origin = strings.ToLower(origin)
	if slices.Contains(s.origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || host.Name == "" || u.Scheme != s.publicURL.Scheme || u.Port() != s.publicURL.Port() || u.Scheme+"://"+u.Host != origin {
		return false
	}
	if u.Hostname() == host.Name {
		return true
	}
	other, err := s.hosts.Resolve(r.Context(), u.Hostname())
	return err == nil && other.Own && other.Organization == host.Organization
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

func answerPreflight(x *exchange) {
	x.route = "preflight"
	h := x.Header()
	h.Set("Access-Control-Allow-Methods", allowedMethods)
	h.Set("Access-Control-Allow-Headers", allowedHeaders)
	h.Set("Access-Control-Max-Age", preflightLife)
	x.WriteHeader(http.StatusNoContent)
}
