// Copies objects from the second place to the first, and compares them.

package pair

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/consign-dev/consign/internal/blob"
)

// ErrDiffers means that a copy has other bytes than the object.
var ErrDiffers = errors.New("the SHA-256 of the copy is not that of the file")

// syncEvery is how many bytes of a copy an interruption can cost.
const syncEvery = 64 << 20

// Old returns the place that Move empties.
func (s *Store) Old() blob.Store { return s.second }

// Copy copies a finished object of the second place to the first, and compares the SHA-256 of what was read there with that of what the
// first place gives back. It goes on where an interrupted call has ended. The object stays in the second place until Drop. reading wraps
// what is read, to pace it, or to end it; ready is asked before the copy is finished. The caller is the only one who moves the object.
// Errors: blob.ErrNotFound when there is nothing finished to copy; ErrDiffers; blob.ErrFull; that of ready.
func (s *Store) Copy(ctx context.Context, key blob.Key, reading func(io.Reader) io.Reader, ready func() error) (size int64, err error) {
	from, err := s.second.Open(ctx, key)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	if size, err = from.Seek(0, io.SeekEnd); err == nil {
		_, err = from.Seek(0, io.SeekStart)
	}
	if err != nil {
		return 0, fmt.Errorf("read blob %s: %w", key, err)
	}
	read, original := sha256.New(), reading(from)
	done, err := finished(ctx, s.first, key)
	if err != nil {
		return 0, err
	}
	if done { // an earlier call was interrupted before Drop
		_, err = io.Copy(read, original)
	} else {
		err = s.fill(ctx, key, size, io.TeeReader(original, read))
		if err == nil {
			err = ready()
		}
		if err == nil {
			err = s.first.Finish(ctx, key, size)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("copy blob %s: %w", key, err)
	}
	return size, s.compare(ctx, key, read, reading)
}

// fill appends to the copy what it lacks of the size bytes of r.
func (s *Store) fill(ctx context.Context, key blob.Key, size int64, r io.Reader) error {
	at, err := s.first.Held(ctx, key)
	switch {
	case errors.Is(err, blob.ErrNotFound) || at > size:
		at = 0
	case err != nil:
		return err
	}
	if _, err := io.CopyN(io.Discard, r, at); err != nil {
		return err
	}
	w, err := s.first.Append(ctx, key, at, size)
	if err != nil {
		return err
	}
	defer w.Close()
	for at < size {
		n, err := io.CopyN(struct{ io.Writer }{w}, r, min(syncEvery, size-at))
		at += n
		if err != nil {
			_, _ = w.Sync() // the next call goes on there
			return err
		}
		if _, err := w.Sync(); err != nil {
			return err
		}
	}
	if _, err := w.Sync(); err != nil {
		return err
	}
	return w.Close()
}

// compare reads the copy. One that differs is deleted.
func (s *Store) compare(ctx context.Context, key blob.Key, want hash.Hash, reading func(io.Reader) io.Reader) error {
	r, err := s.first.Open(ctx, key)
	if err != nil {
		return err
	}
	defer r.Close()
	got := sha256.New()
	if _, err := io.Copy(got, reading(r)); err != nil {
		return fmt.Errorf("read the copy of blob %s: %w", key, err)
	}
	if bytes.Equal(got.Sum(nil), want.Sum(nil)) {
		return nil
	}
	return errors.Join(fmt.Errorf("copy blob %s: %w", key, ErrDiffers), s.first.Delete(ctx, key))
}

// Drop deletes an object that was copied from the second place.
func (s *Store) Drop(ctx context.Context, key blob.Key) error { return s.second.Delete(ctx, key) }

// Undo deletes the copy of an object that is about to be deleted.
func (s *Store) Undo(ctx context.Context, key blob.Key) error { return s.first.Delete(ctx, key) }
