package httpserver

import (
	"context"
	"net"
	"net/http"
	"time"
)

// connection is what the requests of one HTTP/1 connection share, one after the other: the age of its write deadline. Setting a
// deadline for each request instead costs 8 % of the requests per second of GET /environment (docs/develop/benchmarks.md).
type connection struct {
	moved time.Time // when the write deadline was last extended
}

type connectionKey struct{}

// Connected is the ConnContext of the http.Server that serves Handler. Without it each request sets a write deadline.
func (s *Server) Connected(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, &connection{})
}

// connectionOf returns the connection of a request. Requests of HTTP/2 run in parallel, each on a stream with its own
// deadline, so they get a new one.
func connectionOf(r *http.Request) *connection {
	if c, ok := r.Context().Value(connectionKey{}).(*connection); ok && r.ProtoMajor == 1 {
		return c
	}
	return &connection{}
}

// startWrites extends the write deadline that an earlier request left on the connection, unless it is recent.
func (x *exchange) startWrites() {
	x.moved = x.conn.moved
	if x.started.Sub(x.moved) >= extendEvery {
		x.setWrites(x.started)
	}
}

// endWrites leaves time for what net/http still buffers of the answer and hands the connection to its next request. From now on
// CutWrites does nothing.
func (x *exchange) endWrites(now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended = true
	if x.cut {
		x.conn.moved = time.Time{}
		return
	}
	if now.Sub(x.moved) >= extendEvery {
		x.setWrites(now)
	}
	x.conn.moved = x.moved
}
