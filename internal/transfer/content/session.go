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

// session is one request's upload to an object while the request holds the writer lease. One goroutine uses it.
type session struct {
	s     *Service
	row   postgres.Upload
	scope postgres.Scope
	in    Part
	lease writerLease
	pace  *pace

	blob     blob.Writer
	digests  *digests // of the bytes written, durable or not
	head     []byte   // first bytes of the object, up to transfer.SniffBytes
	mimeType string   // empty: not known yet

	want      int64     // bytes of the request, or when it is open-ended the most that it may have
	openEnded bool      // the request has as many bytes as its body
	end       int64     // bytes of the object after the request
	written   int64     // bytes of the object in the store, durable or not
	held      int64     // durable bytes that the row claims
	shaState  []byte    // state of the SHA-256 after held bytes
	heldCRC   uint32    // CRC-32 of held bytes
	reserved  int64     // volume that is still reserved
	renewed   time.Time // last renewal of the lease in the row
	allOrNone bool      // nothing is held before the digest is verified
	lost      bool      // the lease is lost: nothing may be written any more
	deleted   bool      // the object has been deleted
	allHeld   bool      // the session has saved the last bytes of all parts
}

func (s *Service) newSession(u postgres.Upload, lease writerLease, sc postgres.Scope, in Part) *session {
	want := partRoom(u, in)
	w := &session{
		s: s, row: u, scope: postgres.Scope{Host: postgres.AnyHost, Defaults: sc.Defaults}, in: in, lease: lease,
		digests: newDigests(u.Part == 0, in.ContentDigest != nil, u.CRC32), head: u.Head, mimeType: u.MIMEType,
		want: want, openEnded: in.Length < 0 && (!in.Whole || u.Deferred), end: u.Held + want, written: u.Held, held: u.Held, shaState: u.ShaState, heldCRC: u.CRC32, reserved: lease.granted, renewed: time.Now(),
		pace: newPace(s.limits, in.Body),
	}
	w.allOrNone = in.ContentDigest != nil || in.ReprDigest != nil && !in.Progressive && (in.Last || u.Held+want == u.IntendedSize)
	return w
}

// anyHost returns the scope of statements that depend on no host.
func (w *session) anyHost() postgres.Scope {
	w.scope.Now = w.s.now()
	return w.scope
}

// open restores the hash state and opens the store at the offset that the row claims.
// Errors: *transfer.OffsetError when the store does not hold what the row claims.
func (w *session) open(ctx context.Context) (err error) {
	key := blob.ObjectKey(w.row.UID)
	if w.row.Part > 0 {
		w.blob, err = w.s.blobs.AppendAt(ctx, key, w.row.Begin, w.row.Begin+w.held)
		return w.opened(ctx, err)
	}
	if w.held > 0 {
		if err := w.digests.restore(w.shaState); err != nil {
			return err
		}
	}
	if w.held == 0 {
		// Bytes of an earlier attempt, finished or not, are not part of this one.
		if err := w.s.blobs.Delete(ctx, key); err != nil {
			return storageError("delete bytes of an earlier upload", err)
		}
	}
	w.blob, err = w.s.blobs.Append(ctx, key, w.held, w.row.IntendedSize)
	return w.opened(ctx, err)
}

// opened returns what the outcome of opening the store means for the request.
func (w *session) opened(ctx context.Context, err error) error {
	if errors.Is(err, blob.ErrGap) || errors.Is(err, blob.ErrFinished) {
		return w.startOver(ctx, err)
	}
	if err != nil {
		return storageError("open object", err)
	}
	return nil
}

// startOver resets an object to 0 bytes, without a plan, because the store does not match the row: database and store were restored from
// backups of different times. Only the client has the bytes, and nothing is delivered yet.
// Errors: *transfer.OffsetError, which makes the client send the object again.
func (w *session) startOver(ctx context.Context, reason error) error {
	if err := w.saveProgress(ctx, w.held, w.shaState, nil, true); err != nil {
		return err
	}
	err := w.s.store.InTx(ctx, func(tx *postgres.Store) error {
		now, err := tx.LockUpload(ctx, w.row.Reservation, w.row.ClientID, w.anyHost())
		if err != nil {
			return err
		}
		if w.row.Part == 0 && (!now.LeaseUntil.IsZero() || now.Held != w.held) || w.row.Part > 0 && (now.PartSize == 0 || now.Complete()) {
			return transfer.ErrOvertaken
		}
		return tx.ResetObject(ctx, now, false)
	})
	if err != nil {
		return err
	}
	w.lost = true // there is nothing left to save
	w.s.log.Warn("upload starts over: the store does not hold what the database claims", "object", w.row.UID.String(), "held", w.held, "error", reason)
	return &transfer.OffsetError{Problem: transfer.OffsetLost, Size: w.row.IntendedSize, Deferred: w.row.Deferred}
}

func (w *session) close() {
	if w.blob != nil {
		_ = w.blob.Close() // the bytes that count are synced
	}
}

// copy moves the body into the store until it has all bytes of the request. Its error says why it stopped earlier.
func (w *session) copy(ctx context.Context) error {
	defer w.digests.release()
	for w.written < w.end {
		if w.ahead() == 0 {
			if err := w.checkpoint(ctx); err != nil {
				return err
			}
		}
		buffer := w.digests.buffer()
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
func (w *session) endOpen() error {
	switch {
	case !w.in.Last:
	case w.row.Deferred:
		w.row.IntendedSize, w.row.Deferred = w.written, false
	case w.written < w.row.IntendedSize:
		return transfer.ErrBodyLength.With(fmt.Sprintf("body: ended at byte %d of %d; what arrived is kept, go on from there", w.written, w.row.IntendedSize))
	}
	return nil
}

// write appends p to the object. It makes a checkpoint when one is due. p is of digests.buffer.
func (w *session) write(ctx context.Context, p []byte) error {
	if time.Since(w.renewed) > leaseTime-leaseMargin {
		if err := w.checkpoint(ctx); err != nil {
			return err
		}
	}
	n, err := w.blob.Write(p)
	w.digests.add(p[:n])
	if w.sniffs() && w.mimeType == "" && len(w.head) < transfer.SniffBytes {
		w.head = append(w.head, p[:min(n, transfer.SniffBytes-len(w.head))]...)
	}
	w.written += int64(n)
	if err != nil {
		return storageError("write object", err)
	}
	if w.row.Part > 0 && w.written == w.end {
		return nil // finish saves it: once all parts are held, join may delete the row at any time
	}
	if w.written-w.held >= checkpointBytes || time.Since(w.renewed) >= checkpointEvery {
		return w.checkpoint(ctx)
	}
	return nil
}

// checkpoint flushes the bytes written, renews the lease and moves the window of volume. Before a digest is verified nothing is
// flushed.
// Errors: those of reserve when volume for the next byte is missing.
func (w *session) checkpoint(ctx context.Context) error {
	if w.allOrNone || w.in.ReprDigest != nil && w.written == w.row.IntendedSize {
		if err := w.saveProgress(ctx, w.held, w.shaState, nil, false); err != nil {
			return err
		}
		return w.moveWindow(ctx)
	}
	if err := w.sniffType(); err != nil {
		return err
	}
	if err := w.flush(ctx, false); err != nil {
		return err
	}
	return w.moveWindow(ctx)
}

// flush syncs the bytes written and then saves them as held.
func (w *session) flush(ctx context.Context, last bool) error {
	held, err := w.blob.Sync()
	if err != nil {
		return storageError("sync object", err)
	}
	if w.row.Part > 0 {
		return w.flushPart(ctx, held-w.row.Begin, last)
	}
	if held != w.written {
		return fmt.Errorf("sync object: the store holds %d bytes instead of %d", held, w.written)
	}
	state, err := w.digests.state()
	if err != nil {
		return err
	}
	var sum []byte
	if held == w.row.IntendedSize && !w.row.Deferred {
		sum = w.digests.sum()
	}
	return w.saveProgress(ctx, held, state, sum, last)
}

// saveProgress saves held bytes in the row and renews the lease, or ends it when this is the last call.
// Errors: transfer.ErrOvertaken or transfer.ErrNotFound when the lease is lost.
func (w *session) saveProgress(ctx context.Context, held int64, shaState, sum []byte, last bool) error {
	now := time.Now()
	p := postgres.Progress{
		Object: w.row.UID, Epoch: w.lease.epoch, Held: held, Reserved: w.reserved - (held - w.held), ShaState: shaState, SHA256: sum, CRC32: w.heldCRC,
		MIMEType: w.mimeType, Size: -1,
	}
	if sum != nil {
		p.Size = held
	}
	if held == w.written {
		p.CRC32 = w.digests.crc32()
	}
	if w.mimeType == "" {
		p.Head = w.head[:min(int64(len(w.head)), held)]
	}
	switch {
	case !last:
		p.Lease = leaseTime
	case sum != nil:
		p.Lease = leaseToFinish
	}
	if last {
		p.Reserved = 0
	}
	ours, err := w.save(ctx, p)
	if err != nil {
		return storageError("save progress", err)
	}
	if !ours {
		return w.leaseLost(ctx)
	}
	w.held, w.reserved, w.shaState, w.heldCRC, w.renewed = held, p.Reserved, shaState, p.CRC32, now
	return nil
}

// leaseLost returns why the lease is lost: transfer.ErrOvertaken for a newer writer, transfer.ErrNotFound for a deleted
// object.
func (w *session) leaseLost(ctx context.Context) error {
	w.lost = true
	_, err := w.s.store.Object(ctx, w.row.Reservation, w.row.ClientID, w.anyHost())
	if errors.Is(err, transfer.ErrNotFound) {
		w.deleted = true
		return transfer.ErrNotFound
	}
	return transfer.ErrOvertaken
}

// bodyError returns the error for a body that ended early with err.
func (w *session) bodyError(ctx context.Context, err error) error {
	if cause := interrupted(ctx, err); cause != nil {
		return cause
	}
	if settled := context.Cause(ctx); settled == error(errSettled) { //nolint:errorlint // the value itself, not one of its code
		return settled
	}
	if w.pace.slow.Load() {
		return transfer.ErrBodyLength.With(fmt.Sprintf("body: fewer than %d bytes a second arrived; what arrived is kept, go on from there", w.s.limits.MinimumRate))
	}
	missing := transfer.ErrBodyLength.With(fmt.Sprintf("body: ended after %d of %d bytes; what arrived is kept, go on from there", w.written-w.row.Held, w.want))
	if errors.Is(err, io.EOF) {
		return missing
	}
	return missing.Because(err)
}

// expectEnd refuses a body that is longer than the request's bytes.
func (w *session) expectEnd() error {
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

// sniffs reports whether the session has the first bytes of the object. One that has begun the first part does; join decides then, too.
func (w *session) sniffs() bool { return w.row.Part == 0 || w.row.Part == 1 && w.row.Held == 0 }

// sniffType sets the object's MIME type as soon as enough bytes are there. A type that the mailbox does not accept makes
// finish delete the object.
// Errors: transfer.ErrMIMEType.
func (w *session) sniffType() error {
	complete := w.written == w.row.IntendedSize && !w.row.Deferred
	if !w.sniffs() { // join does
		return nil
	}
	if w.mimeType != "" || len(w.head) < transfer.SniffBytes && !complete {
		return nil
	}
	if f := transfer.MIMEFilter(w.row.MIMETypeFilter); !f.AllowsContent(w.head, w.row.Name) {
		return f.Rejection("content")
	}
	w.mimeType = transfer.TypeByContent(w.head, w.row.Name)
	return nil
}
