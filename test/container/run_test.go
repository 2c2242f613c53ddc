//go:build container

// The image as a directory tree, run part by part as compose.yaml and its variants do, without a container engine.

package container

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const uid = 10001

// box is the image as a directory tree, with the environment and arguments of a variant of compose.yaml.
type box struct {
	root string
	env  []string
	args []string
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, raw, mode))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// newBox creates the image's tree. It is read-only except for /data, the only volume.
func newBox(t *testing.T, dir string, s service) box {
	t.Helper()
	tree, data := filepath.Join(dir, "image"), filepath.Join(dir, "data")
	copyFile(t, build(t, dir), filepath.Join(tree, "consign"), 0o755)
	copyFile(t, "/etc/ssl/certs/ca-certificates.crt", filepath.Join(tree, "etc/ssl/certs/ca-certificates.crt"), 0o644)
	copyFile(t, goroot(t)+"/lib/time/zoneinfo.zip", filepath.Join(tree, "usr/local/go/lib/time/zoneinfo.zip"), 0o644)
	// A container engine adds the host names of the other services. It also mounts /proc and /dev, which Consign must not need.
	hosts := "127.0.0.1 localhost consign postgres redis s3\n"
	err := errors.Join(os.WriteFile(filepath.Join(tree, "etc/hosts"), []byte(hosts), 0o644), os.Mkdir(filepath.Join(tree, "data"), 0o755),
		os.Mkdir(data, 0o755), os.Chown(data, uid, uid))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--bind", tree, tree}, {"-o", "remount,bind,ro", tree}, {"--bind", data, filepath.Join(tree, "data")}} {
		if out, err := exec.CommandContext(t.Context(), "mount", args...).CombinedOutput(); err != nil {
			t.Fatalf("mount %s: %v %s", args, err, out)
		}
	}
	t.Cleanup(func() { _ = exec.CommandContext(context.Background(), "umount", "-R", tree).Run() })
	if err := os.WriteFile(filepath.Join(tree, "x"), nil, 0o644); !errors.Is(err, syscall.EROFS) {
		t.Fatalf("the root is writable: %v", err)
	}
	b := box{root: tree, env: strings.Fields(instruction(t, "ENV")), args: s.Command}
	for name, value := range s.Environment {
		b.env = append(b.env, name+"="+value)
	}
	return b
}

// command returns a command that runs the binary in the box as the image's user.
func (b box) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), "/consign", args...)
	cmd.Dir, cmd.Env = "/", b.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: b.root, Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	return cmd
}

func (b box) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := b.command(args...).CombinedOutput()
	if err != nil {
		t.Fatalf("consign %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// healthy runs the image's HEALTHCHECK and returns its exit code.
func (b box) healthy(t *testing.T) int {
	t.Helper()
	cmd := b.command("healthcheck")
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

// start runs a program until the test ends.
func start(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		}
		if t.Failed() {
			t.Logf("%s said:\n%s", cmd.Path, log.String())
		}
	})
	return cmd
}

func waitForPort(t *testing.T, port string) {
	t.Helper()
	for range 300 {
		if conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", "127.0.0.1:"+port); err == nil {
			_ = conn.Close()
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("nothing listens on port %s", port)
}

// startPostgres starts a password-protected server, set up like the image in compose.yaml.
func startPostgres(t *testing.T, dir string, environment map[string]string) {
	t.Helper()
	account, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	owner, _ := strconv.Atoi(account.Uid)
	group, _ := strconv.Atoi(account.Gid)
	data, password := filepath.Join(dir, "postgres"), filepath.Join(dir, "password")
	err = errors.Join(os.Mkdir(data, 0o700), os.Chown(data, owner, group),
		os.WriteFile(password, []byte(environment["POSTGRES_PASSWORD"]+"\n"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	program := func(name string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(os.Getenv("TEST_POSTGRES_BIN"), name), args...)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(owner), Gid: uint32(group)}}
		return cmd
	}
	role := environment["POSTGRES_USER"]
	out, err := program("initdb", "-D", data, "-U", role, "-E", "UTF8", "--locale=C.UTF-8", "--auth-host=scram-sha-256", "--auth-local=trust",
		"--pwfile="+password).CombinedOutput()
	if err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	start(t, program("postgres", "-D", data, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="+data, "-c", "fsync=off"))
	waitForPort(t, "5432")
	script, err := os.ReadFile("../../scripts/compose-postgres.sh")
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		create := program("sh", "-c", string(script))
		create.Path = "/bin/sh"
		create.Env = []string{"PATH=" + os.Getenv("TEST_POSTGRES_BIN"), "PGHOST=" + data, "POSTGRES_USER=" + role,
			"POSTGRES_PASSWORD=" + environment["POSTGRES_PASSWORD"]}
		if out, err = create.CombinedOutput(); err == nil {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatalf("compose-postgres.sh: %v\n%s", err, out)
}

// checkRoles checks that Consign's database role has no rights over the cluster, and that nobody signs in as superuser over the network.
func checkRoles(t *testing.T, password string) {
	t.Helper()
	if conn, err := pgx.Connect(t.Context(), "postgres://postgres:"+password+"@127.0.0.1:5432/postgres"); err == nil {
		_ = conn.Close(t.Context())
		t.Error("the superuser signs in over the network")
	}
	conn, err := pgx.Connect(t.Context(), "postgres://consign:"+password+"@127.0.0.1:5432/consign")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var rights bool
	err = conn.QueryRow(t.Context(),
		`SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls FROM pg_roles WHERE rolname = current_user`).Scan(
		&rights)
	if err != nil || rights {
		t.Errorf("the role consign has rights over the cluster: %v, %v", rights, err)
	}
}

// surroundings starts the other services on the ports of compose.yaml.
func surroundings(t *testing.T, dir string, c compose) (bucket string) {
	t.Helper()
	startPostgres(t, dir, c.Services["postgres"].Environment)
	redis := c.Services["redis"].Command
	start(t, exec.CommandContext(context.WithoutCancel(t.Context()), redis[0], append(redis[1:], "--dir", dir)...))
	waitForPort(t, "6379")
	s3 := c.Services["s3"]
	data := filepath.Join(dir, "s3")
	bucket = filepath.Join(data, "consign") // where compose.yaml mounts the volume
	if err := os.MkdirAll(bucket, 0o755); err != nil {
		t.Fatal(err)
	}
	args := append([]string{}, s3.Command...)
	args[len(args)-1] = data
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Getenv("TEST_S3_SERVER"), args...)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+s3.Environment["ROOT_ACCESS_KEY"], "ROOT_SECRET_KEY="+s3.Environment["ROOT_SECRET_KEY"])
	start(t, cmd)
	waitForPort(t, "7070")
	return bucket
}

// caddy is a client that acts like the proxy of compose.yaml: it uses the proxy's address and reports that the browser used TLS.
type caddy struct{ http.Client }

func newCaddy(address, host string) *caddy {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, "127.0.0.1:8080")
	}}
	return &caddy{http.Client{Transport: forwarded{transport, host}}}
}

type forwarded struct {
	http.RoundTripper
	host string
}

// RoundTrip adds the proxy's forwarding headers.
func (f forwarded) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("X-Forwarded-Proto", "https")
	r.Header.Set("X-Forwarded-For", "203.0.113.7")
	r.Header.Set("X-Forwarded-Host", f.host)
	return f.RoundTripper.RoundTrip(r)
}

// call makes a request and decodes its answer into dst, which may be nil.
func (c *caddy) call(t *testing.T, method, path, token, contentType string, body []byte, want int, dst any) http.Header {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://consign:8080"+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want {
		t.Fatalf("%s %s answered %d: %s (%v)", method, path, resp.StatusCode, raw, err)
	}
	if dst != nil {
		if err := json.Unmarshal(raw, dst); err != nil {
			t.Fatal(err)
		}
	}
	return resp.Header
}

const jsonType = "application/json"

// TestContainer runs the binary as the container of each variant does, beside the other services, and uses it.
func TestContainer(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, v.run)
	}
}

func (v variant) run(t *testing.T) {
	dir, err := os.MkdirTemp("", "consign-container-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	bucket := surroundings(t, dir, variants[0].read(t))
	consign := v.read(t).Services["consign"]
	b := newBox(t, dir, consign)
	if code := b.healthy(t); code != 1 {
		t.Errorf("without a server the health check exited with %d", code)
	}
	checkRoles(t, secrets["POSTGRES_PASSWORD"])
	server := start(t, b.command(b.args...))
	waitForPort(t, "8080")
	for n := 0; b.healthy(t) != 0; n++ {
		if n > 100 {
			t.Fatal("the health check keeps failing")
		}
		time.Sleep(100 * time.Millisecond)
	}
	if out := b.run(t, "version"); out != "consign test-container\n" {
		t.Errorf("version: %s", out)
	}
	proxy := newCaddy(v.proxy, secrets["PUBLIC_HOST"])
	proxy.call(t, "GET", "/transfer/v2/environment", "", "", nil, http.StatusOK, nil)
	for _, other := range []string{"127.0.0.1", composeProxy, hostProxy} {
		if other != v.proxy {
			newCaddy(other, secrets["PUBLIC_HOST"]).call(t, "GET", "/transfer/v2/environment", "", "", nil, http.StatusForbidden, nil)
		}
	}
	use(t, b, proxy)
	if entries, err := os.ReadDir(bucket); err != nil || len(entries) > 0 != v.bucket {
		t.Errorf("the bucket has %d entries, %v", len(entries), err)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if code := b.healthy(t); code != 1 {
		t.Errorf("after the stop the health check exited with %d", code)
	}
}

// use makes Consign write to every place it writes to: mails, pictures, and parts of files before they go to the bucket.
func use(t *testing.T, b box, proxy *caddy) {
	t.Helper()
	_, link, _ := strings.Cut(b.run(t, "person", "create", "ann@example.com"), "/reset/")
	key, _, _ := strings.Cut(link, "\n")
	b.run(t, "mailbox", "create", "ann@example.com", "ann")
	b.run(t, "mail", "test", "ann@example.com")
	var out struct{ Token, UID string }
	proxy.call(t, "POST", "/id/v3/auth/reset/"+key, "", jsonType, nil, http.StatusOK, &out)
	proxy.call(t, "POST", "/id/v3/auth/access", out.Token, jsonType, nil, http.StatusOK, &out)
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 300, 300))); err != nil {
		t.Fatal(err)
	}
	proxy.call(t, "PUT", "/id/v3/profile/avatar", out.Token, "image/png", picture.Bytes(), http.StatusOK, nil)
	header := proxy.call(t, "POST", "/transfer/v2/public/mailbox/ann", "", jsonType,
		[]byte(`{"anonSender":"Sam","anonEmail":"sam@example.com"}`), http.StatusCreated, &out)
	if location := header.Get("Location"); !strings.HasPrefix(location, "https://"+secrets["PUBLIC_HOST"]+"/") {
		t.Errorf("Location %s", location)
	}
	reservation := "/transfer/v2/reservations/" + out.UID
	token := strings.TrimPrefix(header.Get("Authorization"), "Bearer ")
	file := bytes.Repeat([]byte("consign "), 1_500_000)
	proxy.call(t, "POST", reservation+"/objects", token, jsonType,
		fmt.Appendf(nil, `{"clientId":"a","name":"a.bin","intendedSize":%d}`, len(file)), http.StatusCreated, nil)
	proxy.call(t, "PUT", reservation+"/objects/a/content", token, "application/octet-stream", file, http.StatusOK, nil)
	proxy.call(t, "POST", reservation+"/confirm", token, jsonType, nil, http.StatusOK, nil)
	b.run(t, "fsck")
}
