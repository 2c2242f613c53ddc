package main

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/output"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

// TestOperateBesideServer starts the server on nothing, as a newcomer does, and runs operators' commands beside it: they join its
// private Postgres, and what they change the server follows.
func TestOperateBesideServer(t *testing.T) {
	t.Parallel()
	dir := passableDir(t)
	port, admin := testkit.FreePort(t), testkit.FreePort(t)
	base := "http://localhost:" + port
	environ := []string{"CONSIGN_DATA_DIR=" + filepath.Join(dir, "var"), "CONSIGN_PUBLIC_URL=" + base, "CONSIGN_LISTEN=127.0.0.1:" + port,
		"CONSIGN_ADMIN_LISTEN=127.0.0.1:" + admin, "CONSIGN_BCRYPT_COST=4", "CONSIGN_LOG_FORMAT=text"}
	if _, _, err := consign(t.Context(), environ, "healthcheck"); err == nil {
		t.Error("healthy before it runs")
	}
	if _, _, err := consign(t.Context(), environ, "person", "show", "owner@example.com"); err == nil ||
		!strings.Contains(err.Error(), "no server has run in "+filepath.Join(dir, "var")) {
		t.Errorf("a command where no server has run: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "var")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one of them made the data directory: %v", err)
	}

	var out, log output.Buffer
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"serve", "--demo"}, environ, &out, &log) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serve ended with %v\n%s", err, log.String())
		}
	}()
	poll.Until(t, "ready", func() bool { return get(t, base+"/readyz") == http.StatusOK })
	poll.Until(t, "greeting", func() bool { return strings.Contains(out.String(), "/api/") })
	for _, want := range []string{base + "/m/demo", "owner@example.com, password ", "API token      cns_", base + "/demo/webhooks",
		filepath.Join(dir, "var", "mail"), "is ready at " + base} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the greeting does not say %q:\n%s", want, out.String())
		}
	}

	do := runOperator(t, environ)
	do("healthcheck")
	if text := do("person", "show", "owner@example.com"); !strings.Contains(text, "Olivia Owner") {
		t.Errorf("the demo's owner:\n%s", text)
	}
	if text := do("mailbox", "show", "owner@example.com"); !strings.Contains(text, base+"/m/demo") {
		t.Errorf("the demo's mailbox:\n%s", text)
	}
	if text := do("audit"); !strings.Contains(text, "person.create") {
		t.Errorf("audit:\n%s", text)
	}

	do("maintenance", "on")
	poll.Until(t, "maintenance", func() bool { return get(t, base+"/transfer/v2/environment") == http.StatusServiceUnavailable })
	do("maintenance", "off")
	poll.Until(t, "the end of maintenance", func() bool { return get(t, base+"/transfer/v2/environment") == http.StatusOK })

	kids := regexp.MustCompile(`(?m)^\S+ +session`)
	before := len(kids.FindAllString(do("keys", "list"), -1))
	if text := do("keys", "rotate"); !strings.Contains(text, "which signs from") {
		t.Errorf("keys rotate: %s", text)
	}
	if after := len(kids.FindAllString(do("keys", "list"), -1)); after != before+1 {
		t.Errorf("%d session keys after rotation, %d before", after, before)
	}

	if text := do("mail", "test", "ann@example.com"); text == "" {
		t.Error("mail test says nothing")
	}
	do("person", "create", "--unverified", "bob@example.com")
	mails := regexp.MustCompile(`(?m)^([0-9a-f-]{36}) .*verify-email +bob@example.com +sent`)
	poll.Until(t, "the mail to Bob", func() bool { return mails.MatchString(do("mail", "list")) })
	if out := do("mail", "retry", "--error", "greylisted", "--since", "1h"); !strings.HasPrefix(out, "0 mails are due now; 0 given up") {
		t.Errorf("nothing to send again: %s", out)
	}
	uid := mails.FindStringSubmatch(do("mail", "list"))[1]
	if _, _, err := consign(t.Context(), environ, "mail", "retry", uid); err == nil || !strings.Contains(err.Error(), "already sent") {
		t.Errorf("mail retry of one that was sent: %v", err)
	}
	poll.Until(t, "the link of Bob's mail in the log", func() bool { return strings.Contains(log.String(), base+"/confirm/") })

	// Its Postgres dies: the server starts it again and goes on.
	killPostgres(t, filepath.Join(dir, "var", "postgres", "data", "postmaster.pid"))
	answers := map[int]bool{}
	poll.Until(t, "the mailbox again", func() bool {
		status := get(t, base+"/transfer/v2/public/mailbox/demo")
		answers[status] = true
		return status == http.StatusOK && get(t, base+"/readyz") == http.StatusOK
	})
	for status := range answers {
		if status != http.StatusOK && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests {
			t.Errorf("while Postgres was away the mailbox answered %d", status)
		}
	}
	if do("mailbox", "show", "owner@example.com"); strings.Contains(log.String(), "status=500") {
		t.Errorf("something answered 500:\n%s", log.String())
	}
}

// TestStopDuringStart: a server that is stopped at any point of its start exits without an error.
func TestStopDuringStart(t *testing.T) {
	t.Parallel()
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, log, err := consign(ended, external(t, pgtest.URL(t)), "serve"); err != nil ||
		!strings.Contains(log, "stopped before it was ready") {
		t.Errorf("before it reached the database: %v\n%s", err, log)
	}

	dir := passableDir(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	var out, log output.Buffer
	go func() {
		done <- run(ctx, []string{"serve"}, []string{"CONSIGN_DATA_DIR=" + dir, "CONSIGN_LISTEN=127.0.0.1:" + testkit.FreePort(t),
			"CONSIGN_ADMIN_LISTEN=127.0.0.1:" + testkit.FreePort(t)}, &out, &log)
	}()
	poll.Until(t, "initdb", func() bool {
		begun, err := filepath.Glob(filepath.Join(dir, "postgres", "data*"))
		return err == nil && len(begun) > 0
	})
	stop()
	if err := <-done; err != nil {
		t.Errorf("while it made its Postgres: %v\n%s", err, log.String())
	}
}

// With this variable the test program is consign: something to send signals to.
const mainVariable = "TEST_CONSIGN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestHangUp: SIGHUP stops the server and its Postgres as SIGTERM does, unless nohup started it.
func TestHangUp(t *testing.T) {
	t.Parallel()
	caught := make(chan os.Signal, 1) // a child inherits what is ignored, as below nohup, and not what is caught
	signal.Notify(caught, syscall.SIGHUP)
	defer signal.Stop(caught)
	dir, port := passableDir(t), testkit.FreePort(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "serve")
	cmd.Env = append(os.Environ(), mainVariable+"=on", "CONSIGN_DATA_DIR="+dir, "CONSIGN_PUBLIC_URL=http://localhost:"+port,
		"CONSIGN_LISTEN=127.0.0.1:"+port, "CONSIGN_ADMIN_LISTEN=127.0.0.1:"+testkit.FreePort(t))
	var log output.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "ready", func() bool { return get(t, "http://localhost:"+port+"/readyz") == http.StatusOK })
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v\n%s", err, log.String())
	}
	pidFile := filepath.Join(dir, "postgres", "data", "postmaster.pid")
	if _, err := os.Stat(pidFile); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its Postgres goes on: %v", err)
		killPostgres(t, pidFile)
	}
}

// passableDir is a directory for a private Postgres, which runs as another user where the test is root's.
func passableDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "consign-serve-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// killPostgres kills a cluster's server the hard way.
func killPostgres(t *testing.T, pidFile string) {
	t.Helper()
	raw, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(raw), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// get is the status of a GET, 0 when there is no answer.
func get(t *testing.T, target string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
