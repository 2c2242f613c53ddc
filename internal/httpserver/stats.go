package httpserver

import (
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
)

// Finished is one request that has ended, for Options.Observe. None of its members is a client's choice: unknown routes
// and methods have one name each.
type Finished struct {
	Route   string // the pattern, as in the access line; "unmatched" before a route was found
	Method  string // "other" for methods that no route has
	Status  int
	Aborted bool // the connection was cut instead of ending the answer
	Elapsed time.Duration
}

// Stats are what an API has moved since its start and what it is moving now.
type Stats struct {
	BytesIn, BytesOut           int64 // of bodies
	Uploads, Downloads, Streams int64 // requests under way
}

// Stats returns the present numbers.
func (s *Server) Stats() Stats {
	t := &s.traffic
	return Stats{
		BytesIn: t.in.Load(), BytesOut: t.out.Load(),
		Uploads: t.uploads.Load(), Downloads: t.downloads.Load(), Streams: t.streams.Load(),
	}
}

// traffic is counted while it flows: an upload of an hour shows before it has ended.
type traffic struct{ in, out, uploads, downloads, streams atomic.Int64 }

// of returns the gauge of requests under way that a request to route belongs to; nil: it is an ordinary one.
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

// knownMethod is the method as logs and metrics name it.
func knownMethod(method string) string {
	if method == http.MethodOptions || slices.Contains(methods, method) {
		return method
	}
	return "other"
}
