//go:build campaign

package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/wire"
)

// server is a consign process on a data directory of its own.
type server struct {
	t        *testing.T
	dir      string
	url      string
	admin    string // URL of the admin listener
	program  string // path of the binary
	args     []string
	env      []string
	cmd      *exec.Cmd
	log      *os.File
	email    string
	password string
}

// newServer returns a server that is not started yet; env holds additional settings.
func newServer(t *testing.T, env ...string) *server {
	t.Helper()
	dir := pgtest.Dir(t)
	log, err := os.Create(filepath.Join(dir, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	port, admin := testkit.FreePort(t), testkit.FreePort(t)
	s := &server{t: t, dir: dir, log: log, url: "http://localhost:" + port, admin: "http://127.0.0.1:" + admin, program: binary(t),
		args: []string{"serve", "--demo"}}
	s.env = append(os.Environ(), "CONSIGN_DATA_DIR="+filepath.Join(dir, "var"), "CONSIGN_PUBLIC_URL="+s.url, "CONSIGN_LISTEN=127.0.0.1:"+port,
		"CONSIGN_ADMIN_LISTEN=127.0.0.1:"+admin, "CONSIGN_RATE_LIMIT=off", "CONSIGN_BCRYPT_COST=4")
	s.env = append(s.env, env...)
	t.Cleanup(func() {
		if s.cmd != nil {
			s.signal(syscall.SIGTERM)
			_ = s.wait()
		}
		if t.Failed() {
			_ = log.Sync()
			if raw, err := os.ReadFile(log.Name()); err == nil {
				t.Logf("the end of the server's log:\n%s", raw[max(0, len(raw)-8000):])
			}
		}
	})
	return s
}

// answers reports whether a GET returns 200.
func answers(t *testing.T, url string) bool {
	t.Helper()
	resp, err := get(t, url)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func get(t *testing.T, url string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return http.DefaultClient.Do(r)
}

// start runs the binary and waits until it is ready.
func (s *server) start() {
	s.t.Helper()
	if err := s.tryStart(); err != nil {
		s.t.Fatal(err)
	}
}

// tryStart returns an error when the server is not ready within 60 s.
func (s *server) tryStart() error {
	s.t.Helper()
	s.cmd = exec.CommandContext(context.WithoutCancel(s.t.Context()), s.program, s.args...)
	s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = s.env, s.log, s.log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	deadline := time.Now().Add(60 * time.Second)
	for time.Now().Before(deadline) {
		if answers(s.t, s.url+"/readyz") {
			if slices.Contains(s.args, "--demo") {
				s.readDemo()
			}
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.New("the server was not ready within 60 s")
}

func (s *server) readDemo() {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.dir, "var", "demo.txt"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, line := range strings.Split(string(raw), "\n") {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "email":
			s.email = strings.TrimSpace(value)
		case "password":
			s.password = strings.TrimSpace(value)
		}
	}
}

func (s *server) signal(sig syscall.Signal) { _ = s.cmd.Process.Signal(sig) }

func (s *server) wait() error {
	err := s.cmd.Wait()
	s.cmd = nil
	return err
}

func binary(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../bin/consign")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run make build first", err)
	}
	return path
}

// client calls the transfer API with one token.
type client struct {
	s     *server
	token string
}

// call makes a JSON request; dst may be nil.
func (c client) call(method, path string, in, dst any) (http.Header, error) {
	body, err := wire.Body(in)
	if err != nil {
		return nil, err
	}
	got, err := wire.Read(func() (*http.Response, error) {
		return c.do(context.Background(), method, path, body, http.Header{"Content-Type": {"application/json"}})
	})
	if err != nil {
		return nil, err
	}
	if got.Status >= 300 {
		return got.Header, fmt.Errorf("%s %s answered %d: %s", method, path, got.Status, got.Body)
	}
	if dst != nil {
		return got.Header, json.Unmarshal(got.Body, dst)
	}
	return got.Header, nil
}

func (c client) do(ctx context.Context, method, path string, body io.Reader, header http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.s.url+path, body)
	if err != nil {
		return nil, err
	}
	r.Header = header
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	return http.DefaultClient.Do(r)
}

// reserve creates a reservation with one object on the demo mailbox. It returns a client with the reservation's token and the object's
// path.
func (s *server) reserve(size int64) (c client, reservation, object string, err error) {
	return s.reserveAs("campaign", size)
}

// reserveAs is reserve with a subject.
func (s *server) reserveAs(subject string, size int64) (c client, reservation, object string, err error) {
	var out struct{ UID string }
	header, err := client{s: s}.call("POST", "/transfer/v2/public/mailbox/demo", map[string]string{
		"subject": subject, "anonSender": "Sam Stranger", "anonEmail": "sam@example.com"}, &out)
	if err != nil {
		return c, "", "", err
	}
	c = client{s: s, token: strings.TrimPrefix(header.Get("Authorization"), "Bearer ")}
	reservation = "/transfer/v2/reservations/" + out.UID
	object = reservation + "/objects/file"
	_, err = c.call("POST", reservation+"/objects", map[string]any{"clientId": "file", "name": "file.bin", "intendedSize": size}, nil)
	return c, reservation, object, err
}

// held returns the stored offset that HEAD reports.
func (c client) held(object string) (int64, error) {
	resp, err := c.do(context.Background(), "HEAD", object+"/content", nil, http.Header{})
	if err != nil {
		return 0, err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("HEAD answered %d", resp.StatusCode)
	}
	return resp.ContentLength, nil
}

// owner signs the demo mailbox's owner in.
func (s *server) owner() (client, error) {
	var out struct{ Token string }
	if _, err := (client{s: s}).call("POST", "/id/v3/auth/login", map[string]string{"email": s.email, "type": "bcrypt", "key": s.password},
		&out); err != nil {
		return client{}, err
	}
	_, err := client{s: s, token: out.Token}.call("POST", "/id/v3/auth/access", nil, &out)
	return client{s: s, token: out.Token}, err
}
