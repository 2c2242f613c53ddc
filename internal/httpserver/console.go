package httpserver

import (
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"
)

// Console says where the routes of operators (token.Auth.Operator) and the console's pages exist. Elsewhere they answer 404.
type Console int

// The places of the console. ConsolePublic includes the admin listener.
const (
	ConsoleOff      Console = iota
	ConsoleListener         // at AdminHandler only
	ConsolePublic           // also at the hosts of the free organization, which are those of the installation
)

// AdminHandler returns the handler of the admin listener: all that Handler serves, with the console unless it is off. It serves every
// host name as the host of the public URL, because operators reach it through tunnels and private names. Over plain HTTP it takes
// requests from loopback only, unless the public URL is plain HTTP.
func (s *Server) AdminHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, true) })
}

// HandleConsole is Handle for pages that exist only where the console does.
func (s *Server) HandleConsole(pattern string, h http.Handler) {
	s.lasting[pattern] = true
	s.mux.Handle(pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := w.(*exchange)
		if !s.hasConsole(x) {
			s.mux.NotFoundHandler().ServeHTTP(w, r)
			return
		}
		x.route = pattern
		h.ServeHTTP(w, r)
	}))
}

// hasConsole reports whether the console exists where the request was sent to.
func (s *Server) hasConsole(x *exchange) bool {
	return s.console != ConsoleOff && x.admin || s.console == ConsolePublic && x.client.Host.Free
}

// lasts reports whether a request goes on during maintenance: it is for a file of pages, or operators need it for the console, or for
// signing in there.
func (s *Server) lasts(x *exchange, r *http.Request) bool {
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}
	pattern := s.mux.Find(chi.NewRouteContext(), r.Method, path)
	if !s.hasConsole(x) {
		return s.always[pattern]
	}
	return s.always[pattern] || s.lasting[pattern] || s.lasting[r.Method+" "+pattern]
}

// originOf returns the origin that pages of this request's listener have, apart from the host.
func (s *Server) originOf(x *exchange, f forwarding) *url.URL {
	switch {
	case !x.admin:
		return s.publicURL
	case f.https:
		return &url.URL{Scheme: "https"}
	}
	return &url.URL{Scheme: "http"}
}
