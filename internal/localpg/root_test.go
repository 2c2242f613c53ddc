//go:build unix

// Tests of the embedded Postgres that root starts as an ordinary user.

package localpg

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Started by root, Postgres runs as user postgres, who cannot access every directory.
func TestUnreachableDirectory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can choose a directory that the database's user cannot reach")
	}
	root := filepath.Dir(newDir(t))
	home, base := filepath.Join(root, "home"), filepath.Join(root, "lib")
	dir := filepath.Join(home, "var", "postgres")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	options := Options{Dir: dir, elsewhere: base}

	c := start(t, options)
	moved := c.Dir()
	if filepath.Dir(moved) != base {
		t.Errorf("the cluster is in %s", moved)
	}
	if got := ask(t, c, "SELECT 'reached'"); got != "reached" {
		t.Error(got)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}

	// The cluster stays there even when the original directory becomes accessible.
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	c = start(t, options)
	if c.Dir() != moved {
		t.Errorf("the cluster moved from %s to %s", moved, c.Dir())
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}

	// A cluster that became unreachable is an error, not an empty database.
	if err := os.Chmod(base, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), options); err == nil || !strings.Contains(err.Error(), moved) {
		t.Errorf("a cluster that cannot be reached any more: %v", err)
	}
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}

	// A recreated data directory does not use the old cluster.
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home, 0o700); err != nil {
		t.Fatal(err)
	}
	c = start(t, options)
	if c.Dir() == moved || filepath.Dir(c.Dir()) != base {
		t.Errorf("the new cluster is in %s", c.Dir())
	}
}

func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("all other tests run as an ordinary user already")
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Skip(err)
	}
	uid, errUID := strconv.Atoi(nobody.Uid)
	gid, errGID := strconv.Atoi(nobody.Gid)
	if errUID != nil || errGID != nil {
		t.Fatal(errUID, errGID)
	}
	dir := newDir(t)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	visit, err := acquire(t.Context(), filepath.Join(dir, "start.lock"), exclusive) // creates the lock file as root
	if err != nil {
		t.Fatal(err)
	}
	visit.release()
	program := filepath.Join(filepath.Dir(dir), "program")
	copyProgram(t, program)
	p := startHelper(t, program, dir, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}})
	c := &Cluster{dir: dir}
	if info, err := os.Stat(c.data()); err != nil {
		t.Error(err)
	} else if owner, _, _ := ownerOf(info); owner != uid {
		t.Errorf("the data belongs to user %d", owner)
	}

	// Root joins the cluster of another user as it is.
	joined := start(t, Options{Dir: dir})
	if got := ask(t, joined, "SELECT 'joined'"); got != "joined" {
		t.Error(got)
	}
	p.input.Close()
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
	if got := ask(t, joined, "SELECT 'alone'"); got != "alone" {
		t.Error(got)
	}
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	from, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	// A process that another test forks meanwhile must not inherit the open file: the copy could not be executed (ETXTBSY).
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(to, content, 0o755); err != nil {
		t.Fatal(err)
	}
}
