package disk

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
)

// maxKnown limits how many leaf directories are cached. Others are only synced again.
const maxKnown = 1 << 14

// directories creates the fan-out directories and caches which of them are durable. An existing directory may not be durable:
// the process that created it may have died before its fsync.
type directories struct {
	mu      sync.Mutex
	durable map[string]struct{}
}

// make creates the two levels that end in leaf, below an existing directory, and makes them durable.
func (d *directories) make(fsys FS, leaf string) error {
	d.mu.Lock()
	_, known := d.durable[leaf]
	d.mu.Unlock()
	if known {
		return nil
	}
	for _, dir := range []string{filepath.Dir(leaf), leaf} {
		if err := fsys.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := fsys.SyncDir(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.durable == nil || len(d.durable) >= maxKnown {
		d.durable = make(map[string]struct{})
	}
	d.durable[leaf] = struct{}{}
	return nil
}

// forget removes leaf from the cache.
func (d *directories) forget(leaf string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.durable, leaf)
}

// makeTree creates dir and its missing parents, and makes each durable before the next below.
func makeTree(fsys FS, dir string) error {
	parent := filepath.Dir(dir)
	if parent == dir {
		return nil
	}
	_, err := fsys.Stat(dir)
	if err == nil {
		// It is synced although it exists, because its creator may have died. An administrator may have created it in a
		// directory that this process may not open; that one is skipped.
		if err := fsys.SyncDir(parent); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeTree(fsys, parent); err != nil {
		return err
	}
	if err := fsys.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return fsys.SyncDir(parent)
}
