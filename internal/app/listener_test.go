package app_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/consign-dev/consign/internal/app"
)

// TestDrainedListener: proxies have connected and sent a POST, and the server has accepted none of them yet, when it stops. All get their
// answer. Later connections are refused at once, so that a proxy tries the next replica.
func TestDrainedListener(t *testing.T) {
	t.Parallel()
	plain, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := app.NewDrained(plain)
	var clients []net.Conn
	for range 20 {
		c, err := net.Dial("tcp", plain.Addr().String()) //nolint:noctx // a test
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi"); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // on loopback
		_, _ = io.Copy(w, r.Body)
	}), ConnState: l.State}
	first, err := l.Accept() // the server is slow: it has only come to the first
	if err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	var served sync.WaitGroup
	var drained sync.WaitGroup
	drained.Go(l.Drain)
	for {
		c, err := net.Dial("tcp", plain.Addr().String()) //nolint:noctx // a test
		if errors.Is(err, syscall.ECONNREFUSED) {
			break
		}
		if err == nil {
			_ = c.Close()
		}
	}
	served.Go(func() { _ = server.Serve(l) })
	drained.Wait()
	if err := server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	served.Wait()
	for i, c := range clients[1:] {
		if text, err := io.ReadAll(c); err != nil || !strings.HasSuffix(string(text), "\r\n\r\nhi") {
			t.Errorf("client %d: %q, %v", i, text, err)
		}
	}
}
