// CORS: which origins may call which paths, and the check of Origin and Sec-Fetch-Site for cookies.

package httpserver

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/hosts"
)

const (
	exposedHeaders = "Authorization, Location, ETag, Retry-After, RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, " +
		"Content-Range, Accept-Ranges, Warning, Idempotency-Replayed, " +
		"Tus-Resumable, Tus-Version, Tus-Extension, Tus-Checksum-Algorithm, Upload-Offset, Upload-Length, Upload-Defer-Length, " +
		"Upload-Metadata, Upload-Concat, Upload-Expires, " +
		"Upload-Complete, Upload-Incomplete, Upload-Limit, Upload-Draft-Interop-Version, Accept-Patch, Repr-Digest"
	allowedHeaders = "Authorization, Content-Type, Accept, Content-Range, Content-Digest, Repr-Digest, Range, If-Range, If-Match, " +
		"If-None-Match, Last-Event-ID, Idempotency-Key, " +
		"Tus-Resumable, Upload-Offset, Upload-Length, Upload-Defer-Length, Upload-Metadata, Upload-Concat, Upload-Checksum, Upload-Complete, " +
		"Upload-Incomplete, Upload-Draft-Interop-Version, Content-Disposition, X-HTTP-Method-Override, X-Request-ID, X-Requested-With"
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

// originAllowed reports whether origin is configured, is listed by the request host's organization for the paths of uploads, or is
// a hostname of that organization with the scheme and port of the public URL.
func (s *Server) originAllowed(r *http.Request, origin string, host hosts.Host) bool {
	origin = strings.ToLower(origin)
	if slices.Contains(s.origins, origin) || s.forUploads(r) && host.ListsOrigin(origin) {
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

// forUploads reports whether a request is for one of Options.UploadPaths. It reads the path as the router does.
func (s *Server) forUploads(r *http.Request) bool {
	path := cmp.Or(r.URL.RawPath, r.URL.Path)
	return slices.ContainsFunc(s.uploadPaths, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

// sameOrigin reports whether the client's browser says that a page of the request's own origin sends it: Sec-Fetch-Site, which
// scripts cannot set, is same-origin, and Origin is the host's own. GET and HEAD of the same origin carry no Origin. A port is
// compared with that of the request and of base, because proxies leave it out of Host.
func (s *Server) sameOrigin(r *http.Request, host string, base *url.URL) bool {
	if site := r.Header["Sec-Fetch-Site"]; len(site) != 1 || site[0] != "same-origin" {
		return false
	}
	origin := r.Header["Origin"]
	if len(origin) == 0 {
		return r.Method == http.MethodGet || r.Method == http.MethodHead
	}
	u, err := url.Parse(origin[0])
	if err != nil || len(origin) != 1 || u.Scheme+"://"+u.Host != origin[0] || u.Scheme != base.Scheme {
		return false
	}
	host = strings.ToLower(host)
	if u.Host == host {
		return true
	}
	return u.Port() == base.Port() && u.Hostname() == host
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
