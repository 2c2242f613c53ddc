package s3

import (
	"context"

	"github.com/consign-dev/consign/internal/blob"
)

// Plan implements blob.Store. The parts of a multipart upload are not resumable, and its state is in records that one Writer owns:
// an object has one Writer here.
// Errors: blob.ErrUnplanned.
func (s *Store) Plan(context.Context, blob.Key, int64) error { return blob.ErrUnplanned }

// AppendAt implements blob.Store.
// Errors: blob.ErrUnplanned.
func (s *Store) AppendAt(context.Context, blob.Key, int64, int64) (blob.Writer, error) {
	return nil, blob.ErrUnplanned
}

// OpenPlanned implements blob.Store.
// Errors: blob.ErrUnplanned.
func (s *Store) OpenPlanned(context.Context, blob.Key) (blob.Reader, error) {
	return nil, blob.ErrUnplanned
}
