package content

import (
	"context"
	"io"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// All bytes that leave the server come from Open and OpenArchive: a gate is asked before.

// Open opens the bytes of a complete object, if the gate of its transfer lets it pass. Its last bytes are read only if the SHA-256 fits.
// The caller closes them.
// Errors: transfer.ErrBeingChecked, transfer.ErrHeld, transfer.ErrRemoved, transfer.ErrDamaged, fault.ErrUnavailable,
// any other of the blob store wrapped.
func (s *Service) Open(ctx context.Context, o transfer.Object, g transfer.Gate) (io.ReadSeekCloser, error) {
	if err := g.Check(o.Scan); err != nil {
		return nil, err
	}
	return s.openVerified(ctx, fileOf(o))
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
