// Package cutter is a network that fails, between a client and a test's server: it cuts connections in the middle.
package cutter

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// Cutter forwards connections to a server and cuts some of them.
type Cutter struct {
	URL    string // where clients connect; make it the server's public URL
	target atomic.Pointer[string]
	after  atomic.Int64
	left   atomic.Int64
	cuts   atomic.Int64
}

// New starts a Cutter that ends with the test. Its target is set by To.
func New(t testing.TB) *Cutter {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	c := &Cutter{URL: "http://localhost:" + port}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go c.forward(conn)
		}
	}()
	return c
}

// To forwards from now on to the address of a server, host and port.
func (c *Cutter) To(address string) { c.target.Store(&address) }

// Cut cuts the next connections, as many as times says, each after it has carried so many bytes in both directions together.
func (c *Cutter) Cut(times int, after int64) {
	c.after.Store(after)
	c.left.Store(int64(times))
}

// Cuts returns how many connections were cut.
func (c *Cutter) Cuts() int { return int(c.cuts.Load()) }

func (c *Cutter) forward(client net.Conn) {
	defer client.Close()
	target := c.target.Load()
	if target == nil {
		return
	}
	server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", *target)
	if err != nil {
		return
	}
	defer server.Close()
	var carried atomic.Int64
	done := make(chan struct{}, 2)
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(writerFunc(func(p []byte) (int, error) {
			if after := c.after.Load(); carried.Add(int64(len(p))) > after && c.left.Load() > 0 && c.left.Add(-1) >= 0 {
				c.cuts.Add(1)
				n, _ := to.Write(p[:len(p)/2])
				return n, io.ErrClosedPipe
			}
			return to.Write(p)
		}), from)
		done <- struct{}{}
	}
	go pass(server, client)
	go pass(client, server)
	<-done
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
