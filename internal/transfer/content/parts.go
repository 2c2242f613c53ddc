// Objects that are uploaded in parts at once: the plan, the choice of a part, and the end of one.

package content

import (
	"context"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// An object can be uploaded in parts at once (contract 4.27). Its plan is the size of the parts. Each part is written like an object:
// it has a row with its bytes held, a writer lease and reserved volume, and a session writes it. The store has one object, into which
// the Writers of the parts write at their offsets. What is held of a part never changes.
//
// Objects.held counts the bytes that are joined: join reads the durable bytes of complete parts in order, and computes the SHA-256.
// So an object of parts is complete when an object in one stream is: its row holds all bytes and has their sum.

var (
	errInParts   = transfer.ErrOtherWay.With("the object is uploaded in parts; use PUT …/parts/{number}, or delete it and attach it again")
	errInStream  = transfer.ErrOtherWay.With("the object is uploaded in one stream, and holds bytes; go on with PUT …/content, or delete it and attach it again")
	errBusy      = transfer.ErrOtherWay.With("another request writes the object, or has done so until just now").WithRetryAfter(leaseTime)
	errUnplanned = fault.ErrInvalid.With("intendedSize: an object in parts has a known size of one byte at least")
)

// choosePart returns the row that a request advances: that of a locked object, or of its part.
// Errors: transfer.ErrOtherWay, transfer.ErrNotFound, transfer.ErrConfirmed, transfer.ErrConcatenated.
func choosePart(ctx context.Context, tx *postgres.Store, u postgres.Upload, number int) (postgres.Upload, error) {
	switch {
	case !u.Transfer.IsZero():
		return u, transfer.Confirmed(u.Transfer)
	case u.Concatenated, !u.Final.IsZero():
		return u, transfer.ErrConcatenated
	case number == 0 && u.PartSize > 0:
		return u, errInParts
	case number == 0:
		return u, nil
	case number > u.PartCount():
		return u, transfer.ErrNotFound
	case u.Complete(): // there are no rows any more
		u.IntendedSize = u.PartLength(number)
		u.Held = u.IntendedSize
		return u, nil
	}
	return tx.LockPart(ctx, u, number)
}

// PlanParts makes an object one that is uploaded in parts of a size, a multiple of blob.Granule, and reports whether it was none. The store
// may need larger parts. An object has one plan: when it has another one, that stays.
// Errors: those of Target.Authorize, transfer.ErrNotFound, transfer.ErrConfirmed, transfer.ErrOtherWay, transfer.ErrConcatenated,
// transfer.ErrStorageFull, fault.ErrInvalid, fault.ErrUnavailable.
func (s *Service) PlanParts(ctx context.Context, to Target, partSize int64) (made bool, err error) {
	var u postgres.Upload
	var epoch int64
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if u, err = tx.LockUpload(ctx, to.Reservation, to.ClientID, to.Scope); err != nil {
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
		case u.Deferred, u.IntendedSize == 0:
			return errUnplanned
		case u.Held > 0:
			return errInStream
		case time.Now().Before(u.LeaseUntil):
			return errBusy
		}
		epoch, err = tx.TakeLease(ctx, u, leaseTime)
		return err
	})
	if err != nil || u.PartSize > 0 {
		return false, err
	}
	// A request for one stream that comes now waits until this one is done, and then finds out who has the lease.
	holder, place := &leaseHolder{epoch: epoch, stop: func(error) {}, done: make(chan struct{})}, writer{object: u.UID}
	previous, ok := s.leases.acquire(place, holder, transfer.ErrOvertaken)
	if !ok {
		close(holder.done)
		return false, errBusy
	}
	defer s.leases.release(place, holder)
	if previous != nil {
		<-previous.done
	}
	return true, s.makePlan(ctx, u, epoch, partSize)
}

// makePlan makes the object in the store, and then the plan in the row, within the writer lease of an epoch.
func (s *Service) makePlan(ctx context.Context, u postgres.Upload, epoch, partSize int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTime-leaseMargin)
	defer cancel()
	key := blob.ObjectKey(u.UID)
	err := s.blobs.Delete(ctx, key)
	if err == nil {
		partSize, err = s.blobs.Plan(ctx, key, blob.Division{Size: u.IntendedSize, Part: partSize, Unit: blob.Granule})
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return fault.ErrUnavailable.WithRetryAfter(storageRetry).Because(err)
	case err != nil:
		return storageError("plan object", err)
	}
	ours, err := s.store.PlanParts(ctx, u.UID, epoch, partSize)
	if err == nil && !ours {
		err = errBusy
	}
	return err
}

// flushPart saves what the store holds of a part. A store may hold less than was written, which then is not kept.
func (w *session) flushPart(ctx context.Context, held int64, last bool) error {
	if held < w.held || held > w.written || w.written == w.row.IntendedSize && held < w.written {
		return fmt.Errorf("sync part: the store holds %d bytes, %d were held before and %d are written", held, w.held, w.written)
	}
	return w.saveProgress(ctx, held, nil, nil, last)
}

// save stores the progress of the session in its row. With a part that is complete, and is the last one to be so, it enqueues what joins
// the parts.
func (w *session) save(ctx context.Context, p postgres.Progress) (ours bool, err error) {
	if w.row.Part == 0 {
		return w.s.store.SaveProgress(ctx, p)
	}
	if p.Held < w.row.IntendedSize {
		return w.s.store.SavePart(ctx, p, w.row.Part)
	}
	err = w.s.store.InTx(ctx, func(tx *postgres.Store) error {
		if err := tx.LockParts(ctx, w.row.UID); err != nil {
			return err
		}
		if ours, err = tx.SavePart(ctx, p, w.row.Part); err != nil || !ours {
			return err
		}
		if w.allHeld, err = tx.PartsHeld(ctx, w.row.UID); err != nil || !w.allHeld {
			return err
		}
		return w.s.JoinLater(ctx, tx, w.row.Reservation, w.row.ClientID)
	})
	return ours, err
}
