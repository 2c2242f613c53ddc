// The end of a request that writes: what it keeps, and what it gives back.

package content

import (
	"bytes"
	"context"
	"errors"

	"github.com/consign-dev/consign/internal/transfer"
)

// finish ends the request: it saves the bytes to keep, releases the volume that was not used, and returns the state or the error to answer.
func (w *writer) finish(ctx context.Context, failure error) (State, error) {
	// The request's context may have ended, but the last progress must still reach the row.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	if failure == nil {
		failure = w.verify()
	}
	if failure == nil || !w.allOrNone && !errors.Is(failure, transfer.ErrMIMEType) {
		if err := w.progress.sniff(w.complete(w.written)); err != nil {
			failure = err
		}
	}
	switch {
	case w.lease.lost:
	case errors.Is(failure, transfer.ErrOvertaken):
		w.lease.lost = true // the newer writer has taken over the reserved volume
	case errors.Is(failure, transfer.ErrMIMEType):
		return State{}, w.s.deleteRefused(ctx, w.row, failure)
	case failure != nil && w.allOrNone, errors.Is(failure, transfer.ErrDigest):
		return State{}, w.rollback(ctx, failure)
	default:
		if err := w.flush(ctx, true); err != nil && (failure == nil || w.lease.lost) {
			failure = err
		}
	}
	if w.deleted {
		w.close()
		_ = w.s.blobs.Delete(ctx, w.key()) // on failure the orphan sweep removes it
	}
	if failure != nil || !w.complete(w.held) {
		return w.state(), failure
	}
	if err := w.s.blobs.Finish(ctx, w.key(), w.held); err != nil { // the bytes are durable; who reads them first repeats it
		w.s.log.Warn("segment not finished in the store yet", "object", w.row.UID.String(), "error", err)
	}
	if w.sums == nil {
		return w.state(), w.sealBeside(ctx)
	}
	return w.state(), nil
}

// state returns how far the upload is.
func (w *writer) state() State {
	st := State{Object: w.row.Object, Held: w.held, Size: w.row.Segment.Size}
	if k := w.sums; k != nil {
		st.Object.Held, st.SHA256, st.CRC32, st.MIMEType = k.Held, k.SHA256, k.CRC32, k.MIMEType
	}
	return st
}

// verify compares the digests that the request states.
// Errors: transfer.ErrDigest.
func (w *writer) verify() error {
	if w.progress.differs(w.in.ContentDigest) {
		return transfer.ErrDigest
	}
	if w.in.ReprDigest == nil || w.sums == nil || !w.complete(w.written) {
		return nil
	}
	sum := w.sums.SHA256 // of an object that was complete before
	if w.lease != nil {
		sum = w.progress.sum()
	}
	if !bytes.Equal(sum, w.in.ReprDigest) {
		return transfer.ErrDigest
	}
	return nil
}

// rollback ends a request that keeps nothing but what its checkpoints have saved, and returns failure.
func (w *writer) rollback(ctx context.Context, failure error) error {
	if w.lease.lost || errors.Is(failure, transfer.ErrOvertaken) {
		return failure
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	if err := w.save(ctx, w.held, w.sums, true); err != nil && !w.lease.lost {
		w.s.log.Warn("reserved volume of a failed upload not released yet", "object", w.row.UID.String(), "error", err)
	}
	return failure
}
