package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/consign-dev/consign/internal/blob"
)

// List implements blob.Store. Unfinished objects come first, so that an object finished meanwhile is not missed.
func (s *Store) List(ctx context.Context, fn func(blob.Info) error) error {
	if err := s.listKeys(ctx, s.uploads, false, fn); err != nil {
		return err
	}
	return s.scan(ctx, s.objects, func(top fs.FileInfo) error {
		if !isFanout(top) {
			return nil
		}
		dir := filepath.Join(s.objects, top.Name())
		return s.scan(ctx, dir, func(leaf fs.FileInfo) error {
			if !isFanout(leaf) {
				return nil
			}
			return s.listKeys(ctx, filepath.Join(dir, leaf.Name()), true, fn)
		})
	})
}

// listKeys calls fn for the objects whose place is dir.
func (s *Store) listKeys(ctx context.Context, dir string, finished bool, fn func(blob.Info) error) error {
	return s.scan(ctx, dir, func(info fs.FileInfo) error {
		key := blob.Key(info.Name())
		if !info.Mode().IsRegular() || key.Check() != nil {
			return nil
		}
		if finished && filepath.Dir(s.objectPath(key)) != dir {
			return nil // Open would not find it under its key
		}
		return fn(blob.Info{Key: key, Size: info.Size(), Modified: info.ModTime(), Finished: finished})
	})
}

// scan calls fn for each entry of dir. A missing directory has none.
func (s *Store) scan(ctx context.Context, dir string, fn func(fs.FileInfo) error) error {
	var stopped error
	err := s.fs.Scan(dir, func(info fs.FileInfo) error {
		if stopped = ctx.Err(); stopped == nil {
			stopped = fn(info)
		}
		return stopped
	})
	switch {
	case stopped != nil:
		return stopped
	case s.away(err):
		return fmt.Errorf("list blobs: %w: %w", blob.ErrAway, err)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("list blobs: %w", err)
	default:
		return nil
	}
}

func isFanout(info fs.FileInfo) bool { return info.IsDir() && len(info.Name()) == 2 }
