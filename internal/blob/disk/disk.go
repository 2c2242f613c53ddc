// Package disk keeps blobs as files in one directory of one file system:
//
//	uploads/<key>           unfinished objects, written in place
//	objects/xx/yy/<key>     finished objects; xxyy are the last four characters of the key
//
// Finish renames a file from the first to the second, so both are on the same file system. The order of writes, renames and
// fsyncs keeps the guarantees of package blob through a power cut; package powercut simulates one to verify it. Foreign files
// are left alone.
package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/consign-dev/consign/internal/blob"
)

const (
	uploadsDir = "uploads"
	objectsDir = "objects"
)

// Store is a blob.Store on a file system. Several processes may use one directory.
type Store struct {
	fs      FS
	uploads string
	objects string
	fanout  directories
}

var (
	_ blob.Store  = (*Store)(nil)
	_ blob.Probed = (*Store)(nil)
)

// New opens the store in dir and creates dir if it is missing. Only the process's user can access its files and directories.
func New(dir string, fsys FS) (*Store, error) {
	s := &Store{
		fs:      fsys,
		uploads: filepath.Join(dir, uploadsDir),
		objects: filepath.Join(dir, objectsDir),
	}
	if err := makeTree(fsys, dir); err != nil {
		return nil, fmt.Errorf("open blob store: %w", err)
	}
	for _, d := range []string{s.uploads, s.objects} {
		if err := fsys.Mkdir(d); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("open blob store: %w", err)
		}
	}
	if err := fsys.SyncDir(dir); err != nil {
		return nil, fmt.Errorf("open blob store: %w", err)
	}
	return s, nil
}

// Directories returns the names of the directories in a store.
func Directories() []string { return []string{uploadsDir, objectsDir} }

// Missing reports whether dir holds no store: neither of its directories exists. An empty mount point of an unmounted file
// system looks the same, and New would create a new store in it.
func Missing(dir string, fsys FS) (bool, error) {
	for _, name := range Directories() {
		_, err := fsys.Stat(filepath.Join(dir, name))
		if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	return true, nil
}

// probeName is the file of Probe. It is no key.
const probeName = ".probe"

// Probe implements blob.Probed. A directory that is missing is a file system that is not mounted any more. Another server that shares the
// directory may remove the file first.
func (s *Store) Probe(context.Context) error {
	if _, err := s.fs.Stat(s.objects); err != nil {
		return fmt.Errorf("probe blob store: %w", err)
	}
	name := s.uploadPath(probeName)
	file, err := s.fs.OpenWrite(name, true)
	if err == nil {
		_, err = file.WriteAt([]byte("ok\n"), 0)
		err = errors.Join(err, file.Close())
	}
	if gone := s.fs.Remove(name); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	if err != nil {
		return fmt.Errorf("probe blob store: %w", err)
	}
	return nil
}

// Append implements blob.Store.
func (s *Store) Append(ctx context.Context, key blob.Key, offset, size int64) (blob.Writer, error) {
	if err := blob.BeginAppend(ctx, key, offset); err != nil {
		return nil, err
	}
	finished, err := s.sizeOf(s.objectPath(key))
	switch {
	case err == nil:
		return blob.AppendFinished(key, offset, finished)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, s.failed("append to", key, err)
	}
	file, err := s.fs.OpenWrite(s.uploadPath(key), offset == 0)
	if errors.Is(err, fs.ErrNotExist) && !s.away(err) {
		return nil, fmt.Errorf("append to blob %s: %w: 0 held, offset %d", key, blob.ErrGap, offset)
	} else if err != nil {
		return nil, s.failed("append to", key, err)
	}
	if err := cut(file, offset); err != nil {
		file.Close()
		return nil, s.failed("append to", key, err)
	}
	return &writer{
		store: s, key: key, file: file, at: offset, held: offset, size: size, kicked: offset, reserved: offset,
		// A file opened at offset 0 may be left over by a process that died before it made the directory entry durable.
		newEntry: offset == 0,
	}, nil
}

// cut truncates the file to offset.
func cut(file File, offset int64) error {
	held, err := file.Size()
	if err != nil {
		return err
	}
	if held < offset {
		return fmt.Errorf("%w: %d held, offset %d", blob.ErrGap, held, offset)
	}
	if held > offset {
		return file.Truncate(offset)
	}
	return nil
}

// Finish implements blob.Store.
func (s *Store) Finish(ctx context.Context, key blob.Key, size int64) error {
	if err := blob.Begin(ctx, key); err != nil {
		return err
	}
	object := s.objectPath(key)
	held, err := s.sizeOf(object)
	if errors.Is(err, fs.ErrNotExist) {
		held = size
		if err = s.promote(key, size); errors.Is(err, fs.ErrNotExist) {
			held, err = s.sizeOf(object) // a parallel call has finished it
		}
	}
	if err != nil {
		return s.failed("finish", key, err)
	}
	if held != size {
		return fmt.Errorf("finish blob %s: %w: %d held, %d expected", key, blob.ErrSize, held, size)
	}
	if err := s.settle(key); err != nil {
		return s.failed("finish", key, err)
	}
	return nil
}

// promote renames a complete upload to its finished place; settle makes the rename durable.
func (s *Store) promote(key blob.Key, size int64) error {
	file, err := s.fs.OpenWrite(s.uploadPath(key), false)
	if err != nil {
		return err
	}
	defer file.Close()
	held, err := file.Size()
	if err != nil {
		return err
	}
	if held != size {
		return fmt.Errorf("%w: %d held, %d expected", blob.ErrSize, held, size)
	}
	if err := file.Sync(); err != nil {
		return err
	}
	object := s.objectPath(key)
	leaf := filepath.Dir(object)
	for range 2 {
		if err = s.fanout.make(s.fs, leaf); err != nil {
			return err
		}
		if err = s.fs.Rename(s.uploadPath(key), object); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		s.fanout.forget(leaf) // an administrator may have removed empty directories
	}
	return err
}

// settle makes a finished object durable. It is repeated for an object that is already finished: the process that renamed it
// may have died before its fsyncs.
func (s *Store) settle(key blob.Key) error {
	// First the new name: the old one must not go before the new one is durable.
	if err := s.fs.SyncDir(filepath.Dir(s.objectPath(key))); err != nil {
		return err
	}
	// A power cut between the two fsyncs can leave the file under both names.
	if err := s.fs.Remove(s.uploadPath(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.fs.SyncDir(s.uploads)
}

// Open implements blob.Store. On OS the Reader is an *os.File.
func (s *Store) Open(ctx context.Context, key blob.Key) (blob.Reader, error) {
	if err := blob.Begin(ctx, key); err != nil {
		return nil, err
	}
	r, err := s.fs.OpenRead(s.objectPath(key))
	if err != nil {
		return nil, s.failed("open", key, err)
	}
	return r, nil
}

// Held implements blob.Store.
func (s *Store) Held(ctx context.Context, key blob.Key) (int64, error) {
	if err := blob.Begin(ctx, key); err != nil {
		return 0, err
	}
	// The finished place is checked twice, because a Finish may happen between the first two checks.
	for _, name := range []string{s.objectPath(key), s.uploadPath(key), s.objectPath(key)} {
		held, err := s.sizeOf(name)
		if err == nil {
			return held, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return 0, s.failed("look up", key, err)
		}
	}
	return 0, s.failed("look up", key, fs.ErrNotExist)
}

// Delete implements blob.Store.
func (s *Store) Delete(ctx context.Context, key blob.Key) error {
	if err := blob.Begin(ctx, key); err != nil {
		return err
	}
	// In the order of Finish, so that an object that moves between the two places is found. The directories are synced even
	// when nothing was there: a process may have died between removal and fsync.
	for _, name := range []string{s.uploadPath(key), s.objectPath(key)} {
		if err := s.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s.failed("delete", key, err)
		}
		dir := filepath.Dir(name)
		if err := s.fs.SyncDir(dir); err != nil && (dir == s.uploads || !errors.Is(err, fs.ErrNotExist)) {
			return s.failed("delete", key, err)
		}
	}
	return nil
}

func (s *Store) uploadPath(key blob.Key) string { return filepath.Join(s.uploads, string(key)) }

// objectPath spreads objects over directories by the end of the key, because a UUIDv7 begins with the time.
func (s *Store) objectPath(key blob.Key) string {
	k := string(key)
	n := len(k)
	return filepath.Join(s.objects, k[n-4:n-2], k[n-2:], k)
}

func (s *Store) sizeOf(name string) (int64, error) {
	info, err := s.fs.Stat(name)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// failed wraps an error of the file system with the error of package blob that callers check for.
func (s *Store) failed(operation string, key blob.Key, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%s blob %s: %w: %w", operation, key, blob.ErrFull, err)
	case s.away(err):
		return fmt.Errorf("%s blob %s: %w: %w", operation, key, blob.ErrAway, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s blob %s: %w", operation, key, blob.ErrNotFound)
	default:
		return fmt.Errorf("%s blob %s: %w", operation, key, err)
	}
}

// unreachable holds the errors of a file system that is unmounted, or was remounted read-only after an error.
var unreachable = []error{syscall.EROFS, syscall.ESTALE, syscall.ENOTCONN, syscall.ETIMEDOUT, syscall.EHOSTDOWN}

// away reports whether err comes from a file system that is unavailable. An unmounted one leaves an empty directory: a missing
// file there is not evidence of a deleted object.
func (s *Store) away(err error) bool {
	if errors.Is(err, fs.ErrNotExist) {
		_, err = s.fs.Stat(s.uploads)
		return errors.Is(err, fs.ErrNotExist)
	}
	return slices.ContainsFunc(unreachable, func(known error) bool { return errors.Is(err, known) })
}
