package disk

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
)

// maxKnown bounds how many leaf directories are remembered; beyond it they are synced anew, which costs time only.
const maxKnown = 1 << 14

// directories makes the fan-out directories and remembers which of them are durable. That a directory exists proves
// nothing: the process that made it may have died before its fsync.
type directories struct {
	mu      sync.Mutex
	durable map[string]struct{}
}

// make creates the two levels that end in leaf, under a directory that exists, and makes them durable.
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

// forget makes the next call for leaf look at the disk again.
func (d *directories) forget(leaf string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.durable, leaf)
}

// makeTree creates dir and whatever is missing above it, and makes each of them durable before the next below.
func makeTree(fsys FS, dir string) error {
	parent := filepath.Dir(dir)
	if parent == dir {
		return nil
	}
	_, err := fsys.Stat(dir)
	if err == nil {
		// It is synced all the same, since its maker may have died. An administrator may have made it in a place
		// that we are not allowed to open; then it is not ours to care for.
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
