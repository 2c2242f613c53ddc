package content

import (
	"bytes"
	"context"
	"errors"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/transfer"
)

// finish ends the request: it saves the bytes to keep, releases the volume that was not used, and returns the object or
// the error to answer.
func (w *session) finish(ctx context.Context, failure error) (transfer.Object, error) {
	// The request's context may have ended, but the last progress must still reach the row.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	if failure == nil {
		failure = w.verify()
	}
	if failure == nil || !w.allOrNone && !errors.Is(failure, transfer.ErrMIMEType) {
		if err := w.sniffType(); err != nil {
			failure = err
		}
	}
	switch {
	case w.lost:
	case errors.Is(failure, transfer.ErrOvertaken):
		w.lost = true // the newer writer has taken over the reserved volume
	case errors.Is(failure, transfer.ErrMIMEType):
		return transfer.Object{}, w.deleteObject(ctx, failure)
	case failure != nil && w.allOrNone, errors.Is(failure, transfer.ErrDigest):
		return transfer.Object{}, w.rollback(ctx, failure)
	default:
		if err := w.flush(ctx, true); err != nil && (failure == nil || w.lost) {
			failure = err
		}
	}
	if w.deleted && w.row.Part == 0 { // other writers may have a part; the purge waits for them
		w.close()
		w.blob = nil
		_ = w.s.blobs.Delete(ctx, blob.ObjectKey(w.row.UID)) // on failure the orphan sweep removes it
	}
	if failure != nil {
		return transfer.Object{}, failure
	}
	return w.complete(ctx)
}

// verify compares the digests that the request states.
// Errors: transfer.ErrDigest.
func (w *session) verify() error {
	if w.digests.differs(w.in.ContentDigest) {
		return transfer.ErrDigest
	}
	if w.in.ReprDigest == nil || w.written != w.row.IntendedSize || w.row.Deferred {
		return nil
	}
	sum := w.row.SHA256 // of an object that was complete before
	if w.lease.epoch != 0 {
		sum = w.digests.sum()
	}
	if !bytes.Equal(sum, w.in.ReprDigest) {
		return transfer.ErrDigest
	}
	return nil
}

// complete returns the object, and finishes it in the store when it has all bytes. These are durable already; when
// finishing fails, the first download repeats it.
func (w *session) complete(ctx context.Context) (transfer.Object, error) {
	o := w.row.Object
	o.Held, o.MIMEType = w.held, w.mimeType
	if !o.Complete() {
		return o, nil
	}
	if w.row.Part > 0 {
		return o, w.joinBeside(ctx)
	}
	o.SHA256 = w.digests.sum()
	w.close()
	w.blob = nil
	if err := w.s.blobs.Finish(ctx, blob.ObjectKey(o.UID), o.IntendedSize); err != nil {
		w.s.log.Warn("object not finished in the store yet", "object", o.UID.String(), "error", err)
	}
	return o, nil
}

// rollback ends a request that keeps nothing, and returns failure.
func (w *session) rollback(ctx context.Context, failure error) error {
	if w.lost || errors.Is(failure, transfer.ErrOvertaken) {
		return failure
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	if w.held == w.row.Held { // else the bytes of the checkpoints stay
		w.head, w.mimeType = w.row.Head, w.row.MIMEType
	}
	if err := w.saveProgress(ctx, w.held, w.shaState, nil, true); err != nil && !w.lost {
		w.s.log.Warn("reserved volume of a failed upload not released yet", "object", w.row.UID.String(), "error", err)
	}
	return failure
}
