package app_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/consign-dev/consign/internal/app"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/transfer/content"
)

// TestBackup: while Sam delivers, a backup is written. Restored into an empty database, its list has each file of the database, and each is
// in the storage. A file that is gone is named, another secret key or a used database is refused, and a setting that differs is named.
func TestBackup(t *testing.T) {
	t.Parallel()
	s := testkit.New(t, encrypted())
	mailboxOwner(s)
	send(t, s, canaries(50_000), 10_000)
	send(t, s, canaries(60_000))
	dir := filepath.Join(t.TempDir(), "backup")
	var beside sync.WaitGroup
	beside.Go(func() {
		for range 10 {
			send(t, s, canaries(5_000))
		}
	})
	b, err := s.App.Backup(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	beside.Wait()
	if _, err := s.App.Backup(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a second backup in the same directory: %v", err)
	}
	if b.Objects < 2 || b.Objects > 12 {
		t.Errorf("%d files are listed", b.Objects)
	}

	cfg := s.Config
	cfg.DatabaseURL = pgtest.EmptyURL(t)
	cfg.ProductName = "Other"
	read, err := app.ReadBackup(cfg, dir)
	if err != nil {
		t.Fatal(err)
	}
	names, err := read.Differing(cfg)
	if err != nil || !slices.Contains(names, "CONSIGN_PRODUCT_NAME") || slices.Contains(names, "CONSIGN_SECRET_KEY") {
		t.Errorf("settings that differ: %q, %v", names, err)
	}
	wrong := cfg
	wrong.SecretKey = []byte(strings.Repeat("x", 32))
	if _, err := app.ReadBackup(wrong, dir); err == nil || !strings.Contains(err.Error(), "CONSIGN_SECRET_KEY") {
		t.Errorf("another secret key: %v", err)
	}
	if err := app.Restore(t.Context(), s.Config, dir, read, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("restored into a database that is used")
	}
	for range 2 { // the second time, it is restored already
		if err := app.Restore(t.Context(), cfg, dir, read, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	restored, err := app.New(t.Context(), cfg, app.Options{Now: s.Clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = restored.Close() })
	var last content.Progress
	verify := func() (found []content.Finding) {
		t.Helper()
		checked, missing, err := restored.VerifyRestored(t.Context(), dir, read, func(f content.Finding) error {
			found = append(found, f)
			return nil
		}, func(p content.Progress) { last = p })
		if err != nil || int64(checked) != b.Objects || missing != len(found) || last.Objects != b.Objects || last.Bytes != b.Bytes {
			t.Errorf("%d of %d files checked, progress %+v: %v", checked, b.Objects, last, err)
		}
		return found
	}
	if found := verify(); len(found) > 0 {
		t.Errorf("missing: %v", found)
	}
	var rows int64
	if err := restored.DB.Pool.QueryRow(t.Context(), `SELECT count(*) FROM transfer.objects WHERE sha256 IS NOT NULL AND held > 0`).
		Scan(&rows); err != nil || rows != b.Objects {
		t.Errorf("the dump has %d files, the list %d: %v", rows, b.Objects, err)
	}
	var gone string
	if err := restored.DB.Pool.QueryRow(t.Context(), `SELECT s.uid FROM transfer.segments s WHERE size = 60000`).Scan(&gone); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(s.DataDir, "objects", "objects", "al", "ed", gone+"-sealed")); err != nil {
		t.Fatal(err)
	}
	if found := verify(); len(found) != 1 || found[0].Kind != content.FindingLost {
		t.Errorf("one file is gone: %v", found)
	}
	if err := os.WriteFile(filepath.Join(dir, "objects.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := app.ReadBackup(cfg, dir); err == nil || !strings.Contains(err.Error(), "objects.txt") {
		t.Errorf("a damaged list: %v", err)
	}
}
