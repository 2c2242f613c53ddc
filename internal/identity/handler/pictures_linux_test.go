//go:build container

package handler_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPictureOnMountedDisk: a picture is refused while the disk of the temporary directory is full, and while it is read-only.
func TestPictureOnMountedDisk(t *testing.T) {
	w := newWorld(t)
	full := mount(t, 0)
	if err := os.WriteFile(filepath.Join(full, "other"), make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
	refusePictures(t, w, full, "no space left")
	refusePictures(t, w, mount(t, syscall.MS_RDONLY), "read-only file system")
}

// mount mounts an empty file system of 64 KiB until the test ends.
func mount(t *testing.T, flags uintptr) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, "size=64k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}
