// A client of this server that uses no network: its connections are pipes of this process.

package app

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// insideAddress is the client address of requests from inside. Newcomers at 127.0.0.1 have buckets of their own.
var insideAddress = net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.2:1"))

// pipes is a listener whose connections are made by dial.
type pipes struct {
	made  chan net.Conn
	ended chan struct{}
	once  sync.Once
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.made:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.ended) })
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return insideAddress }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.made <- pipe{server}:
		return client, nil
	case <-p.ended:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err() //nolint:wrapcheck // net/http looks at it
	}
}

// pipe is a connection with an address that the pipeline understands.
type pipe struct{ net.Conn }

// RemoteAddr implements net.Conn.
func (pipe) RemoteAddr() net.Addr { return insideAddress }

// inside calls work with a client that reaches this server at its public URL from inside.
func (a *App) inside(ctx context.Context, work func(*http.Client) error) error {
	listener := &pipes{made: make(chan net.Conn), ended: make(chan struct{})}
	server, err := a.server(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.TLS = &tls.ConnectionState{} // a pipe is as safe as a TLS connection, where HTTPS is required
		next.ServeHTTP(w, r)
	})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	transport := &http.Transport{DialContext: listener.dial, DialTLSContext: listener.dial, DisableCompression: true}
	err = work(&http.Client{Transport: transport})
	transport.CloseIdleConnections()
	_ = server.Close()
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}
