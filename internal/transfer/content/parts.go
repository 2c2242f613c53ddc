package content

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// An object can be uploaded in parts at once (contract 4.27): its plan is a list of segments of known sizes. What is held of a part never
// changes.

var (
	errInParts  = transfer.ErrOtherWay.With("the object is uploaded in parts; use PUT …/parts/{number}, or delete it and attach it again")
	errInStream = transfer.ErrOtherWay.With(
		"the object is uploaded in one stream, and holds bytes; go on with PUT …/content, or delete it and attach it again")
	errBusy      = transfer.ErrOtherWay.With("another request writes the object, or has done so until just now").WithRetryAfter(leaseTime)
	errPartial   = transfer.ErrOtherWay.With("a partial upload of tus is uploaded in one stream")
	errUnplanned = fault.ErrInvalid.With("intendedSize: an object in parts has a known size of one byte at least")
)

// PlanParts plans an object in parts of a size. made is false when a plan exists, which stays.
// Errors: those of Target.Authorize, transfer.ErrNotFound, transfer.ErrConfirmed, transfer.ErrOtherWay, transfer.ErrConcatenated,
// fault.ErrInvalid, fault.ErrUnavailable.
func (s *Service) PlanParts(ctx context.Context, to Target, partSize int64) (made bool, err error) {
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		made = false
		u, err := tx.LockUpload(ctx, to.Reservation, to.ClientID, to.Scope)
		if err != nil {
			return err
		}
		if err := to.Authorize(u.Creator); err != nil {
			return err
		}
		switch {
		case !u.Transfer.IsZero():
			return transfer.Confirmed(u.Transfer)
		case u.Concatenated, !u.Final.IsZero():
			return transfer.ErrConcatenated
		case u.PartSize > 0:
			return nil
		case u.Partial:
			return errPartial
		case u.Deferred, u.IntendedSize == 0:
			return errUnplanned
		}
		if u.Segment, err = tx.LockSegment(ctx, postgres.Segment{UID: u.Object.Segment(1), Object: u.UID, Number: 1,
			Size: u.IntendedSize}); err != nil {
			return err
		}
		switch {
		case u.Segment.Held > 0:
			return errInStream
		case time.Now().Before(u.Segment.LeaseUntil):
			return errBusy
		}
		if err := tx.ResetSegment(ctx, u, false); err != nil {
			return err
		}
		u.PartSize = partSize
		parts := make([]postgres.Segment, u.PartCount())
		for i := range parts {
			parts[i] = postgres.Segment{UID: u.Object.Segment(i + 1), Number: i + 1, Size: u.PartLength(i + 1)}
		}
		made = true
		return tx.PlanParts(ctx, u.UID, partSize, parts)
	})
	return made, err
}
