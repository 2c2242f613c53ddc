//go:build unix

// Tests of the embedded Postgres: parallel starts, the last user out, kills, and odd paths.

package localpg

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// newDir is t.TempDir with access for user postgres. At the end of the test it stops a cluster still running there.
func newDir(t *testing.T) string {
	t.Helper()
	root, err := os.MkdirTemp("", "localpg")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "pg")
	t.Cleanup(func() {
		leftover := &Cluster{options: Options{Log: slog.New(slog.DiscardHandler)}, dir: dir}
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		if err := leftover.stop(ctx); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func start(t *testing.T, o Options) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// ask returns the text of one value.
func ask(t *testing.T, c *Cluster, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.URL("consign"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var text string
	if err := conn.QueryRow(t.Context(), sql).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

func TestLastUserOutStopsIt(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	first := start(t, Options{Dir: dir, Fsync: true})
	second := start(t, Options{Dir: dir, Fsync: true, Database: "other"})
	for setting, want := range map[string]string{
		"fsync": "on", "full_page_writes": "on", "data_checksums": "on", "listen_addresses": "", "server_encoding": "UTF8", "TimeZone": "UTC",
	} {
		if got := ask(t, first, "SHOW "+setting); got != want {
			t.Errorf("%s = %q, want %q", setting, got, want)
		}
	}
	if got := ask(t, first, "SELECT lower('ÄÉ') || current_user"); got != "äéconsign" {
		t.Errorf("case and user: %q", got)
	}
	if got := ask(t, first, "SELECT count(*)::text FROM pg_database WHERE datname IN ('consign', 'other')"); got != "2" {
		t.Errorf("%s of 2 databases", got)
	}
	pid := first.postmaster()
	if group, err := syscall.Getpgid(pid); err != nil || group != pid {
		t.Errorf("the postmaster is in group %d (%v): Ctrl-C would reach it", group, err)
	}
	checkOwner(t, first)

	for range 2 {
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := ask(t, second, "SELECT 'still here'"); got != "still here" {
		t.Error(got)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if second.alive() || len(second.workers(t.Context())) > 0 {
		t.Error("it runs although nobody uses it")
	}
	if err := second.runOnce(t.Context()); err != nil || second.alive() {
		t.Errorf("a closed cluster was restarted (%v)", err)
	}
}

// checkOwner checks that only the cluster's user can enter it and that this user is not root.
func checkOwner(t *testing.T, c *Cluster) {
	t.Helper()
	want := os.Geteuid()
	if want == 0 {
		want = c.owner.uid
		if want == 0 {
			t.Error("Postgres runs as root")
		}
	}
	for _, dir := range []string{c.data(), c.socket} {
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if uid, _, _ := ownerOf(info); uid != want || info.Mode().Perm() != 0o700 {
			t.Errorf("%s belongs to user %d and has mode %v", dir, uid, info.Mode())
		}
	}
}

func TestTenStartsAtOnce(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	clusters := make([]*Cluster, 10)
	var group sync.WaitGroup
	for i := range clusters {
		group.Go(func() {
			c, err := Start(t.Context(), Options{Dir: dir})
			if err != nil {
				t.Error(err)
				return
			}
			clusters[i] = c
		})
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
	if got := ask(t, clusters[9], "SHOW fsync"); got != "off" {
		t.Errorf("fsync = %s", got)
	}
	pids := map[int]bool{}
	for _, c := range clusters {
		pids[c.postmaster()] = true
	}
	if len(pids) != 1 {
		t.Errorf("several servers: %v", pids)
	}
	for _, c := range clusters {
		group.Go(func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if clusters[0].alive() {
		t.Error("it runs although nobody uses it")
	}
}

func TestKilledStarterLeavesTheCluster(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	startHelper(t, program, dir, nil).kill(t)
	old := (&Cluster{dir: dir}).postmaster()
	if !running(old) {
		t.Fatal("the cluster ended with the process that had started it")
	}
	began := time.Now()
	c := start(t, Options{Dir: dir})
	if c.postmaster() != old {
		t.Error("the running cluster was not used")
	}
	t.Logf("joined in %v", time.Since(began))

	// The reverse case: the cluster keeps running for one process when another process exits normally.
	other := startHelper(t, program, dir, nil)
	other.input.Close()
	if err := other.Wait(); err != nil {
		t.Error(err)
	}
	if got := ask(t, c, "SELECT 'still here'"); got != "still here" {
		t.Error(got)
	}

	// All processes killed: the stale pid files now name unrelated processes.
	testStale(t, c)
}

func testStale(t *testing.T, c *Cluster) {
	t.Helper()
	killCluster(t, c)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	me := strconv.Itoa(os.Getpid())
	pidFile, err := os.ReadFile(c.pidFile())
	if err != nil {
		t.Fatalf("no stale pid file is left: %v", err)
	}
	_, rest, _ := strings.Cut(string(pidFile), "\n")
	if err := os.WriteFile(c.pidFile(), []byte(me+"\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	lockFile := filepath.Join(c.socket, ".s.PGSQL."+port+".lock")
	if err := os.WriteFile(lockFile, []byte(me+"\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	again := start(t, Options{Dir: c.options.Dir})
	if got := ask(t, again, "SELECT 'recovered'"); got != "recovered" {
		t.Error(got)
	}
}

// killCluster kills postmaster and children and waits until they are gone.
func killCluster(t *testing.T, c *Cluster) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		pids := c.workers(t.Context())
		if len(pids) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes %v do not end", pids)
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestRunStartsItAgain(t *testing.T) {
	t.Parallel()
	c := start(t, Options{Dir: newDir(t)})
	old := c.postmaster()
	if err := c.runOnce(t.Context()); err != nil || c.postmaster() != old {
		t.Errorf("a running cluster was restarted (%v)", err)
	}
	if err := syscall.Kill(old, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for c.alive() {
		time.Sleep(time.Millisecond)
	}
	if err := c.runOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, c, "SELECT 'back'"); got != "back" || c.postmaster() == old {
		t.Error(got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Run(ctx); err != nil {
		t.Error(err)
	}
}

func TestLongPath(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(newDir(t), strings.Repeat("long/", 25))
	c := start(t, Options{Dir: dir})
	if !strings.HasPrefix(c.socket, "/tmp/consign-") {
		t.Errorf("socket in %s", c.socket)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(c.socket); err != nil {
			t.Error(err)
		}
	})
	if got := ask(t, c, "SELECT 'short'"); got != "short" {
		t.Error(got)
	}
	checkOwner(t, c)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	// A socket directory that other users can write to is not used.
	if err := os.Chmod(c.socket, 0o777); err != nil {
		t.Fatal(err)
	}
	if again, err := Start(t.Context(), Options{Dir: dir}); err == nil {
		_ = again.Close()
		t.Error("started with a socket directory that is open to everybody")
	}
}

// TestOddPath checks that a directory may have any name. A comma would split the host list, so such a cluster has its socket under /tmp.
func TestOddPath(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Müllers Dateien+50% #1?", "one,two"} {
		c := start(t, Options{Dir: filepath.Join(newDir(t), name)})
		if got := ask(t, c, "SELECT 'odd'"); got != "odd" {
			t.Errorf("in %q: %s", name, got)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if strings.HasPrefix(c.socket, "/tmp/consign-") {
			if err := os.RemoveAll(c.socket); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestFailuresAreExplained(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	c := start(t, Options{Dir: dir})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	conf, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conf.WriteString("no_such_setting = 1\n")
	conf.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("a broken configuration: %v", err)
	}

	if err := os.WriteFile(filepath.Join(c.data(), "PG_VERSION"), []byte("7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "Postgres 7") {
		t.Errorf("a cluster of a version that is not installed: %v", err)
	}

	held, err := acquire(t.Context(), filepath.Join(dir, "start.lock"), exclusive)
	if err != nil {
		t.Fatal(err)
	}
	defer held.release()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "start.lock") {
		t.Errorf("a start that never ends: %v", err)
	}
}
