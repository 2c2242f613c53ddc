package httpserver

import (
	"net/http"
	"net/netip"
	"time"
)

// connection is what the requests of one connection have in common.
type connection struct {
	peer  netip.Addr // zero when the connection has none, as over a unix socket
	name  string     // the peer as logs write it
	moved time.Time  // when its write deadline was last extended
}

type connectionKey struct{}

func newConnection(remote string) *connection {
	c := &connection{peer: peer(remote)}
	c.name = c.peer.String()
	return c
}

// connectionOf finds the connection of a request. Requests of HTTP/2 run side by side, each on a stream with deadlines of its
// own, which they therefore do not share.
func connectionOf(r *http.Request) *connection {
	if c, ok := r.Context().Value(connectionKey{}).(*connection); ok && r.ProtoMajor == 1 {
		return c
	}
	return newConnection(r.RemoteAddr)
}

// startWrites sees to it that the deadline of the connection's previous request does not hit this one. Under load it is young
// enough to be left alone.
func (x *exchange) startWrites() {
	x.moved = x.conn.moved
	if x.started.Sub(x.moved) >= extendEvery {
		x.setWrites(x.started)
	}
}

// endWrites gives what net/http still holds back of the answer its time, and leaves the connection to its next request: from
// now on CutWhenDone has nothing to cut.
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

// clientName is the client's address as logs write it.
func (x *exchange) clientName() string {
	if x.client().Address == x.conn.peer {
		return x.conn.name
	}
	return x.client().Address.String()
}
