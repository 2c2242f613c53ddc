// Package freeport finds TCP ports for processes that tests and measurements start.
package freeport

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// The range of ports lies below those that Linux (32768) and macOS (49152) give to outgoing connections, which would take the port of a
// server while it restarts.
const first, count = 20_000, 12_000

// Get returns a TCP port of loopback that nothing listens on. Another process may take it before the caller does.
func Get(ctx context.Context) (string, error) {
	var failed error
	for range 100 {
		port := strconv.Itoa(first + rand.IntN(count)) //nolint:gosec // no secret
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
		if err == nil {
			return port, l.Close()
		}
		failed = errors.Join(failed, err)
	}
	return "", failed
}
