//go:build campaign

// Restarts of two replicas behind the proxies of docs/use/proxy, without a lost request.

package campaign

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// restartRequests is how many requests pass during the restarts.
const restartRequests = 10_000

// TestRestartByDocuments restarts two replicas one after the other, as docs/use/operations.md says, behind each proxy with its file in
// docs/use/proxy: only names, ports and certificates are replaced, and no setting of Consign is given that the documents leave out. Clients
// repeat nothing. None of 10,000 requests, a quarter of them POST, may fail.
func TestRestartByDocuments(t *testing.T) {
	for name, start := range map[string]func(*testing.T, string, []string){"caddy": documentedCaddy, "nginx": documentedNginx} {
		t.Run(name, func(t *testing.T) {
			port, key, files := testkit.FreePort(t), make([]byte, 32), filepath.Join(t.TempDir(), "files")
			_, _ = rand.Read(key)
			front := "https://localhost:" + port
			var replicas []*server
			var upstreams []string
			database := pgtest.EmptyURL(t)
			for i := range 2 {
				s := newServer(t, "CONSIGN_PUBLIC_URL="+front, "CONSIGN_DATABASE_URL="+database, "CONSIGN_STORAGE_URL=file://"+files,
					"CONSIGN_SECRET_KEY="+base64.StdEncoding.EncodeToString(key), "CONSIGN_TRUSTED_PROXIES=127.0.0.1,::1",
					"CONSIGN_NEW_TRANSFER_BUCKET=100000,1000/s", "CONSIGN_STRANGER_RESERVATIONS=10000", "CONSIGN_STRANGER_SHARE=100",
					"CONSIGN_STRANGER_ORGANIZATION_RESERVATIONS=10000")
				s.args = append(s.args, "--migrate")
				if i > 0 {
					s.args = []string{"serve"}
				}
				s.start()
				replicas = append(replicas, s)
				upstreams = append(upstreams, strings.Replace(strings.TrimPrefix(s.url, "http://"), "localhost", "127.0.0.1", 1))
			}
			start(t, port, upstreams)
			requests, restarts := restartUnderLoad(t, front, replicas)
			t.Logf("%d requests, %d restarts behind %s", requests, restarts, name)
		})
	}
}

// restartUnderLoad restarts the replicas in turn until enough requests have passed.
func restartUnderLoad(t *testing.T, front string, replicas []*server) (requests int64, restarts int) {
	t.Helper()
	insecure := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // a proxy on loopback
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: insecure, MaxIdleConnsPerHost: 16}, Timeout: time.Minute}
	ask := func(method, path, body string) error {
		r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, front+path, bytes.NewBufferString(body))
		if err != nil {
			return err
		}
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err == nil && answer.StatusCode >= 400 {
			err = fmt.Errorf("%d %s", answer.StatusCode, text)
		}
		return err
	}
	for deadline := time.Now().Add(30 * time.Second); ask("GET", "/readyz", "") != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the proxy did not serve within 30 s")
		}
	}
	var done, failed atomic.Int64
	ended := make(chan struct{})
	var workers sync.WaitGroup
	for w := range 8 {
		workers.Go(func() {
			for n := w; ; n++ {
				select {
				case <-ended:
					return
				case <-time.After(5 * time.Millisecond):
				}
				method, path, body := "GET", "/transfer/v2/public/mailbox/demo", ""
				if n%4 == 0 {
					method, body = "POST", `{"anonSender":"Sam","anonEmail":"sam@example.com","subject":"Pictures"}`
				}
				if err := ask(method, path, body); err != nil && failed.Add(1) <= 20 {
					t.Errorf("%s %s: %v", method, path, err)
				}
				done.Add(1)
			}
		})
	}
	time.Sleep(time.Second)
	for n := 0; restarts < 2*len(replicas) || done.Load() < restartRequests; n++ {
		s := replicas[n%len(replicas)]
		s.signal(syscall.SIGTERM)
		if err := s.wait(); err != nil {
			t.Errorf("a replica ended with %v", err)
		}
		s.start()
		restarts++
		time.Sleep(3 * time.Second) // the proxy sends it requests again
	}
	close(ended)
	workers.Wait()
	if failed.Load() > 0 {
		t.Errorf("%d of %d requests failed in %d restarts", failed.Load(), done.Load(), restarts)
	}
	return done.Load(), restarts
}

// documented reads a file of docs/use/proxy and replaces pairs, each of which must occur.
func documented(t *testing.T, name string, pairs ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "use", "proxy", name))
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("%s does not contain %q", name, pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// runProxy writes a file and runs a program until the test ends.
func runProxy(t *testing.T, dir, file, text string, env []string, program string, args ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	proxy := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	proxy.Env, proxy.Stdout, proxy.Stderr = append(os.Environ(), env...), &out, &out
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = proxy.Process.Signal(syscall.SIGTERM)
		_ = proxy.Wait()
		if !t.Failed() {
			return
		}
		for line := range strings.Lines(out.String()) {
			if !strings.Contains(line, "Connection refused") { // those are tried at the next replica
				t.Logf("%s: %s", program, line)
			}
		}
	})
}

func documentedCaddy(t *testing.T, port string, upstreams []string) {
	t.Helper()
	dir := t.TempDir()
	text := documented(t, "Caddyfile", "{\n\tservers {", "{\n\tadmin off\n\tskip_install_trust\n\tlocal_certs\n"+
		"\thttp_port "+testkit.FreePort(t)+"\n\thttps_port "+port+"\n\tservers {")
	runProxy(t, dir, "Caddyfile", text, []string{"HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "PUBLIC_HOST=localhost",
		"CONSIGN_UPSTREAM=" + strings.Join(upstreams, " ")}, "caddy", "run", "--config", filepath.Join(dir, "Caddyfile"),
		"--adapter", "caddyfile")
}

func documentedNginx(t *testing.T, port string, upstreams []string) {
	t.Helper()
	dir := t.TempDir()
	certificate, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if out, err := exec.CommandContext(t.Context(), "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
		"-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text := documented(t, "nginx.conf", "    server 127.0.0.1:8080 max_fails=0;",
		"    server "+strings.Join(upstreams, " max_fails=0;\n    server ")+" max_fails=0;",
		"listen 80;", "listen 127.0.0.1:"+testkit.FreePort(t)+";", "listen 443 ssl", "listen 127.0.0.1:"+port+" ssl",
		"/etc/ssl/files.example.com.pem", certificate, "/etc/ssl/files.example.com.key", key, "files.example.com", "localhost",
		"$scheme;\n        proxy_set_header X-Forwarded-Host  $host", "$scheme;\n        proxy_set_header X-Forwarded-Host  $http_host",
		"Host              $host;", "Host              $http_host;") // the port is not the usual one
	temp := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp += fmt.Sprintf("%s_temp_path %s;\n", kind, filepath.Join(dir, kind))
	}
	text = fmt.Sprintf("daemon off;\npid %s;\nerror_log stderr;\nevents {}\nhttp {\n%s%s}\n", filepath.Join(dir, "pid"), temp, text)
	runProxy(t, dir, "nginx.conf", text, nil, "nginx", "-e", "stderr", "-c", filepath.Join(dir, "nginx.conf"))
}
