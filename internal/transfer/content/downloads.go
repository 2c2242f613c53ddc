package content

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
)

// Open opens the bytes of a complete object of size bytes, by transfer.Object.Content. The caller closes them.
// Errors: fault.ErrUnavailable, any other of the blob store wrapped.
func (s *Service) Open(ctx context.Context, o id.Object, size int64) (io.ReadSeekCloser, error) {
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
