// Package relay provides a TCP hop in front of a test's database. It needs no server, so every package's tests can import it.
package relay

import (
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
)

// Relay is a TCP hop in front of a test's database that fails in the ways a network does. It forwards everything until a method makes it
// fail.
type Relay struct {
	URL string // of the database, through the relay

	listener net.Listener
	socket   string
	mu       sync.Mutex
	changed  *sync.Cond
	down     bool
	frozen   bool
	gate     func() bool
	conns    map[net.Conn]struct{}
}

// New starts a relay to the database at url, ended with the test.
func New(t testing.TB, database string) *Relay {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	r := &Relay{socket: filepath.Join(q.Get("host"), ".s.PGSQL."+q.Get("port")), conns: map[net.Conn]struct{}{}}
	r.changed = sync.NewCond(&r.mu)
	if r.listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.listener.Close()
		r.Down()
	})
	go r.accept()
	q.Del("host")
	q.Del("port")
	u.Host, u.RawQuery = r.listener.Addr().String(), q.Encode()
	r.URL = u.String()
	return r
}

// Down cuts every connection, and new ones as soon as they are made.
func (r *Relay) Down() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down, r.frozen = true, false
	r.changed.Broadcast()
	for c := range r.conns {
		_ = c.Close()
	}
}

// Cut cuts every connection and accepts new ones.
func (r *Relay) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		_ = c.Close()
	}
}

// Freeze keeps every byte back and closes nothing: the silent cut.
func (r *Relay) Freeze() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = true
}

// Gate makes the relay call pass before bytes of a client go on to the database. When it returns false, the bytes are lost and the
// connection is cut. nil: all bytes go on.
func (r *Relay) Gate(pass func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gate = pass
}

// Up passes everything on again. Connections from before a Freeze go on where they were.
func (r *Relay) Up() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down, r.frozen = false, false
	r.changed.Broadcast()
}

func (r *Relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		if !r.keep(client) {
			continue
		}
		server, err := net.Dial("unix", r.socket) //nolint:noctx // lives as long as the client's connection
		if err != nil || !r.keep(server) {
			_ = client.Close()
			continue
		}
		go r.forward(client, server, true)
		go r.forward(server, client, false)
	}
}

// keep notes a connection to be cut later, or cuts it now.
func (r *Relay) keep(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		_ = c.Close()
		return false
	}
	r.conns[c] = struct{}{}
	return true
}

func (r *Relay) forward(from, to net.Conn, ofClient bool) {
	defer func() {
		_, _ = from.Close(), to.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.conns, from)
	}()
	_, _ = io.Copy(to, readerFunc(func(p []byte) (int, error) {
		n, err := from.Read(p)
		r.mu.Lock()
		gate := r.gate
		r.mu.Unlock()
		if ofClient && n > 0 && gate != nil && !gate() {
			return 0, io.EOF
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for r.frozen {
			r.changed.Wait()
		}
		return n, err
	}))
}

type readerFunc func(p []byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
