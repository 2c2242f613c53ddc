//go:build campaign

// Three replicas behind Caddy on one Postgres, bucket and Redis, for the tests of clusters.

package campaign

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/redistest"
)

// shutdownDelay is how long a replica keeps serving after SIGTERM. Caddy polls its health every half second.
const shutdownDelay = 2 * time.Second

// cluster is three replicas on one Postgres, one bucket and one Redis, behind Caddy.
type cluster struct {
	t        *testing.T
	front    *server // Caddy, as a client sees it: only url, email and password are set
	replicas [3]*server
	redis    *redistest.Server
	database string // its URL
}

// newCluster starts all services; env holds additional settings of all replicas.
func newCluster(t *testing.T, env ...string) *cluster {
	t.Helper()
	return newClusterOf(t, binary(t), env...)
}

// newClusterOf is newCluster with replicas of another program, which may be of an older version.
func newClusterOf(t *testing.T, program string, env ...string) *cluster {
	t.Helper()
	port := testkit.FreePort(t)
	c := &cluster{t: t, front: &server{t: t, url: "http://localhost:" + port}, redis: redistest.New(t), database: pgtest.EmptyURL(t)}
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	common := append([]string{
		"CONSIGN_PUBLIC_URL=" + c.front.url, "CONSIGN_DATABASE_URL=" + c.database,
		"CONSIGN_SECRET_KEY=" + base64.StdEncoding.EncodeToString(key),
		"CONSIGN_STORAGE_URL=" + bucket(t), "CONSIGN_REDIS_URL=" + c.redis.URL, "CONSIGN_TRUSTED_PROXIES=127.0.0.0/8,::1/128",
		"CONSIGN_SHUTDOWN_DELAY=" + shutdownDelay.String(), "CONSIGN_NEW_TRANSFER_BUCKET=100000,1000/s",
		"CONSIGN_YOUNG_RECIPIENTS_PER_DAY=1000", // the load sends more than the default of 100
	}, env...)
	for i := range c.replicas {
		s := newServer(t, common...)
		s.program = program
		if i > 0 {
			s.args = []string{"serve"}
		} else {
			s.args = append(s.args, "--migrate")
		}
		s.start()
		c.replicas[i] = s
	}
	c.front.email, c.front.password = c.replicas[0].email, c.replicas[0].password
	c.startCaddy(port)
	return c
}

// bucket returns a storage setting with an unused prefix of the test bucket.
func bucket(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(os.Getenv("TEST_S3_URL"))
	if err != nil || u.Scheme != "s3" {
		t.Fatal("TEST_S3_URL is not set: run make test-cluster")
	}
	return u.JoinPath(strings.ToLower(rand.Text())).String()
}

// caddyfile is the configuration of the proxy. Upstreams that are not ready get no requests; a request that fails to reach one
// upstream is retried at another. It sets no flush_interval: Caddy does not buffer event streams, and with -1 it would keep them open
// after the client has disconnected.
const caddyfile = `{
	admin off
	auto_https off
}
http://localhost:%s {
	bind 127.0.0.1
	reverse_proxy %s {
		lb_policy round_robin
		lb_try_duration 10s
		lb_try_interval 100ms
		health_uri /readyz
		health_interval 500ms
		health_timeout 1500ms
	}
}
`

func (c *cluster) startCaddy(port string) {
	c.t.Helper()
	dir := c.t.TempDir()
	var upstreams []string
	for _, s := range c.replicas {
		upstreams = append(upstreams, strings.TrimPrefix(s.url, "http://"))
	}
	file, log := filepath.Join(dir, "Caddyfile"), filepath.Join(dir, "caddy.log")
	text := fmt.Sprintf(caddyfile, port, strings.ReplaceAll(strings.Join(upstreams, " "), "localhost", "127.0.0.1"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	out, err := os.Create(log)
	if err != nil {
		c.t.Fatal(err)
	}
	caddy := exec.CommandContext(context.WithoutCancel(c.t.Context()), "caddy", "run", "--config", file, "--adapter", "caddyfile")
	caddy.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	caddy.Stdout, caddy.Stderr = out, out
	if err := caddy.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = caddy.Process.Signal(syscall.SIGTERM)
		_ = caddy.Wait()
		if raw, err := os.ReadFile(log); err == nil && c.t.Failed() {
			c.t.Logf("the end of Caddy's log:\n%s", raw[max(0, len(raw)-8000):])
		}
	})
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if answers(c.t, c.front.url+"/transfer/v2/environment") {
			return
		}
	}
	c.t.Fatal("Caddy did not serve within 20 s")
}

// at returns the same client for another server.
func (c client) at(s *server) client { return client{s: s, token: c.token} }

// metric returns the value of a series at a replica's /metrics, such as consign_jobs{queue="mail",state="due"}; 0 if it is missing.
func (s *server) metric(series string) float64 {
	s.t.Helper()
	resp, err := get(s.t, s.admin+"/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			value, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return value
		}
	}
	return 0
}

// logged counts the lines of a replica's log that contain text.
func (s *server) logged(text string) int {
	raw, err := os.ReadFile(s.log.Name())
	if err != nil {
		s.t.Fatal(err)
	}
	return bytes.Count(raw, []byte(text))
}

// within waits until the condition is true and returns the time since began.
func within(t *testing.T, what string, limit time.Duration, began time.Time, holds func() bool) time.Duration {
	t.Helper()
	for !holds() {
		if time.Since(began) > limit {
			t.Fatalf("not within %v: %s", limit, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
	return time.Since(began)
}
