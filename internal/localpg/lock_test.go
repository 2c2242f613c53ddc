//go:build unix

package localpg

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestReleaseWithCopy: a released lock is free although a child that has not executed its program yet has a copy of its file. A lock that
// lasts for that moment postpones the reset of a demo, and leaves a cluster running after its last user.
func TestReleaseWithCopy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "users.lock")
	held, err := acquire(t.Context(), path, shared)
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := syscall.Dup(int(held.file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	held.release()
	free, err := tryExclusive(path)
	if err != nil {
		t.Fatal(err)
	}
	free.release()
}

// TestCloseAfterFailedRecreate: a cluster whose lock another process took meanwhile can be closed.
func TestCloseAfterFailedRecreate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	users, err := acquire(t.Context(), filepath.Join(dir, "of this process"), shared)
	if err != nil {
		t.Fatal(err)
	}
	held, err := acquire(t.Context(), filepath.Join(dir, "users.lock"), exclusive)
	if err != nil {
		t.Fatal(err)
	}
	defer held.release()
	c := &Cluster{options: Options{Dir: dir}, users: users}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Recreate(ctx); err == nil {
		t.Error("recreated although another process has the lock")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
