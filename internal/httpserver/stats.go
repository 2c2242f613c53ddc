package httpserver

import (
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
)

// Finished is one finished request, for Options.Observe. Clients cannot choose any of its values: unknown routes and methods have
// one name each.
type Finished struct {
	Route   string // the pattern, as in the access line; "unmatched" before a route was found
	Method  string // "other" for methods that no route has
	Status  int
	Aborted bool // the connection was cut instead of ending the answer
	Elapsed time.Duration
}

// Stats counts bytes since the start and requests in progress.
type Stats struct {
	BytesIn, BytesOut           int64 // of bodies
	Uploads, Downloads, Streams int64 // requests in progress
}

// Stats returns the current numbers.
func (s *Server) Stats() Stats {
	t := &s.traffic
	return Stats{
		BytesIn: t.in.Load(), BytesOut: t.out.Load(),
		Uploads: t.uploads.Load(), Downloads: t.downloads.Load(), Streams: t.streams.Load(),
	}
}

// traffic is counted while bytes move, so that a long upload shows before it ends.
type traffic struct{ in, out, uploads, downloads, streams atomic.Int64 }

// of returns the gauge that counts a request to route while it is in progress, nil for an ordinary request.
func (t *traffic) of(route httpapi.Route, method string) *atomic.Int64 {
	switch {
	case route.Body == httpapi.StreamBody:
		return &t.uploads
	case route.Download && method == http.MethodGet:
		return &t.downloads
	case slices.Contains(route.Produces, httpapi.TypeEvents):
		return &t.streams
	}
	return nil
}

// knownMethod returns the name of a method in logs and metrics.
func knownMethod(method string) string {
	if method == http.MethodOptions || slices.Contains(methods, method) {
		return method
	}
	return "other"
}
