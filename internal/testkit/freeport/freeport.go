// Package freeport finds TCP ports for processes that tests and measurements start.
package freeport

import (
	"context"
	"net"
)

// Get returns a TCP port of loopback that nothing listens on. Another process may take it before the caller does.
func Get(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
