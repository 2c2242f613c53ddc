//go:build unix

// Package redistest runs real Redis servers for tests, each on a unix socket of its own, and can stop, freeze and restart them.
package redistest

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Server is a Redis server that keeps nothing on disk.
type Server struct {
	URL string // for CONSIGN_REDIS_URL

	t      testing.TB
	socket string
	cmd    *exec.Cmd
}

// New starts a server that ends with the test. TEST_REDIS_SERVER names another program than redis-server.
func New(t testing.TB) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "redis") // a test's own directory may be too long a name for a socket
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "redis.sock")
	s := &Server{URL: "unix://" + socket, t: t, socket: socket}
	t.Cleanup(func() {
		s.Kill()
		_ = os.RemoveAll(dir)
	})
	s.Start()
	return s
}

// Start starts the server, empty, and waits until it listens.
func (s *Server) Start() {
	s.t.Helper()
	program := os.Getenv("TEST_REDIS_SERVER")
	if program == "" {
		program = "redis-server"
	}
	// Not bound to a context: Kill ends it.
	s.cmd = exec.CommandContext(context.WithoutCancel(s.t.Context()), program, "--port", "0", "--unixsocket", s.socket, "--save", "",
		"--appendonly", "no", "--dir", filepath.Dir(s.socket))
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("start %s: %v", program, err)
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if c, err := (&net.Dialer{}).DialContext(s.t.Context(), "unix", s.socket); err == nil {
			_ = c.Close()
			return
		}
	}
	s.t.Fatalf("%s did not listen within 10 s", program)
}

// Kill ends the server as a crash does.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		_ = os.Remove(s.socket)
		s.cmd = nil
	}
}

// Stop freezes the server: connections stay open, and requests get no answer. Continue ends that.
func (s *Server) Stop() { s.signal(syscall.SIGSTOP) }

// Continue ends what Stop began.
func (s *Server) Continue() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}
