package powercut

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/consign-dev/consign/internal/blob/disk"
)

// find returns the node at name.
func (d *Disk) find(op, name string) (*node, error) {
	n := d.root
	for part := range strings.SplitSeq(strings.Trim(path.Clean(name), "/"), "/") {
		if part == "" {
			continue
		}
		next := n.entries[part]
		if next == nil {
			return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		n = next
	}
	return n, nil
}

// parent returns the directory of an entry that may not exist yet.
func (d *Disk) parent(op, name string) (*node, string, error) {
	n, err := d.find(op, path.Dir(name))
	if err == nil && !n.isDir {
		err = &fs.PathError{Op: op, Path: name, Err: syscall.ENOTDIR}
	}
	return n, path.Base(name), err
}

// Mkdir implements disk.FS.
func (d *Disk) Mkdir(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, base, err := d.parent("mkdir", name)
	if err != nil {
		return err
	}
	if dir.entries[base] != nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrExist}
	}
	if err := d.step(); err != nil {
		return err
	}
	dir.set(base, newDirectory(), nil)
	return nil
}

// OpenWrite implements disk.FS.
func (d *Disk) OpenWrite(name string, create bool) (disk.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.power(); err != nil {
		return nil, err
	}
	dir, base, err := d.parent("open", name)
	if err != nil {
		return nil, err
	}
	n := dir.entries[base]
	switch {
	case n == nil && !create:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case n == nil:
		if err := d.step(); err != nil {
			return nil, err
		}
		n = &node{modified: d.options.Now()}
		dir.set(base, n, nil)
	case n.isDir:
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EISDIR}
	}
	return &file{disk: d, name: name, node: n}, nil
}

// OpenRead implements disk.FS. The reader sees the content of this moment.
func (d *Disk) OpenRead(name string) (io.ReadSeekCloser, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.power(); err != nil {
		return nil, err
	}
	n, err := d.find("open", name)
	if err != nil {
		return nil, err
	}
	return reader{bytes.NewReader(slices.Clone(n.live))}, nil
}

// Stat implements disk.FS.
func (d *Disk) Stat(name string) (fs.FileInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.power(); err != nil {
		return nil, err
	}
	n, err := d.find("stat", name)
	if err != nil {
		return nil, err
	}
	return describe(path.Base(name), n), nil
}

// Rename implements disk.FS.
func (d *Disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	oldDir, oldBase, err := d.parent("rename", from)
	if err != nil {
		return err
	}
	newDir, newBase, err := d.parent("rename", to)
	if err != nil {
		return err
	}
	n := oldDir.entries[oldBase]
	if n == nil {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	if err := d.step(); err != nil {
		return err
	}
	if replaced := newDir.entries[newBase]; replaced != nil {
		d.used -= int64(len(replaced.live))
	}
	added := newDir.set(newBase, n, nil)
	oldDir.set(oldBase, nil, added)
	return nil
}

// Remove implements disk.FS for files only.
func (d *Disk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, base, err := d.parent("remove", name)
	if err != nil {
		return err
	}
	n := dir.entries[base]
	if n == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	if n.isDir {
		return &fs.PathError{Op: "remove", Path: name, Err: syscall.EISDIR}
	}
	if err := d.step(); err != nil {
		return err
	}
	dir.set(base, nil, nil)
	d.used -= int64(len(n.live))
	return nil
}

// Scan implements disk.FS. Entries come sorted by name, as of the start.
func (d *Disk) Scan(dir string, fn func(fs.FileInfo) error) error {
	d.mu.Lock()
	n, err := d.find("open", dir)
	if err == nil {
		err = d.power()
	}
	var infos []fs.FileInfo
	if err == nil {
		for _, name := range slices.Sorted(maps.Keys(n.entries)) {
			infos = append(infos, describe(name, n.entries[name]))
		}
	}
	d.mu.Unlock()
	if err != nil {
		return err
	}
	for _, info := range infos {
		if err := fn(info); err != nil {
			return err
		}
	}
	return nil
}

// SyncDir implements disk.FS.
func (d *Disk) SyncDir(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.find("open", name)
	if err != nil {
		return err
	}
	if err := d.step(); err != nil {
		return err
	}
	do, err := d.syncs(Sync{Name: name, Dir: true})
	if do {
		n.syncEntries()
	}
	return err
}

// file is a disk.File.
type file struct {
	disk *Disk
	name string
	node *node
}

// WriteAt implements io.WriterAt.
func (f *file) WriteAt(p []byte, offset int64) (int, error) {
	d := f.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return 0, err
	}
	var full error
	if grow := offset + int64(len(p)) - int64(len(f.node.live)); d.options.Capacity > 0 && d.used+grow > d.options.Capacity {
		fits := max(0, int64(len(p))-(d.used+grow-d.options.Capacity))
		p, full = p[:fits], &fs.PathError{Op: "write", Path: f.name, Err: syscall.ENOSPC}
	}
	if len(p) > 0 {
		f.change(change{offset: offset, data: slices.Clone(p)})
	}
	return len(p), full
}

// Truncate implements disk.File.
func (f *file) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.step(); err != nil {
		return err
	}
	if size != int64(len(f.node.live)) {
		f.change(change{offset: size})
	}
	return nil
}

func (f *file) change(c change) {
	before := len(f.node.live)
	f.node.live = c.apply(f.node.live)
	f.node.changes = append(f.node.changes, c)
	f.node.modified = f.disk.options.Now()
	f.disk.used += int64(len(f.node.live) - before)
}

// Size implements disk.File.
func (f *file) Size() (int64, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return int64(len(f.node.live)), f.disk.power()
}

// Sync implements disk.File.
func (f *file) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.step(); err != nil {
		return err
	}
	do, err := f.disk.syncs(Sync{Name: f.name})
	if err != nil {
		f.node.changes = nil
	}
	if do {
		f.node.syncContent()
	}
	return err
}

// Reserve implements disk.File as a file system without fallocate does.
func (f *file) Reserve(int64, int64) error { return errors.ErrUnsupported }

// Writeback implements disk.File and does nothing.
func (f *file) Writeback(int64, int64) {}

// Close implements io.Closer.
func (f *file) Close() error { return nil }

type reader struct{ *bytes.Reader }

// Close implements io.Closer.
func (reader) Close() error { return nil }

// info is an fs.FileInfo.
type info struct {
	name     string
	size     int64
	modified time.Time
	dir      bool
}

func describe(name string, n *node) fs.FileInfo {
	return info{name: name, size: int64(len(n.live)), modified: n.modified, dir: n.isDir}
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) ModTime() time.Time { return i.modified }
func (i info) IsDir() bool        { return i.dir }
func (i info) Sys() any           { return nil }

// Mode implements fs.FileInfo.
func (i info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o700
	}
	return 0o600
}
