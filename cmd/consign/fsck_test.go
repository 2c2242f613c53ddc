package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/disk"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

// TestFsckCommand checks what scripts rely on: nothing to report ends well, a finding is listed and ends with a failure,
// unless it is accepted.
func TestFsckCommand(t *testing.T) {
	t.Parallel()
	objects := t.TempDir()
	environ := append(external(t, pgtest.URL(t)), "CONSIGN_STORAGE_URL=file://"+filepath.ToSlash(objects))
	if _, _, err := consign(t.Context(), environ, "migrate", "up"); err != nil {
		t.Fatal(err)
	}
	if out, _, err := consign(t.Context(), environ, "fsck"); err != nil || out != "objects: 0, bytes read: 0, findings: 0\n" {
		t.Fatalf("%q, %v", out, err)
	}
	store, err := disk.New(objects, disk.OS())
	if err != nil {
		t.Fatal(err)
	}
	orphan := id.New[id.Object]()
	w, err := store.Append(t.Context(), blob.SegmentKey(id.Segment(orphan)), 0, 5)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := store.Finish(t.Context(), blob.SegmentKey(id.Segment(orphan)), 5); err != nil {
		t.Fatal(err)
	}
	out, _, err := consign(t.Context(), environ, "fsck")
	if err == nil || !strings.HasPrefix(out, "orphan "+orphan.String()+": 5 bytes, finished") || !strings.Contains(out, "fsck --accept") {
		t.Errorf("%q, %v", out, err)
	}
	for _, args := range [][]string{{"--sample", "1"}, {"--sample", "0%"}, {"--after", "x"}, {"--sample", "1%", "--accept"}} {
		if _, _, err := consign(t.Context(), environ, append([]string{"fsck"}, args...)...); err == nil || !strings.HasPrefix(err.Error(), "--") {
			t.Errorf("%q: %v", args, err)
		}
	}
	if out, _, err := consign(t.Context(), environ, "fsck", "--sample", "50%"); err != nil || !strings.Contains(out, "findings: 0") {
		t.Errorf("a sample, which looks for no orphans: %q, %v", out, err)
	}
	if out, _, err := consign(t.Context(), environ, "fsck", "--accept"); err != nil || !strings.Contains(out, "accepted") {
		t.Errorf("%q, %v", out, err)
	}
	if out, _, err := consign(t.Context(), environ, "fsck"); err == nil || strings.Contains(out, "--accept") {
		t.Errorf("%q, %v", out, err)
	}

	// What has been on storage is known even when nothing is held: no command begins a new store beside it.
	if err := errors.Join(os.Rename(filepath.Join(objects, "uploads"), filepath.Join(objects, "u")),
		os.Rename(filepath.Join(objects, "objects"), filepath.Join(objects, "o"))); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"serve"}, {"fsck"}, {"fsck", "--accept"}} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // serve would go on
		_, _, err := consign(ctx, environ, args...)
		cancel()
		if err == nil || !strings.HasPrefix(err.Error(), "CONSIGN_STORAGE_URL: "+objects) {
			t.Errorf("%q without the storage: %v", args, err)
		}
	}
	// What touches no file is most needed then.
	for _, args := range [][]string{{"maintenance", "on"}, {"keys", "rotate"}, {"person", "create", "ann@example.com"}} {
		if _, _, err := consign(t.Context(), environ, args...); err != nil {
			t.Errorf("%q without the storage: %v", args, err)
		}
	}
	if _, err := os.Stat(filepath.Join(objects, "uploads")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a command began a new store: %v", err)
	}
	if err := errors.Join(os.Rename(filepath.Join(objects, "u"), filepath.Join(objects, "uploads")),
		os.Rename(filepath.Join(objects, "o"), filepath.Join(objects, "objects"))); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(objects); err != nil || len(entries) == 0 {
		t.Errorf("fsck emptied the store: %v", err)
	}
}
