// Conformance and layout of the disk store.

package disk_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/disk"
	"github.com/consign-dev/consign/internal/testkit/blobtest"
	"github.com/consign-dev/consign/internal/testkit/powercut"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) func() blob.Store {
		dir := filepath.Join(t.TempDir(), "data", "objects")
		return func() blob.Store { return open(t, dir, disk.OS()) }
	})
}

// TestConformanceOnPowercut also shows that the simulated file layer behaves like a real one without faults.
func TestConformanceOnPowercut(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) func() blob.Store {
		d := powercut.New(powercut.Options{})
		return func() blob.Store { return open(t, "/data/objects", d) }
	})
}

func open(t testing.TB, dir string, fsys disk.FS) *disk.Store {
	t.Helper()
	s, err := disk.New(dir, fsys)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return s
}

// put stores a finished object.
func put(t testing.TB, s *disk.Store, key blob.Key, data string) {
	t.Helper()
	w, err := s.Append(context.Background(), key, 0, int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(context.Background(), key, int64(len(data))); err != nil {
		t.Fatal(err)
	}
}

func list(t testing.TB, s *disk.Store) map[blob.Key]bool {
	t.Helper()
	found := map[blob.Key]bool{}
	err := s.List(context.Background(), func(i blob.Info) error {
		found[i.Key] = i.Finished
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestOpenReturnsFile(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), disk.OS())
	put(t, s, "aaaaaaaa", "x")
	r, err := s.Open(context.Background(), "aaaaaaaa")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, ok := r.(*os.File); !ok {
		t.Errorf("Open returned a %T, want an *os.File for sendfile", r)
	}
}

func TestLayoutIsPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	s := open(t, dir, disk.OS())
	put(t, s, "aaaaaaaa-1234", "x")
	w, err := s.Append(context.Background(), "bbbbbbbb", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	got := map[string]fs.FileMode{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		got[name] = info.Mode()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	private := fs.ModeDir | 0o700
	want := map[string]fs.FileMode{
		".": private, "uploads": private, "objects": private, "objects/12": private, "objects/12/34": private,
		"uploads/bbbbbbbb": 0o600, "objects/12/34/aaaaaaaa-1234": 0o600,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files differ (-want +got):\n%s", diff)
	}
}

func TestListSkipsForeign(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, disk.OS())
	put(t, s, "aaaaaaaa-1234", "x")
	for _, name := range []string{
		"lost+found/x", "uploads/.nfs0001", "uploads/README.txt", "uploads/dddddddd/x", "objects/cccccccc",
		"objects/12/dddddddd", "objects/12/34/.hidden", "objects/12/34/aaaaaaaa-9999", "objects/123/34/aaaaaaaa-1234",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("foreign"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "uploads", "eeeeeeee")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[blob.Key]bool{"aaaaaaaa-1234": true}, list(t, s)); diff != "" {
		t.Errorf("List differs (-want +got):\n%s", diff)
	}
}

// TestEmptyDirectoriesTidied removes empty directories below a running server, as an administrator may with find.
func TestEmptyDirectoriesTidied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, disk.OS())
	put(t, s, "aaaaaaaa-1234", "x")
	if err := s.Delete(context.Background(), "aaaaaaaa-1234"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "objects/12/34")), os.Remove(filepath.Join(dir, "objects/12"))); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(context.Background(), "aaaaaaaa-1234"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Held(context.Background(), "aaaaaaaa-1234"); !errors.Is(err, blob.ErrNotFound) {
		t.Fatal(err)
	}
	put(t, s, "aaaaaaaa-1234", "x")
}

// TestReservedSpace checks that an announced size takes no space that is never filled.
func TestReservedSpace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, disk.OS())
	w, err := s.Append(context.Background(), "aaaaaaaa", 0, 1<<50)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Write(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if used := allocated(t, filepath.Join(dir, "uploads/aaaaaaaa")); used > 65<<20 {
		t.Errorf("while writing, %d bytes are allocated for 1000", used)
	}
	if held, err := w.Sync(); err != nil || held != 1000 {
		t.Fatalf("Sync = %d, %v", held, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if used := allocated(t, filepath.Join(dir, "uploads/aaaaaaaa")); used > 1<<20 {
		t.Errorf("after Close, %d bytes are allocated for 1000", used)
	}
	if held, err := s.Held(context.Background(), "aaaaaaaa"); err != nil || held != 1000 {
		t.Errorf("Held = %d, %v", held, err)
	}
}

func allocated(t testing.TB, name string) int64 {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Stat(name, &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

func TestNewRefusesFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{name, filepath.Join(name, "below")} {
		if _, err := disk.New(dir, disk.OS()); err == nil {
			t.Errorf("New(%s) succeeded on a file", dir)
		}
	}
}
