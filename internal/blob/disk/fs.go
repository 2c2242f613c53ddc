package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// FS is the file layer below a Store: the operating system's (OS) or a simulation of power cuts. Names are paths. Errors wrap
// those of io/fs and syscall, as those of package os do.
type FS interface {
	// Mkdir creates one directory, for this user only.
	Mkdir(name string) error
	// OpenWrite opens a file for writing without changing it. With create, it creates a missing file.
	OpenWrite(name string, create bool) (File, error)
	// OpenRead opens a file for reading.
	OpenRead(name string) (io.ReadSeekCloser, error)
	// Stat returns a file's attributes.
	Stat(name string) (fs.FileInfo, error)
	// Rename renames a file within the file system and replaces a file of the new name.
	Rename(from, to string) error
	// Remove removes a file.
	Remove(name string) error
	// Scan calls fn for each entry of a directory, in any order, until fn returns an error. It skips entries that vanish
	// meanwhile.
	Scan(dir string, fn func(fs.FileInfo) error) error
	// SyncDir makes the creations, renames and removals in a directory durable.
	SyncDir(dir string) error
}

// File is a file open for writing.
type File interface {
	io.WriterAt
	io.Closer
	// Size returns the file's length in bytes.
	Size() (int64, error)
	// Truncate sets the length and releases space reserved beyond it.
	Truncate(size int64) error
	// Sync makes content and length durable, but not the file's name; see SyncDir.
	Sync() error
	// Reserve allocates space without changing the length.
	Reserve(offset, length int64) error
	// Writeback starts writing a range to the disk and does not wait. It guarantees nothing.
	Writeback(offset, length int64)
}

// OS returns the operating system's file layer.
func OS() FS { return osFS{} }

type osFS struct{}

// batch is how many directory entries one call reads.
const batch = 256

func (osFS) Mkdir(name string) error { return os.Mkdir(name, 0o700) }

func (osFS) OpenWrite(name string, create bool) (File, error) {
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(name, flags, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) OpenRead(name string) (io.ReadSeekCloser, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (osFS) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }
func (osFS) Rename(from, to string) error          { return os.Rename(from, to) }
func (osFS) Remove(name string) error              { return os.Remove(name) }

func (osFS) Scan(dir string, fn func(fs.FileInfo) error) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	for {
		entries, err := d.ReadDir(batch)
		for _, e := range entries {
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			if err := fn(info); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (osFS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	// Some network and FUSE file systems support no fsync of directories.
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// osFile adds methods of File that *os.File lacks.
type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
