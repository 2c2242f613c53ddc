package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/consign-dev/consign/internal/blob"
)

// A planned object is one file in uploads, like any other. Its Writers write at their offsets, and reserve no space. The file grows
// to the end of the last byte written; what no Writer has written reads as zeros. An fsync covers the whole file: every Writer has
// a file descriptor of its own, so each learns of a failure to write.

// Plan implements blob.Store. The name of the file is durable when it returns. Its length becomes so by the first Sync of a Writer.
func (s *Store) Plan(ctx context.Context, key blob.Key, d blob.Division) (int64, error) {
	if err := blob.Begin(ctx, key); err != nil {
		return 0, err
	}
	file, err := s.fs.OpenWrite(s.uploadPath(key), true)
	if err == nil {
		err = errors.Join(cut(file, 0), file.Close())
	}
	if err == nil {
		err = s.fs.SyncDir(s.uploads)
	}
	if err != nil {
		return 0, s.failed("plan", key, err)
	}
	return d.Part, nil
}

// AppendAt implements blob.Store.
func (s *Store) AppendAt(ctx context.Context, key blob.Key, begin, offset int64) (blob.Writer, error) {
	if err := blob.BeginAt(ctx, key, begin, offset); err != nil {
		return nil, err
	}
	file, err := s.fs.OpenWrite(s.uploadPath(key), false)
	if errors.Is(err, fs.ErrNotExist) && !s.away(err) {
		return nil, fmt.Errorf("append to blob %s: %w: nothing held", key, blob.ErrGap)
	} else if err != nil {
		return nil, s.failed("append to", key, err)
	}
	held, err := file.Size()
	if err == nil && offset > begin && held < offset {
		err = fmt.Errorf("%w: %d held, offset %d", blob.ErrGap, held, offset)
	}
	if err != nil {
		file.Close()
		return nil, s.failed("append to", key, err)
	}
	return &writer{store: s, key: key, file: file, at: offset, held: offset, kicked: offset, reserved: offset, shared: true}, nil
}

// OpenPlanned implements blob.Store.
func (s *Store) OpenPlanned(ctx context.Context, key blob.Key, _, _ int64) (blob.Reader, error) {
	if err := blob.Begin(ctx, key); err != nil {
		return nil, err
	}
	r, err := s.fs.OpenRead(s.uploadPath(key))
	if errors.Is(err, fs.ErrNotExist) {
		return s.Open(ctx, key)
	}
	if err != nil {
		return nil, s.failed("open", key, err)
	}
	return r, nil
}
