//go:build unix

package localpg

import (
	"path/filepath"
	"syscall"
	"testing"
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
