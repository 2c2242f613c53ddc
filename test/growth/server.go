//go:build growth

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/consign-dev/consign/internal/testkit/freeport"
)

// server is bin/consign on one database.
type server struct {
	env    []string
	cmd    *exec.Cmd
	url    string
	files  string // directory of the objects
	took   time.Duration
	access map[int]string // tokens by person
}

// newServer returns a server of a database without starting it.
func (g *growth) newServer(ctx context.Context, s size) (*server, error) {
	port, err := freeport.Get(ctx)
	if err != nil {
		return nil, err
	}
	admin, err := freeport.Get(ctx)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(g.dir, fmt.Sprintf("data-%d", s.transfers))
	srv := &server{url: "http://localhost:" + port, files: filepath.Join(data, "files", "objects"), access: map[int]string{}}
	for _, dir := range []string{"uploads", "objects"} {
		if err := os.MkdirAll(filepath.Join(data, "files", dir), 0o755); err != nil {
			return nil, err
		}
	}
	srv.env = append(os.Environ(), "CONSIGN_DATABASE_URL="+s.url, "CONSIGN_PUBLIC_URL="+srv.url, "CONSIGN_LISTEN=127.0.0.1:"+port,
		"CONSIGN_ADMIN_LISTEN=127.0.0.1:"+admin, "CONSIGN_DATA_DIR="+data, "CONSIGN_STORAGE_URL=file://"+data+"/files", "CONSIGN_RATE_LIMIT=off",
		"CONSIGN_BCRYPT_COST=4",
		"CONSIGN_STRANGER_RESERVATIONS=10000", "CONSIGN_STRANGER_ORGANIZATION_RESERVATIONS=0",
		"CONSIGN_STRANGER_SHARE=100", "CONSIGN_ACCESS_TOKEN_LIFETIME=3h", "CONSIGN_LOG_LEVEL=error",
		"CONSIGN_SECRET_KEY=a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=")
	return srv, nil
}

// command returns bin/consign with arguments.
func (s *server) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bin/consign", args...)
	cmd.Env, cmd.Stderr = s.env, os.Stderr
	return cmd
}

// start starts the server and waits until it is ready.
func (s *server) start(ctx context.Context) error {
	s.cmd = s.command(ctx, "serve")
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for time.Since(began) < time.Minute {
		if s.call(ctx, request{method: "GET", path: "/readyz"}, "", nil) == nil {
			s.took = time.Since(began)
			return s.login(ctx)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return errors.New("bin/consign is not ready after a minute")
}

func (s *server) stop() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
	}
}

// login gets an access token for each person who sends requests.
func (s *server) login(ctx context.Context) error {
	for _, person := range []int{heavy, administrator, ordinary} {
		var token struct{ Token string }
		body := map[string]string{"email": address(person), "type": "bcrypt", "key": password}
		if err := s.call(ctx, request{method: "POST", path: "/id/v3/auth/login", body: body}, "", &token); err != nil {
			return err
		}
		if err := s.call(ctx, request{method: "POST", path: "/id/v3/auth/access"}, token.Token, &token); err != nil {
			return err
		}
		s.access[person] = token.Token
	}
	return nil
}

// call sends one request and decodes its answer into dst, unless that is nil.
func (s *server) call(ctx context.Context, q request, token string, dst any) error {
	var body io.Reader
	if q.body != nil {
		raw, err := json.Marshal(q.body)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, q.method, s.url+q.path, body)
	if err != nil {
		return err
	}
	if q.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %d %.200s", q.method, q.path, resp.StatusCode, raw)
	}
	if err == nil && dst != nil {
		err = json.Unmarshal(raw, dst)
	}
	return err
}

// sample returns the times of n requests, one after the other.
func (s *server) sample(ctx context.Context, q request, n int) (times []time.Duration, err error) {
	for range n {
		began := time.Now()
		if err := s.call(ctx, q, s.access[q.person], nil); err != nil {
			return nil, fmt.Errorf("%s: %w", q.name, err)
		}
		times = append(times, time.Since(began))
	}
	return times, nil
}

// resident returns the resident memory of the server in bytes.
func (s *server) resident() (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(raw))[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
