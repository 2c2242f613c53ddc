package content

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Target names the object of an upload, and says who may write it.
type Target struct {
	Reservation id.Reservation
	ClientID    string
	Scope       postgres.Scope
	Authorize   func(creator id.Person) error // of the reservation, by its creator
	// Watch returns a context that is cancelled when one of these suspensions is published.
	Watch func(ctx context.Context, suspensions ...uuid.UUID) (context.Context, context.CancelFunc)
}

// Write is what one request brings, whatever the protocol: bytes that are appended to a segment of an object. The adapters of the protocols
// are in transfer/handler.
type Write struct {
	Number int // of the segment, in an object of parts; all offsets and sizes are those of the segment. 0: the object has no parts

	Restart bool  // what is held is dropped first
	Whole   bool  // the request has all bytes: with fewer it is refused
	Offset  int64 // of the first byte; 0 with Restart
	Length  int64 // bytes of the request; -1: as many as the body has, or with Whole as the object has
	Size    int64 // of the object, as the request states it; -1: not stated
	Last    bool  // the object ends with the request, which makes a deferred size known

	BodyLength    int64  // Content-Length; -1: unknown
	ContentDigest []byte // SHA-256 of this request's bytes, or their SHA-1 with 20 bytes; nil: not stated
	ReprDigest    []byte // SHA-256 of the whole object; nil: not stated
	Progressive   bool   // with ReprDigest: what arrives is held before the digest is verified, without the last bytes
	Body          Body
}

// WholeObject returns a Write that replaces what is held of an object. length is that of the body, -1 when unknown.
func WholeObject(length int64, body Body) Write {
	return Write{Restart: true, Whole: true, Length: -1, Size: -1, Last: true, BodyLength: length, Body: body}
}

// RangeOfObject returns a Write with the bytes of a range. length is that of the body, -1 when unknown.
func RangeOfObject(r transfer.ContentRange, length int64, body Body) Write {
	return Write{Offset: r.First, Length: r.Length(), Size: r.Total, BodyLength: length, Body: body}
}

// State is how far an upload is after a request.
type State struct {
	transfer.Object
	Held, Size int64 // of the segment that the request has written
}

// Body is the request body. Interrupt makes a blocked Read fail soon and may be called from another goroutine.
type Body interface {
	io.Reader
	Interrupt()
}

// Timing of uploads in real time, not in that of Options.Now: it concerns processes and connections.
const (
	leaseTime        = 5 * time.Second // validity of a writer lease after its last renewal
	leaseMargin      = 2 * time.Second // remaining validity below which a writer renews its lease
	leaseToFinish    = time.Second     // lease for finishing a complete object in the store
	checkpointEvery  = 2 * time.Second
	checkpointBytes  = 64 << 20
	finishTimeout    = 10 * time.Second // for the last statement of a request whose context has ended
	volumeReleaseAge = time.Minute      // how long a lease has expired before its reserved volume is released
)

// Write writes what one request brings. On return its bytes are durable. When it fails, the bytes that arrived in order are durable too,
// unless the request states a digest: then it stores all or nothing. Sending the whole object again starts over.
//
// Errors: those of Target.Authorize, transfer.ErrNotFound, transfer.ErrConfirmed, *transfer.OffsetError,
// transfer.ErrBodyLength, transfer.ErrDigest, transfer.ErrOvertaken, transfer.ErrMIMEType, transfer.ErrPersonalVolume,
// transfer.ErrSubscriptionVolume, transfer.ErrStorageVolume, transfer.ErrMailboxUnconfirmed, transfer.ErrClientUnconfirmed,
// transfer.ErrStorageFull, transfer.ErrStopping, transfer.ErrReservationUploads, transfer.ErrClientUploads,
// transfer.ErrUploads, transfer.ErrOtherWay, transfer.ErrConcatenated, fault.ErrUnavailable.
func (s *Service) Write(ctx context.Context, to Target, in Write) (State, error) {
	o, err := s.write(ctx, to, in)
	var refusal *fault.Error
	if err != nil && (!errors.As(err, &refusal) || refusal.Kind == fault.Unavailable) {
		err = cmp.Or(interrupted(ctx, nil), err) // a shutdown also fails store and database calls; report the shutdown
	}
	return o, err
}

func (s *Service) write(ctx context.Context, to Target, in Write) (State, error) {
	ctx, slot, err := s.slots.acquire(ctx, to.Reservation, s.limits)
	if err != nil {
		return State{}, err
	}
	defer s.slots.release(slot)
	in.Body = countedBody{in.Body, &slot.moved}
	if in.Number > 0 {
		releasePart, err := s.slots.acquirePart(to, in.Number)
		if err != nil {
			return State{}, err
		}
		defer releasePart()
	}
	began := time.Now()
	u, g, err := s.beginWrite(ctx, to, in)
	if err != nil {
		return State{}, err
	}
	ctx, forget := to.Watch(ctx, u.Suspensions...)
	defer forget()
	w := s.newWriter(u, g, to.Scope, in)
	if g.epoch == 0 { // there is nothing to write
		return w.state(), cmp.Or(w.expectEnd(), w.verify())
	}
	ctx, l, ok := s.leases.take(ctx, lease{of: u.Segment.UID, epoch: g.epoch, former: u.Segment.LeaseUntil, renewed: began},
		transfer.ErrOvertaken)
	if !ok {
		return State{}, transfer.ErrOvertaken
	}
	defer l.release()
	defer w.close()
	w.lease = l
	// A blocked Read must delay neither a newer writer nor a shutdown.
	defer context.AfterFunc(ctx, in.Body.Interrupt)()
	if err := l.await(ctx); err != nil {
		return State{}, w.rollback(ctx, err)
	}
	// Cancellation also fails store and database calls; report the cancellation.
	if err := w.open(ctx); err != nil {
		return State{}, w.rollback(ctx, cmp.Or(interrupted(ctx, nil), err))
	}
	failure := w.copy(ctx)
	if failure != nil {
		failure = cmp.Or(interrupted(ctx, nil), failure)
	}
	return w.finish(ctx, failure)
}

// beginWrite admits the request, raises the segment's writer epoch and reserves the first window of volume. The epoch is 0 when there is
// nothing to write.
func (s *Service) beginWrite(ctx context.Context, to Target, in Write) (u postgres.Upload, g grant, err error) {
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		lock := tx.LockUpload
		if in.Number > 0 {
			lock = tx.LockPart
		}
		if u, err = lock(ctx, to.Reservation, to.ClientID, to.Scope); err != nil {
			return err
		}
		if err := to.Authorize(u.Creator); err != nil {
			return err
		}
		if u, err = chooseSegment(ctx, tx, u, in.Number); err != nil {
			return err
		}
		if err := admit(u, in); err != nil {
			return err
		}
		if u, err = clearWay(ctx, tx, u, in); err != nil {
			return err
		}
		if err := declareSize(ctx, tx, &u, in); err != nil {
			return err
		}
		room := roomOf(u, in)
		g.month = transfer.Month(to.Scope.Now)
		switch {
		case room > 0:
			g, err = s.reserve(ctx, tx, u, min(room, s.limits.Window), 1, g.month)
		case u.SHA256 == nil && !u.Segmented && u.Segment.Size > 0 && (u.Deferred && in.Last || !u.Deferred && u.Segment.Complete()):
			// The size becomes known when all bytes are there.
			g.epoch, err = tx.TakeLease(ctx, u.Segment.UID, leaseTime)
		}
		return err
	})
	return u, g, err
}

// chooseSegment returns a locked object with the segment that a request advances.
// Errors: transfer.ErrOtherWay, transfer.ErrNotFound, transfer.ErrConfirmed, transfer.ErrConcatenated.
func chooseSegment(ctx context.Context, tx *postgres.Store, u postgres.Upload, number int) (_ postgres.Upload, err error) {
	u.Segment = postgres.Segment{Object: u.UID, Number: max(number, 1), Size: u.IntendedSize}
	switch {
	case !u.Transfer.IsZero():
		return u, transfer.Confirmed(u.Transfer)
	case u.Concatenated, !u.Final.IsZero():
		return u, transfer.ErrConcatenated
	case number == 0 && u.PartSize > 0:
		return u, errInParts
	case number > u.PartCount():
		return u, transfer.ErrNotFound
	case number > 0:
		u.Segment.Size = u.PartLength(number)
	}
	if u.Segment.UID = u.Object.Segment(u.Segment.Number); u.Segment.Size > 0 {
		u.Segment, err = tx.LockSegment(ctx, u.Segment)
	}
	return u, err
}

// clearWay releases what a former writer of a locked segment has left reserved, and drops what is held when the request starts over.
func clearWay(ctx context.Context, tx *postgres.Store, u postgres.Upload, in Write) (postgres.Upload, error) {
	restart := in.Restart && u.Segment.Held > 0
	if !restart && u.Segment.Reserved == 0 {
		return u, nil
	}
	if err := tx.ResetSegment(ctx, u, !restart); err != nil {
		return u, err
	}
	if u.Segment.Reserved = 0; restart {
		u.Segment.Held = 0
		u.Held, u.ShaState, u.Head, u.SHA256, u.CRC32, u.MIMEType = 0, nil, nil, nil, 0, ""
	}
	return u, nil
}

// declareSize makes the deferred size of a locked object the one that the request states.
func declareSize(ctx context.Context, tx *postgres.Store, u *postgres.Upload, in Write) error {
	size, known := statedSize(in)
	if !u.Deferred || !known {
		return nil
	}
	u.Deferred, u.IntendedSize, u.Segment.Size = false, size, size
	if size == 0 {
		empty := sha256.Sum256(nil)
		u.SHA256, u.MIMEType = empty[:], transfer.TypeByName(u.Name)
	}
	return tx.DeclareSize(ctx, u.UID, size, u.SHA256, u.MIMEType)
}

// statedSize returns the size of the object that follows from a request.
func statedSize(in Write) (size int64, known bool) {
	switch {
	case in.Size >= 0:
		return in.Size, true
	case in.Last && in.Length >= 0:
		return in.Offset + in.Length, true
	case in.Whole && in.BodyLength >= 0:
		return in.BodyLength, true
	}
	return 0, false
}

// roomOf returns how many bytes the request may have.
func roomOf(u postgres.Upload, in Write) int64 {
	if in.Length >= 0 {
		return in.Length
	}
	return u.Segment.Size - u.Segment.Held
}

// admit refuses a request that does not fit the present state of the object.
// Errors: transfer.ErrConfirmed, *transfer.OffsetError, transfer.ErrBodyLength, transfer.ErrStorageVolume.
func admit(u postgres.Upload, in Write) error {
	if !u.Transfer.IsZero() {
		return transfer.Confirmed(u.Transfer)
	}
	held := u.Segment.Held
	if in.Restart {
		held = 0
	}
	misfit := func(p transfer.OffsetProblem) error {
		return &transfer.OffsetError{Problem: p, Held: u.Segment.Held, Size: u.Segment.Size, Deferred: u.Deferred}
	}
	size, stated := statedSize(in)
	if in.Whole && !u.Deferred {
		stated = false // a body of another length is ErrBodyLength
	}
	switch {
	case in.Offset != held:
		return misfit(transfer.OffsetMismatch)
	case stated && (u.Deferred && size < in.Offset+max(in.Length, 0) || !u.Deferred && size != u.Segment.Size):
		return misfit(transfer.SizeMismatch)
	case stated && size > u.Segment.Size, in.Length >= 0 && in.Length > u.Segment.Size-in.Offset:
		return misfit(transfer.SizeExceeded)
	}
	if in.Length >= 0 && in.BodyLength >= 0 && in.BodyLength != in.Length {
		return transfer.ErrBodyLength.With(fmt.Sprintf("Content-Length: must be %d, the length of the range", in.Length))
	}
	if in.Length < 0 && in.BodyLength > u.Segment.Size-held {
		return transfer.ErrBodyLength.With(fmt.Sprintf("Content-Length: must be %d, the object's intendedSize", u.Segment.Size))
	}
	if (in.Length > 0 || in.Length < 0 && u.Segment.Size > held) && u.StorageLimit >= 0 && u.Stored >= u.StorageLimit {
		return transfer.ErrStorageVolume
	}
	return nil
}

// interrupted returns the error for a request whose context has ended or whose body failed with err: transfer.ErrOvertaken,
// transfer.ErrNotFound, transfer.ErrUploads, transfer.ErrStopping, or nil when it was none of these.
func interrupted(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil {
		cause = err
	}
	var f *fault.Error
	switch {
	case errors.Is(cause, transfer.ErrOvertaken), errors.Is(cause, transfer.ErrNotFound), errors.Is(cause, transfer.ErrUploads):
		return cause
	case errors.As(cause, &f) && f.Kind == fault.Unavailable:
		return transfer.ErrStopping.Because(cause)
	case errors.Is(cause, token.ErrEnded): // a suspension: further requests find nothing, either
		return transfer.ErrNotFound.Because(cause)
	}
	return nil
}

// errSettled ends a request whose client asks where to go on: what arrived is kept.
var errSettled = transfer.ErrBodyLength.With("another request asked for the offset; what arrived is kept, go on from there")

// Settle ends the request of this process that writes an object in one stream, if there is one, and waits until what arrived is held. It
// reports whether there was one.
func (s *Service) Settle(ctx context.Context, o transfer.Object) bool {
	writer := s.leases.end(o.Segment(1), errSettled)
	if writer == nil {
		return false
	}
	select {
	case <-writer.done:
	case <-ctx.Done():
	}
	return true
}

// ReleaseVolumes releases the volume reserved by writers that vanished with their server.
func (s *Service) ReleaseVolumes(ctx context.Context) error {
	var n int
	err := s.store.InTx(ctx, func(tx *postgres.Store) (err error) {
		n, err = tx.ReleaseVolumes(ctx, volumeReleaseAge)
		return err
	})
	if err == nil && n > 0 {
		s.log.Info("reserved volume of vanished uploads released", "uploads", n)
	}
	return err
}
