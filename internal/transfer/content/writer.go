// The one writer of bytes: appends the body of a request to a segment and saves what is durable.

package content

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// writer is one request that writes a segment while it holds the lease. One goroutine uses it.
type writer struct {
	s     *Service
	row   postgres.Upload
	scope postgres.Scope
	in    Write
	month time.Time // to which volume is charged
	lease *lease
	pace  *pace

	blob     blob.Writer
	progress *progress      // of the bytes written, durable or not
	sums     *postgres.Sums // of the object's held bytes, as saved; nil: Seal computes them

	want      int64 // bytes of the request, or when it is open-ended the most that it may have
	openEnded bool  // the request has as many bytes as its body
	end       int64 // bytes of the segment after the request
	written   int64 // bytes of the segment in the store, durable or not
	held      int64 // durable bytes that the row claims
	reserved  int64 // volume that is still reserved
	allOrNone bool  // nothing is held before the digest is verified
	deleted   bool  // the object has been deleted
	allHeld   bool  // the writer has saved the last bytes of all segments
}

func (s *Service) newWriter(u postgres.Upload, g grant, sc postgres.Scope, in Write) *writer {
	want, held := roomOf(u, in), u.Segment.Held
	w := &writer{
		s: s, row: u, scope: postgres.Scope{Host: postgres.AnyHost, Defaults: sc.Defaults}, in: in, month: g.month,
		pace:     newPace(s.limits, in.Body),
		progress: newProgress(u, !u.Segmented, !u.Segmented || u.Segment.Number == 1 && held == 0, in.ContentDigest),
		want:     want, openEnded: in.Length < 0 && (!in.Whole || u.Deferred), end: held + want, written: held, held: held, reserved: g.bytes,
	}
	if !u.Segmented {
		w.sums = &postgres.Sums{Held: u.Held, ShaState: u.ShaState, SHA256: u.SHA256, CRC32: u.CRC32, Head: u.Head, MIMEType: u.MIMEType}
	}
	w.allOrNone = in.ContentDigest != nil || in.ReprDigest != nil && !in.Progressive && (in.Last || w.end == u.Segment.Size)
	return w
}

// anyHost returns the scope of statements that depend on no host.
func (w *writer) anyHost() postgres.Scope {
	w.scope.Now = w.s.now()
	return w.scope
}

func (w *writer) key() blob.Key { return blob.SegmentKey(w.row.Segment.UID) }

// ahead returns the reserved volume that is not written yet, in bytes.
func (w *writer) ahead() int64 { return w.held + w.reserved - w.written }

// complete reports whether n bytes are all of the segment.
func (w *writer) complete(n int64) bool { return n == w.row.Segment.Size && !w.row.Deferred }

// open restores the sums and opens the store at the offset that the row claims.
// Errors: *transfer.OffsetError when the store does not hold what the row claims.
func (w *writer) open(ctx context.Context) (err error) {
	if err := w.progress.restore(); err != nil {
		return err
	}
	if err := w.renew(ctx); err != nil {
		return err
	}
	if w.held == 0 && w.lease.epoch > 1 {
		// Bytes of an earlier writer, finished or not, are not part of this segment.
		if err := w.s.blobs.Delete(ctx, w.key()); err != nil {
			return storageError("delete bytes of an earlier upload", err)
		}
		if err := w.renew(ctx); err != nil { // the store was slow
			return err
		}
	}
	w.blob, err = w.s.blobs.Append(ctx, w.key(), w.held, w.row.Segment.Size)
	if errors.Is(err, blob.ErrGap) || errors.Is(err, blob.ErrFinished) {
		return w.startOver(ctx, err)
	}
	if err != nil {
		return storageError("open object", err)
	}
	return nil
}

// renew renews the lease when it is so old that another writer may have the segment soon, or has it already.
func (w *writer) renew(ctx context.Context) error {
	if w.lease.age() <= leaseTime-leaseMargin {
		return nil
	}
	return w.save(ctx, w.held, w.sums, false)
}

// startOver resets the segment to 0 bytes, because the store does not match the row: database and store were restored from backups of
// different times. Only the client has the bytes, and nothing is delivered yet.
// Errors: *transfer.OffsetError, which makes the client send the segment again.
func (w *writer) startOver(ctx context.Context, reason error) error {
	if err := w.save(ctx, w.held, w.sums, true); err != nil {
		return err
	}
	err := w.s.store.InTx(ctx, func(tx *postgres.Store) error {
		now, err := tx.LockUpload(ctx, w.row.Reservation, w.row.ClientID, w.anyHost())
		if err != nil {
			return err
		}
		if now.Segment, err = tx.LockSegment(ctx, w.row.Segment); err != nil {
			return err
		}
		if !now.Segment.LeaseUntil.IsZero() || now.Segment.Held != w.held {
			return transfer.ErrOvertaken
		}
		return tx.ResetSegment(ctx, now, false)
	})
	if err != nil {
		return err
	}
	w.lease.lost = true // there is nothing left to save
	w.s.log.Warn("upload starts over: the store does not hold what the database claims", "object", w.row.UID.String(), "segment",
		w.row.Segment.Number, "held", w.held, "error", reason)
	return &transfer.OffsetError{Problem: transfer.OffsetLost, Size: w.row.Segment.Size, Deferred: w.row.Deferred}
}

func (w *writer) close() {
	if w.blob != nil {
		_ = w.blob.Close() // the bytes that count are synced
		w.blob = nil
	}
}

// copy moves the body into the store until it has all bytes of the request. Its error says why it stopped earlier.
func (w *writer) copy(ctx context.Context) error {
	defer w.progress.release()
	for w.written < w.end {
		if w.ahead() == 0 {
			if err := w.checkpoint(ctx); err != nil {
				return err
			}
		}
		buffer := w.progress.buffer()
		buffer = buffer[:min(int64(len(buffer)), w.end-w.written, w.ahead())]
		n, readErr := w.pace.Read(buffer)
		if n > 0 {
			if err := w.write(ctx, buffer[:n]); err != nil {
				return err
			}
		}
		if w.openEnded && errors.Is(readErr, io.EOF) && w.written < w.end {
			return w.endOpen()
		}
		if readErr != nil && w.written < w.end {
			return w.bodyError(ctx, readErr)
		}
		if ctx.Err() != nil && w.written < w.end {
			return w.bodyError(ctx, ctx.Err())
		}
	}
	if err := w.expectEnd(); err != nil {
		return err
	}
	return w.endOpen()
}

// endOpen makes a deferred size known after the last byte of an object.
// Errors: transfer.ErrBodyLength when the object needs more bytes.
func (w *writer) endOpen() error {
	switch {
	case !w.in.Last:
	case w.row.Deferred:
		w.row.IntendedSize, w.row.Segment.Size, w.row.Deferred = w.written, w.written, false
	case w.written < w.row.Segment.Size:
		return transfer.ErrBodyLength.With(fmt.Sprintf("body: ended at byte %d of %d; what arrived is kept, go on from there", w.written,
			w.row.Segment.Size))
	}
	return nil
}

// write appends p to the segment. It makes a checkpoint when one is due. p is of progress.buffer.
func (w *writer) write(ctx context.Context, p []byte) error {
	if w.lease.age() > leaseTime-leaseMargin {
		if err := w.checkpoint(ctx); err != nil {
			return err
		}
	}
	n, err := w.blob.Write(p)
	w.progress.add(p[:n])
	w.written += int64(n)
	if err != nil {
		return storageError("write object", err)
	}
	if w.written == w.end && w.in.BodyLength >= 0 {
		return nil // finish saves it at once
	}
	if w.written-w.held >= checkpointBytes || w.lease.age() >= checkpointEvery {
		return w.checkpoint(ctx)
	}
	return nil
}

// checkpoint flushes the bytes written, renews the lease and moves the window of volume. Before a digest is verified nothing is
// flushed.
// Errors: those of reserve when volume for the next byte is missing.
func (w *writer) checkpoint(ctx context.Context) error {
	if w.allOrNone || w.in.ReprDigest != nil && w.written == w.row.Segment.Size {
		if err := w.save(ctx, w.held, w.sums, false); err != nil {
			return err
		}
		return w.moveWindow(ctx)
	}
	if err := w.flush(ctx, false); err != nil {
		return err
	}
	return w.moveWindow(ctx)
}

// flush syncs the bytes written and then saves them as held.
// Errors: transfer.ErrMIMEType.
func (w *writer) flush(ctx context.Context, last bool) error {
	if err := w.progress.sniff(w.complete(w.written)); err != nil {
		return err
	}
	held, err := w.blob.Sync()
	if err != nil {
		return storageError("sync object", err)
	}
	if held != w.written {
		return fmt.Errorf("sync object: the store holds %d bytes instead of %d", held, w.written)
	}
	if last {
		w.close()
	}
	sums, err := w.progress.sums(held, w.complete(held))
	if err != nil {
		return err
	}
	return w.save(ctx, held, sums, last)
}

// save saves held bytes and their sums in the rows and renews the lease, or ends it when this is the last call.
// Errors: transfer.ErrOvertaken or transfer.ErrNotFound when the lease is lost.
func (w *writer) save(ctx context.Context, held int64, sums *postgres.Sums, last bool) error {
	p := postgres.Progress{
		Object: w.row.UID, Segment: w.row.Segment.UID, Epoch: w.lease.epoch, Held: held, Reserved: w.reserved - (held - w.held), Sums: sums,
		Size: -1,
	}
	if sums != nil && w.complete(held) {
		p.Size = held
	}
	switch {
	case !last:
		p.Lease = leaseTime
	case w.complete(held):
		p.Lease = leaseToFinish
	}
	if last {
		p.Reserved = 0
		p.Lease = max(p.Lease, time.Until(w.lease.former)) // the next writer waits for whom this one was to wait
	}
	began := time.Now()
	ours, err := w.store(ctx, p)
	if err := w.lease.kept(began, ours, err); errors.Is(err, errLost) {
		return w.leaseLost(ctx)
	} else if err != nil {
		return storageError("save progress", err)
	}
	w.held, w.reserved, w.sums = held, p.Reserved, sums
	return nil
}

// store stores progress. With the last bytes of a segment it finds out whether all others are held. It asks after the commit: of the last
// two segments, the second sees the first, and no part waits for another one's commit.
func (w *writer) store(ctx context.Context, p postgres.Progress) (ours bool, err error) {
	ours, err = w.s.store.SaveProgress(ctx, p)
	if err == nil && ours && p.Sums == nil && w.complete(p.Held) {
		w.allHeld, err = w.s.store.AllHeld(ctx, w.row.UID)
	}
	return ours, err
}

// leaseLost returns why the lease is lost: transfer.ErrOvertaken for a newer writer, transfer.ErrNotFound for a deleted
// object.
func (w *writer) leaseLost(ctx context.Context) error {
	_, err := w.s.store.Object(ctx, w.row.Reservation, w.row.ClientID, w.anyHost())
	if errors.Is(err, transfer.ErrNotFound) {
		w.deleted = true
		return transfer.ErrNotFound
	}
	return transfer.ErrOvertaken
}

// bodyError returns the error for a body that ended early with err.
func (w *writer) bodyError(ctx context.Context, err error) error {
	if cause := interrupted(ctx, err); cause != nil {
		return cause
	}
	if settled := context.Cause(ctx); settled == error(errSettled) { //nolint:errorlint // the value itself, not one of its code
		return settled
	}
	if w.pace.slow.Load() {
		return transfer.ErrBodyLength.With(fmt.Sprintf("body: fewer than %d bytes a second arrived; what arrived is kept, go on from there",
			w.s.limits.MinimumRate))
	}
	missing := transfer.ErrBodyLength.With(fmt.Sprintf("body: ended after %d of %d bytes; what arrived is kept, go on from there",
		w.written-w.row.Segment.Held, w.want))
	if errors.Is(err, io.EOF) {
		return missing
	}
	return missing.Because(err)
}

// expectEnd refuses a body that is longer than the request's bytes.
func (w *writer) expectEnd() error {
	if w.in.BodyLength >= 0 {
		return nil // net/http reads no more than Content-Length
	}
	var more [1]byte
	if n, _ := io.ReadFull(w.in.Body, more[:]); n > 0 && w.openEnded {
		return &transfer.OffsetError{Problem: transfer.SizeExceeded, Held: w.written, Size: w.end, Deferred: w.row.Deferred}
	} else if n > 0 {
		return transfer.ErrBodyLength.With(fmt.Sprintf("body: is longer than the %d bytes it should have", w.want))
	}
	return nil
}
