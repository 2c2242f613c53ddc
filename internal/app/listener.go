// The public listener: it ends without resetting the connections that the kernel has taken but nobody has accepted yet.

package app

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// drainWait bounds how long Drain waits for the first request of a connection.
const drainWait = time.Second

// drained is a listener that can stop listening before it is closed. A listener that is only closed resets what is in the kernel's queue,
// and http.Server.Shutdown drops the first request of a connection that it has just accepted: a proxy that does not ask /readyz has sent
// requests there, and repeats no POST.
type drained struct {
	net.Listener
	stopped atomic.Bool
	left    chan net.Conn // was in the queue
	closed  chan struct{}
	close   sync.Once

	returned, queued, settled atomic.Int64 // connections that Accept has returned, those of left, and those that the server knows
	fresh                     sync.Map     // connections without a request yet
}

func newDrained(l net.Listener) *drained {
	return &drained{Listener: l, left: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (d *drained) Accept() (net.Conn, error) {
	d.settled.Store(d.returned.Load()) // http.Server has noted the one before
	conn, err := d.Listener.Accept()
	if err == nil {
		d.returned.Add(1)
		return conn, nil
	}
	if !d.stopped.Load() {
		return nil, err //nolint:wrapcheck // net/http looks at it
	}
	select {
	case conn := <-d.left:
		d.returned.Add(1)
		d.queued.Add(1)
		return conn, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (d *drained) Close() error {
	d.close.Do(func() { close(d.closed) })
	return d.Listener.Close() //nolint:wrapcheck // net/http looks at it
}

// State is the ConnState of the server.
func (d *drained) State(c net.Conn, s http.ConnState) {
	if s == http.StateNew {
		d.fresh.Store(c, nil)
		return
	}
	d.fresh.Delete(c)
}

// Drain ends listening: from now on connections are refused. It returns once those that were made before have sent their first request, or
// after a second.
func (d *drained) Drain() {
	tcp, ok := d.Listener.(*net.TCPListener)
	if !ok {
		return
	}
	deadline := time.Now().Add(drainWait)
	d.stopped.Store(true)
	conns := stopListening(tcp)
	for _, conn := range conns {
		select {
		case d.left <- conn:
		case <-time.After(time.Until(deadline)):
			_ = conn.Close()
		}
	}
	for time.Now().Before(deadline) {
		if d.queued.Load() == int64(len(conns)) && d.settled.Load() == d.returned.Load() && d.none() {
			time.Sleep(5 * time.Millisecond) // http.Server begins with the last one
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// none reports whether each connection has sent a request.
func (d *drained) none() bool {
	none := true
	d.fresh.Range(func(any, any) bool {
		none = false
		return false
	})
	return none
}
