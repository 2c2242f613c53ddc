package database_test

import (
	"io"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/consign-dev/consign/migrations"
)

// relay is a TCP proxy in front of a database's socket that can fail as a network does.
type relay struct {
	listener net.Listener
	socket   string

	mu     sync.Mutex
	thawed *sync.Cond
	frozen bool
	conns  []net.Conn
}

// newRelay returns a relay and the URL of the database through it.
func newRelay(t *testing.T, database string) (*relay, string) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	r := &relay{socket: filepath.Join(q.Get("host"), ".s.PGSQL."+q.Get("port"))}
	r.thawed = sync.NewCond(&r.mu)
	r.listener, err = net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test's own listener
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.listener.Close()
		r.thaw()
		r.cut()
	})
	go r.accept()
	q.Del("host")
	q.Del("port")
	u.Host, u.RawQuery = r.listener.Addr().String(), q.Encode()
	return r, u.String()
}

func (r *relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", r.socket) //nolint:noctx // a test's own connection
		if err != nil {
			client.Close()
			continue
		}
		r.mu.Lock()
		r.conns = append(r.conns, client, server)
		r.mu.Unlock()
		go r.forward(client, server)
		go r.forward(server, client)
	}
}

func (r *relay) forward(from io.ReadCloser, to io.WriteCloser) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		r.mu.Lock()
		for r.frozen {
			r.thawed.Wait()
		}
		r.mu.Unlock()
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// freeze holds every byte back and closes no connection, as a silent cut does.
func (r *relay) freeze() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = true
}

func (r *relay) thaw() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = false
	r.thawed.Broadcast()
}

// cut closes every connection; new ones are accepted.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

// migrationText returns all migrations as one text.
func migrationText(t *testing.T) string {
	t.Helper()
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range names {
		content, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(content)
	}
	return all.String()
}
