// The file lock of processes that share an embedded Postgres.

package localpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

type lockMode int

const (
	shared lockMode = iota
	exclusive
	unlocked
)

var errLocked = errors.New("locked by another process")

// lock is an advisory lock on a file. The kernel releases it when the process ends.
type lock struct{ file *os.File }

// acquire waits for the lock until ctx ends.
func acquire(ctx context.Context, path string, how lockMode) (*lock, error) {
	f, err := openLock(path)
	if err != nil {
		return nil, err
	}
	for {
		err := flock(f, how)
		if err == nil {
			return &lock{f}, nil
		}
		if !errors.Is(err, errLocked) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("wait for %s: %w", path, context.Cause(ctx))
		case <-time.After(pollInterval):
		}
	}
}

// tryExclusive takes the lock if it is free.
// Errors: errLocked.
func tryExclusive(path string) (*lock, error) {
	f, err := openLock(path)
	if err != nil {
		return nil, err
	}
	if err := flock(f, exclusive); err != nil {
		f.Close()
		return nil, err
	}
	return &lock{f}, nil
}

// openLock creates the file if it is missing. A file created by root is given to the directory's owner, who may use it later.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil || os.Geteuid() != 0 {
		return f, err
	}
	info, err := os.Stat(filepath.Dir(path))
	if err == nil {
		if uid, gid, ok := ownerOf(info); ok {
			err = f.Chown(uid, gid)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// release unlocks before it closes: a child has a copy of the file until it executes its program, and a lock lasts until the last copy is
// closed.
func (l *lock) release() {
	_ = flock(l.file, unlocked)
	l.file.Close()
}
