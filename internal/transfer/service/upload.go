package service

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// buffers are what bytes pass through. 256 KiB is where a larger buffer stops saving time.
var buffers = sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}

// upload is one request's turn at an object, used by one goroutine.
type upload struct {
	s    *Service
	row  postgres.Upload
	in   Content
	turn postgres.Turn

	blob     blob.Writer
	whole    hash.Hash // over all bytes written, whether durable or not
	crc      uint32    // over the same, for archives
	part     hash.Hash // over this request's; nil unless its digest is stated
	head     []byte    // first bytes of the object, while there are fewer than sniffBytes
	mimeType string

	want      int64  // bytes the request brings
	written   int64  // bytes of the object in the store, whether durable or not
	held      int64  // of them durable, and in the row
	state     []byte // of whole, and crc, when the bytes held were written
	heldCRC   uint32
	reserved  int64     // volume still set aside
	marked    time.Time // when the row last said that we write
	allOrNone bool      // nothing is held before the digest is verified
	lost      bool      // the turn is over: nothing may be written any more
	gone      bool      // so is the object
}

func (s *Service) newUpload(u postgres.Upload, t postgres.Turn, in Content) *upload {
	want := wanted(u, in)
	w := &upload{
		s: s, row: u, in: in, turn: t, want: want, written: u.Held, held: u.Held, state: u.ShaState, crc: u.CRC32, heldCRC: u.CRC32, head: u.Head, mimeType: u.MIMEType,
		reserved: want, marked: time.Now(), whole: sha256.New(),
	}
	if in.ContentDigest != nil {
		w.part = sha256.New()
	}
	w.allOrNone = in.ContentDigest != nil || in.ReprDigest != nil && u.Held+want == u.IntendedSize
	return w
}

// open brings hash and store to where the row says the object is.
func (w *upload) open(ctx context.Context) error {
	if w.held > 0 {
		if err := w.whole.(encoding.BinaryUnmarshaler).UnmarshalBinary(w.state); err != nil {
			return fmt.Errorf("resume SHA-256: %w", err)
		}
	}
	key := blob.ObjectKey(w.row.UID)
	if w.held == 0 {
		// Whatever an earlier attempt left, finished or not, is not part of this one.
		if err := w.s.blobs.Delete(ctx, key); err != nil {
			return storageError("start over", err)
		}
	}
	var err error
	w.blob, err = w.s.blobs.Append(ctx, key, w.held, w.row.IntendedSize)
	if errors.Is(err, blob.ErrGap) || errors.Is(err, blob.ErrFinished) {
		return w.startOver(ctx, err)
	}
	if err != nil {
		return storageError("open object", err)
	}
	return nil
}

// startOver takes an object back to no bytes because the store does not go on where the row stands: database and storage
// came back from a backup that did not hold both at one moment. Nobody but the client has the bytes, and nothing is
// delivered yet. *RangeError, which tells the client to send them again.
func (w *upload) startOver(ctx context.Context, reason error) error {
	if err := w.advance(ctx, w.held, w.state, nil, true); err != nil {
		return err
	}
	err := w.s.store.InTx(ctx, func(tx *postgres.Store) error {
		now, err := tx.LockUpload(ctx, w.row.Reservation, w.row.ClientID, w.s.anywhere())
		if err != nil {
			return err
		}
		if !now.LeaseUntil.IsZero() || now.Held != w.held {
			return transfer.ErrOvertaken
		}
		return tx.ResetObject(ctx, now, false)
	})
	if err != nil {
		return err
	}
	w.lost = true // there is nothing to settle
	w.s.log.Warn("an upload starts over: storage does not hold what the database says", "object", w.row.UID.String(), "held", w.held, "error", reason)
	return &transfer.RangeError{Held: 0, Reason: "Content-Range: what was sent before is not held any more; send the object again from byte 0"}
}

func (w *upload) close() {
	if w.blob != nil {
		_ = w.blob.Close() // what counts has been synced
	}
}

// copy moves the body into the store until the request's bytes are all there. Its error says why they are not.
func (w *upload) copy(ctx context.Context) error {
	pooled := buffers.Get().(*[]byte)
	defer buffers.Put(pooled)
	end := w.written + w.want
	for w.written < end {
		buffer := (*pooled)[:min(int64(len(*pooled)), end-w.written)]
		n, readErr := w.in.Body.Read(buffer)
		if n > 0 {
			if err := w.take(ctx, buffer[:n]); err != nil {
				return err
			}
		}
		if readErr != nil && w.written < end {
			return w.cutShort(ctx, readErr)
		}
		if ctx.Err() != nil && w.written < end {
			return w.cutShort(ctx, ctx.Err())
		}
	}
	return w.expectEnd()
}

// take writes bytes, saying in the row that we do, and making them durable, when it is time.
func (w *upload) take(ctx context.Context, p []byte) error {
	if time.Since(w.marked) > lease-leaseMargin {
		if err := w.mark(ctx); err != nil {
			return err
		}
	}
	n, err := w.blob.Write(p)
	w.whole.Write(p[:n])
	w.crc = crc32.Update(w.crc, crc32.IEEETable, p[:n])
	if w.part != nil {
		w.part.Write(p[:n])
	}
	if w.mimeType == "" && len(w.head) < sniffBytes {
		w.head = append(w.head, p[:min(n, sniffBytes-len(w.head))]...)
	}
	w.written += int64(n)
	if err != nil {
		return storageError("write object", err)
	}
	if w.written-w.held >= checkpointBytes || time.Since(w.marked) >= checkpointEvery {
		return w.mark(ctx)
	}
	return nil
}

// mark makes what is written held, or, where the digest comes first, only says that we still write.
func (w *upload) mark(ctx context.Context) error {
	if w.allOrNone {
		return w.advance(ctx, w.held, w.state, nil, false)
	}
	if err := w.tell(); err != nil {
		return err
	}
	return w.keep(ctx, false)
}

// keep makes everything written durable and then held.
func (w *upload) keep(ctx context.Context, last bool) error {
	held, err := w.blob.Sync()
	if err != nil {
		return storageError("make object durable", err)
	}
	if held != w.written {
		return fmt.Errorf("make object durable: the store holds %d bytes instead of %d", held, w.written)
	}
	state, err := w.whole.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		return fmt.Errorf("keep SHA-256: %w", err)
	}
	var sum []byte
	if held == w.row.IntendedSize {
		sum = w.whole.Sum(nil)
	}
	return w.advance(ctx, held, state, sum, last)
}

// advance tells the row, which tells whether it is still our turn.
func (w *upload) advance(ctx context.Context, held int64, state, sum []byte, last bool) error {
	now := time.Now()
	p := postgres.Progress{
		Object: w.row.UID, Epoch: w.turn.Epoch, Held: held, Reserved: w.reserved - (held - w.held), ShaState: state, SHA256: sum, CRC32: w.heldCRC,
		MIMEType: w.mimeType,
	}
	if held == w.written {
		p.CRC32 = w.crc
	}
	if w.mimeType == "" {
		p.Head = w.head[:min(int64(len(w.head)), held)]
	}
	switch {
	case !last:
		p.Lease = lease
	case sum != nil:
		p.Lease = leaseToFinish
	}
	if last {
		p.Reserved = 0
	}
	ours, err := w.s.store.AdvanceUpload(ctx, p)
	if err != nil {
		return storageError("note progress", err)
	}
	if !ours {
		return w.overtaken(ctx)
	}
	w.held, w.reserved, w.state, w.heldCRC, w.marked = held, p.Reserved, state, p.CRC32, now
	return nil
}

// overtaken finds out why the turn is over: a newer writer, or the object is gone.
func (w *upload) overtaken(ctx context.Context) error {
	w.lost = true
	_, err := w.s.store.Object(ctx, w.row.Reservation, w.row.ClientID, w.s.anywhere())
	if errors.Is(err, transfer.ErrNotFound) {
		w.gone = true
		return transfer.ErrNotFound
	}
	return transfer.ErrOvertaken
}

// cutShort says why the body ended before its bytes did.
func (w *upload) cutShort(ctx context.Context, err error) error {
	if cause := interrupted(ctx, err); cause != nil {
		return cause
	}
	missing := transfer.ErrBodyLength.With(fmt.Sprintf("body: ended after %d of %d bytes; what arrived is kept, go on from there", w.written-w.row.Held, w.want))
	if errors.Is(err, io.EOF) {
		return missing
	}
	return missing.Because(err)
}

// expectEnd refuses a body that goes on after its bytes.
func (w *upload) expectEnd() error {
	if w.in.Length >= 0 {
		return nil // net/http lets no more through
	}
	var more [1]byte
	if n, _ := io.ReadFull(w.in.Body, more[:]); n > 0 {
		return transfer.ErrBodyLength.With(fmt.Sprintf("body: is longer than the %d bytes it should have", w.want))
	}
	return nil
}

// tell tells the object's type as soon as its first bytes allow. ErrMIMEType when the mailbox does not take it: then the
// object is dropped.
func (w *upload) tell() error {
	complete := w.written == w.row.IntendedSize
	if w.mimeType != "" || len(w.head) < sniffBytes && !complete {
		return nil
	}
	if len(w.row.MIMETypeFilter) > 0 && !contentAllowed(w.row.MIMETypeFilter, w.head, w.row.Name) {
		return errFiltered("content", w.row.MIMETypeFilter)
	}
	w.mimeType = typeOfContent(w.head, w.row.Name)
	return nil
}

// finish settles a request: it keeps what is to be kept, gives back the volume that was not needed, and answers.
func (w *upload) finish(ctx context.Context, failure error) (transfer.Object, error) {
	// The request may be over; its last word must still reach the row.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	if failure == nil {
		failure = w.verify()
	}
	if failure == nil || !w.allOrNone && !errors.Is(failure, transfer.ErrMIMEType) {
		if err := w.tell(); err != nil {
			failure = err
		}
	}
	switch {
	case w.lost:
	case errors.Is(failure, transfer.ErrOvertaken):
		w.lost = true // the newer writer has taken over our volume with the object
	case errors.Is(failure, transfer.ErrMIMEType):
		return transfer.Object{}, w.drop(ctx, failure)
	case failure != nil && w.allOrNone:
		return transfer.Object{}, w.abandon(ctx, failure)
	default:
		if err := w.keep(ctx, true); err != nil && (failure == nil || w.lost) {
			failure = err
		}
	}
	if w.gone {
		w.close()
		w.blob = nil
		_ = w.s.blobs.Delete(ctx, blob.ObjectKey(w.row.UID)) // else the orphan sweep finds it
	}
	if failure != nil {
		return transfer.Object{}, failure
	}
	return w.complete(ctx)
}

// verify compares the digests that the request states.
func (w *upload) verify() error {
	if w.part != nil && !bytes.Equal(w.part.Sum(nil), w.in.ContentDigest) {
		return transfer.ErrDigest
	}
	if w.in.ReprDigest != nil && w.written == w.row.IntendedSize && !bytes.Equal(w.whole.Sum(nil), w.in.ReprDigest) {
		return transfer.ErrDigest
	}
	return nil
}

// complete finishes the object in the store once all its bytes are held. The bytes are durable already; if this fails
// now, the first download does it.
func (w *upload) complete(ctx context.Context) (transfer.Object, error) {
	o := w.row.Object
	o.Held, o.MIMEType = w.held, w.mimeType
	if !o.Complete() {
		return o, nil
	}
	o.SHA256 = w.whole.Sum(nil)
	w.close()
	w.blob = nil
	if err := w.s.blobs.Finish(ctx, blob.ObjectKey(o.UID), o.IntendedSize); err != nil {
		w.s.log.Warn("object not finished in the store yet", "object", o.UID.String(), "error", err)
	}
	return o, nil
}

// abandon ends a turn of which nothing is kept, and returns why.
func (w *upload) abandon(ctx context.Context, failure error) error {
	if w.lost || errors.Is(failure, transfer.ErrOvertaken) {
		return failure
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	w.head = w.row.Head
	w.mimeType = w.row.MIMEType
	if err := w.advance(ctx, w.held, w.state, nil, true); err != nil && !w.lost {
		w.s.log.Warn("volume of a failed upload not given back yet", "object", w.row.UID.String(), "error", err)
	}
	return failure
}

// drop removes an object whose content the mailbox does not take.
func (w *upload) drop(ctx context.Context, failure error) error {
	err := w.s.store.InTx(ctx, func(tx *postgres.Store) error {
		if _, err := tx.LockReservation(ctx, w.row.Reservation, w.s.anywhere()); err != nil {
			return err
		}
		return w.s.deleteObject(ctx, tx, w.row.Reservation, w.row.ClientID)
	})
	if err != nil && !errors.Is(err, transfer.ErrNotFound) {
		return err
	}
	return failure
}
