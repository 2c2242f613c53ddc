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

	// Requests that have ended since the start, without health checks: all, those that failed by the server's fault, uploads and downloads.
	Ended, Failed, EndedUploads, EndedDownloads int64
}

// Stats returns the current numbers.
func (s *Server) Stats() Stats {
	t := &s.traffic
	return Stats{
		BytesIn: t.in.Load(), BytesOut: t.out.Load(),
		Uploads: t.uploads.Load(), Downloads: t.downloads.Load(), Streams: t.streams.Load(),
		Ended: t.ended.Load(), Failed: t.failed.Load(), EndedUploads: t.endedUploads.Load(), EndedDownloads: t.endedDownloads.Load(),
	}
}

// traffic is counted while bytes move, so that a long upload shows before it ends.
type traffic struct {
	in, out, uploads, downloads, streams        atomic.Int64
	ended, failed, endedUploads, endedDownloads atomic.Int64
}

// count counts a request that has ended. 509 is a rate limit of the identity API.
func (t *traffic) count(x *exchange) {
	t.ended.Add(1)
	if status := max(x.status, x.lateStatus); status >= 500 && status != 509 {
		t.failed.Add(1)
	}
	switch x.moves {
	case &t.uploads:
		t.endedUploads.Add(1)
	case &t.downloads:
		t.endedDownloads.Add(1)
	}
}

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
