// Tests of the disk store on disks that are full, fail or are away.

package disk_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/disk"
	"github.com/consign-dev/consign/internal/testkit/powercut"
)

const key = blob.Key("aaaaaaaa")

func begin(t testing.TB, s *disk.Store, offset int64) blob.Writer {
	t.Helper()
	w, err := s.Append(context.Background(), key, offset, 0)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func mustWrite(t testing.TB, w blob.Writer, data string) {
	t.Helper()
	if n, err := w.Write([]byte(data)); err != nil || n != len(data) {
		t.Fatalf("Write = %d, %v", n, err)
	}
}

func mustSync(t testing.TB, w blob.Writer, want int64) {
	t.Helper()
	if held, err := w.Sync(); err != nil || held != want {
		t.Fatalf("Sync = %d, %v, want %d", held, err, want)
	}
}

func mustClose(t testing.TB, w blob.Writer) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAway checks that a file system that is unmounted or read-only is unavailable, and that no object counts as deleted.
func TestAway(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "objects")
	elsewhere := dir + ".unmounted"
	s := open(t, dir, disk.OS())
	put(t, s, "finished-object", "1234")
	w := begin(t, s, 0)
	mustWrite(t, w, "abc")
	mustSync(t, w, 3)
	mustClose(t, w)

	if err := errors.Join(os.Rename(dir, elsewhere), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	appendAt := func(offset int64) error { _, err := s.Append(ctx, key, offset, 0); return err }
	for what, do := range map[string]func() error{
		"Append at 0": func() error { return appendAt(0) },
		"Append at 3": func() error { return appendAt(3) },
		"Finish":      func() error { return s.Finish(ctx, key, 3) },
		"Open":        func() error { _, err := s.Open(ctx, "finished-object"); return err },
		"Held":        func() error { _, err := s.Held(ctx, key); return err },
		"Delete":      func() error { return s.Delete(ctx, "finished-object") },
		"List":        func() error { return s.List(ctx, func(blob.Info) error { return nil }) },
	} {
		if err := do(); !errors.Is(err, blob.ErrAway) || errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrGap) {
			t.Errorf("%s: %v, want ErrAway alone", what, err)
		}
	}
	if err := errors.Join(os.Remove(dir), os.Rename(elsewhere, dir)); err != nil {
		t.Fatal(err)
	}
	w = begin(t, s, 3)
	mustWrite(t, w, "d")
	mustClose(t, w)
	if err := errors.Join(s.Finish(ctx, key, 4), checkContent(s, key, "abcd"), checkContent(s, "finished-object", "1234")); err != nil {
		t.Error(err)
	}

	if _, err := open(t, dir, readOnly{disk.OS()}).Append(ctx, "another-object", 0, 0); !errors.Is(err, blob.ErrAway) {
		t.Errorf("Append on a file system that is read-only: %v, want ErrAway", err)
	}
}

// readOnly is a file layer that refuses to open files for writing.
type readOnly struct{ disk.FS }

func (readOnly) OpenWrite(name string, _ bool) (disk.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EROFS}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	d := powercut.New(powercut.Options{Capacity: 10})
	s := open(t, root, d)
	put(t, s, "other-object", "1234")
	w := begin(t, s, 0)
	mustWrite(t, w, "abc")
	mustSync(t, w, 3)
	n, err := w.Write([]byte("defgh"))
	if n != 3 || !errors.Is(err, blob.ErrFull) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("Write = %d, %v, want 3 and ErrFull", n, err)
	}
	mustSync(t, w, 6)
	mustClose(t, w)

	s = open(t, root, d.Crash(powercut.Nothing, powercut.Options{Capacity: 10}))
	w = begin(t, s, 6)
	if n, err := w.Write([]byte("gh")); n != 0 || !errors.Is(err, blob.ErrFull) {
		t.Fatalf("Write = %d, %v, want 0 and ErrFull", n, err)
	}
	mustClose(t, w)
	if err := s.Delete(context.Background(), "other-object"); err != nil {
		t.Fatal(err)
	}
	w = begin(t, s, 6)
	mustWrite(t, w, "gh")
	mustClose(t, w)
	if err := s.Finish(context.Background(), key, 8); err != nil {
		t.Fatal(err)
	}
	if err := checkContent(s, key, "abcdefgh"); err != nil {
		t.Error(err)
	}
}

// TestFullOnSync simulates delayed allocation or a quota: the write succeeds, and Sync fails.
func TestFullOnSync(t *testing.T) {
	t.Parallel()
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		failing := true
		d := powercut.New(powercut.Options{FailSync: func(f powercut.Sync) error {
			if failing && strings.HasSuffix(f.Name, string(key)) {
				return full
			}
			return nil
		}})
		s := open(t, root, d)
		w := begin(t, s, 0)
		mustWrite(t, w, "abc")
		if held, err := w.Sync(); held != 0 || !errors.Is(err, blob.ErrFull) {
			t.Fatalf("Sync = %d, %v, want 0 and ErrFull", held, err)
		}
		mustClose(t, w)
		failing = false
		w = begin(t, s, 0)
		mustWrite(t, w, "abc")
		mustSync(t, w, 3)
		mustClose(t, w)
	}
}

// TestFailedSyncIsRemembered checks that a failed write stays failed: the kernel reports it to one fsync only.
func TestFailedSyncIsRemembered(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"uploads/" + string(key), "uploads"} {
		failing := false
		d := powercut.New(powercut.Options{FailSync: func(f powercut.Sync) error {
			if failing && strings.HasSuffix(f.Name, name) {
				failing = false
				return syscall.EIO
			}
			return nil
		}})
		s := open(t, root, d)
		w := begin(t, s, 0)
		if name != "uploads" { // it is synced with the first bytes only
			mustWrite(t, w, "abc")
			mustSync(t, w, 3)
		}
		held := int64(0)
		if name != "uploads" {
			held = 3
		}
		mustWrite(t, w, "def")
		failing = true
		for range 2 {
			if got, err := w.Sync(); got != held || !errors.Is(err, syscall.EIO) {
				t.Fatalf("Sync = %d, %v, want %d and EIO", got, err, held)
			}
			if n, err := w.Write([]byte("x")); n != 0 || !errors.Is(err, syscall.EIO) {
				t.Fatalf("Write after a failed Sync = %d, %v", n, err)
			}
		}
		mustClose(t, w)
		// A caller that ignored the error must not get an object finished whose bytes are lost.
		if err := s.Finish(context.Background(), key, held+3); !errors.Is(err, blob.ErrSize) {
			t.Fatalf("Finish = %v, want ErrSize", err)
		}
		w = begin(t, s, held)
		mustWrite(t, w, "DEF")
		mustSync(t, w, held+3)
		mustClose(t, w)
		if err := s.Finish(context.Background(), key, held+3); err != nil {
			t.Fatal(err)
		}
		s = open(t, root, d.Crash(powercut.Nothing, powercut.Options{}))
		if err := checkContent(s, key, "abc"[:held]+"DEF"); err != nil {
			t.Error(err)
		}
	}
}

// TestFailedSyncIsReported fails each fsync of an object's life in turn: the caller must see each failure.
func TestFailedSyncIsReported(t *testing.T) {
	t.Parallel()
	life := slices.Concat(work...)
	for n := 0; ; n++ {
		count := 0
		d := powercut.New(powercut.Options{FailSync: func(powercut.Sync) error {
			if count++; count == n+1 {
				return syscall.EIO
			}
			return nil
		}})
		_, err := carryOut(d, life, 0, book{})
		if count <= n { // past the last one
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("fsync %d failed, and the caller saw %v", n, err)
		}
	}
}
