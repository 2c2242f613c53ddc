package handler_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/consign-dev/consign/internal/identity"
)

// TestPictureWithoutRoom: while the disk on which pictures wait is full, read-only or away, Ann's picture is refused with a 503
// that says so, the cause is logged once, and the same server takes it when there is room. It is not parallel, for TMPDIR.
func TestPictureWithoutRoom(t *testing.T) {
	w := newThree(t)
	file := picture(t, 640, 320)
	for name, without := range map[string]struct {
		begin func(t *testing.T, dir string)
		cause string
	}{
		"away": {func(*testing.T, string) {}, "no such file"},
		"full": {func(t *testing.T, dir string) {
			mount(t, dir, 0)
			if err := os.WriteFile(filepath.Join(dir, "other"), make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("filling the disk: %v", err)
			}
		}, "no space left"},
		"read-only": {func(t *testing.T, dir string) { mount(t, dir, syscall.MS_RDONLY) }, "read-only file system"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "tmp")
			without.begin(t, dir)
			t.Setenv("TMPDIR", dir)
			for _, path := range []string{w.s.Identity + "/profile/avatar", w.acme.path + "/avatar"} {
				before := strings.Count(w.s.Log(), without.cause)
				got := w.ann.With("Content-Type", "image/png").Put(path, file).WantError(identity.ErrPictureNotTaken)
				if got.Header.Get("Retry-After") != "30" {
					t.Errorf("%s: Retry-After %q", path, got.Header.Get("Retry-After"))
				}
				eventually(t, "the log line", func() bool { return strings.Count(w.s.Log(), without.cause) == before+1 })
			}
		})
	}
	w.ann.With("Content-Type", "image/png").Put(w.s.Identity+"/profile/avatar", file).Want(http.StatusOK)
}

// mount makes dir an empty file system with 64 KiB of room until the test ends. Without the right to, it skips the test.
func mount(t *testing.T, dir string, flags uintptr) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	err := syscall.Mount("tmpfs", dir, "tmpfs", flags, "size=64k")
	if errors.Is(err, syscall.EPERM) {
		t.Skip("mounting needs root")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
}
