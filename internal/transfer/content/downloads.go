package content

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// All bytes that leave the server come from Open and OpenArchive: a gate is asked before.

// Open opens the bytes of a complete object, if the gate of its transfer lets it pass. The caller closes them.
// Errors: transfer.ErrBeingChecked, transfer.ErrHeld, transfer.ErrRemoved, fault.ErrUnavailable, any other of the blob store wrapped.
func (s *Service) Open(ctx context.Context, o transfer.Object, g transfer.Gate) (io.ReadSeekCloser, error) {
	if err := g.Check(o.Scan); err != nil {
		return nil, err
	}
	return s.open(ctx, o.Content, o.IntendedSize)
}

// checkArchive asks a gate about the objects of an archive; only: none means all.
// Errors: transfer.ErrBeingChecked, transfer.ErrHeld, transfer.ErrRemoved.
func (s *Service) checkArchive(ctx context.Context, r id.Reservation, only []id.Object, g transfer.Gate) error {
	if g.Empty() {
		return nil
	}
	held, err := s.store.FirstHeld(ctx, r, only, g)
	if err != nil {
		return err
	}
	return g.Check(held)
}

// open opens the bytes of a complete object of size bytes, by transfer.Object.Content. The caller closes them.
// Errors: fault.ErrUnavailable, any other of the blob store wrapped.
func (s *Service) open(ctx context.Context, o id.Object, size int64) (io.ReadSeekCloser, error) {
	if size == 0 {
		return empty{bytes.NewReader(nil)}, nil // the store has nothing under its key
	}
	key := blob.ObjectKey(o)
	content, err := s.blobs.Open(ctx, key)
	if errors.Is(err, blob.ErrNotFound) {
		// The server stopped after the row had all bytes and before the store had finished the object.
		if err = s.blobs.Finish(ctx, key, size); err == nil {
			content, err = s.blobs.Open(ctx, key)
		}
	}
	if err != nil {
		return nil, storageError("open object "+o.String(), err)
	}
	return content, nil
}

type empty struct{ *bytes.Reader }

func (empty) Close() error { return nil }
