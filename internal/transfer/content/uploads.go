package content

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Target names the object of an upload, and says who may write it.
type Target struct {
	Reservation id.Reservation
	ClientID    string
	Scope       postgres.Scope
	Authorize   func(creator id.Person) error // of the reservation, by its creator
}

// Part is one request's part of an object.
type Part struct {
	Range          *transfer.ContentRange // nil: the whole object
	MalformedRange bool                   // the request has a Content-Range that cannot be parsed
	Length         int64                  // Content-Length; -1: unknown
	ContentDigest  []byte                 // SHA-256 of this request's bytes; nil: not stated
	ReprDigest     []byte                 // SHA-256 of the whole object; nil: not stated
	Body           Body
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

// Upload writes one request's part of an object. On return its bytes are durable. When it fails, the bytes that arrived in
// order are durable too, unless the request states a digest: then it stores all or nothing. Sending the whole object again
// starts over.
//
// Errors: those of Target.Authorize, transfer.ErrNotFound, transfer.ErrConfirmed, *transfer.RangeError,
// transfer.ErrBodyLength, transfer.ErrDigest, transfer.ErrOvertaken, transfer.ErrMIMEType, transfer.ErrPersonalVolume,
// transfer.ErrSubscriptionVolume, transfer.ErrStorageVolume, transfer.ErrMailboxUnconfirmed, transfer.ErrClientUnconfirmed,
// transfer.ErrStorageFull, transfer.ErrStopping, transfer.ErrReservationUploads, transfer.ErrClientUploads,
// transfer.ErrUploads.
func (s *Service) Upload(ctx context.Context, to Target, in Part) (transfer.Object, error) {
	o, err := s.upload(ctx, to, in)
	var refusal *fault.Error
	if err != nil && (!errors.As(err, &refusal) || refusal.Kind == fault.Unavailable) {
		err = cmp.Or(interrupted(ctx, nil), err) // a shutdown also fails store and database calls; report the shutdown
	}
	return o, err
}

func (s *Service) upload(ctx context.Context, to Target, in Part) (transfer.Object, error) {
	release, err := s.slots.acquire(ctx, to.Reservation, s.limits)
	if err != nil {
		return transfer.Object{}, err
	}
	defer release()
	u, lease, err := s.beginUpload(ctx, to, in)
	if err != nil {
		return transfer.Object{}, err
	}
	w := s.newSession(u, lease, to.Scope, in)
	if lease.epoch == 0 { // an empty object: there is nothing to write
		return u.Object, cmp.Or(w.expectEnd(), w.verify())
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	holder := &leaseHolder{epoch: lease.epoch, stop: stop, done: make(chan struct{})}
	previous, ok := s.leases.acquire(u.UID, holder, transfer.ErrOvertaken)
	if !ok {
		close(holder.done)
		return transfer.Object{}, transfer.ErrOvertaken
	}
	defer s.leases.release(u.UID, holder)
	defer w.close()
	// A blocked Read must delay neither a newer writer nor a shutdown.
	defer context.AfterFunc(ctx, in.Body.Interrupt)()
	if err := s.awaitLease(ctx, previous, u, lease); err != nil {
		return transfer.Object{}, w.rollback(ctx, err)
	}
	// Cancellation also fails store and database calls; report the cancellation.
	if err := w.open(ctx); err != nil {
		return transfer.Object{}, w.rollback(ctx, cmp.Or(interrupted(ctx, nil), err))
	}
	failure := w.copy(ctx)
	if failure != nil {
		failure = cmp.Or(interrupted(ctx, nil), failure)
	}
	return w.finish(ctx, failure)
}

// beginUpload admits the request, raises the object's writer epoch and reserves the first window of volume. The epoch is 0 for an empty
// object, which needs no writer.
func (s *Service) beginUpload(ctx context.Context, to Target, in Part) (u postgres.Upload, lease writerLease, err error) {
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if u, err = tx.LockUpload(ctx, to.Reservation, to.ClientID, to.Scope); err != nil {
			return err
		}
		if err := to.Authorize(u.Creator); err != nil {
			return err
		}
		if err := admit(u, in); err != nil {
			return err
		}
		if u.IntendedSize == 0 {
			return nil
		}
		restart := in.Range == nil && u.Held > 0
		if restart || u.Reserved > 0 {
			if err := tx.ResetObject(ctx, u, !restart); err != nil {
				return err
			}
		}
		if restart {
			u.Held, u.ShaState, u.Head, u.SHA256, u.CRC32, u.MIMEType = 0, nil, nil, nil, 0, ""
		}
		lease, err = s.reserve(ctx, tx, u, min(partLength(u, in), s.limits.Window), 1, transfer.Month(to.Scope.Now))
		return err
	})
	return u, lease, err
}

// partLength returns how many bytes the request should have.
func partLength(u postgres.Upload, in Part) int64 {
	if in.Range != nil {
		return in.Range.Length()
	}
	return u.IntendedSize
}

// admit refuses a request that does not fit the present state of the object.
// Errors: transfer.ErrConfirmed, *transfer.RangeError, transfer.ErrBodyLength, transfer.ErrStorageVolume.
func admit(u postgres.Upload, in Part) error {
	if !u.Transfer.IsZero() {
		return transfer.Confirmed(u.Transfer)
	}
	switch {
	case in.MalformedRange:
		return &transfer.RangeError{Held: u.Held, Reason: "Content-Range: must be bytes first-last/total"}
	case in.Range != nil && in.Range.Total != u.IntendedSize:
		return &transfer.RangeError{Held: u.Held, Reason: fmt.Sprintf("Content-Range: the total must be the object's intendedSize, %d", u.IntendedSize)}
	case in.Range != nil && in.Range.First != u.Held:
		return &transfer.RangeError{Held: u.Held, Reason: fmt.Sprintf("Content-Range: must go on at byte %d", u.Held)}
	}
	want := partLength(u, in)
	if in.Range != nil && in.Length >= 0 && in.Length != want {
		return transfer.ErrBodyLength.With(fmt.Sprintf("Content-Length: must be %d, the length of the range", want))
	}
	if in.Length > want {
		return transfer.ErrBodyLength.With(fmt.Sprintf("Content-Length: must be %d, the object's intendedSize", want))
	}
	if u.StorageLimit >= 0 && u.Stored >= u.StorageLimit {
		return transfer.ErrStorageVolume
	}
	return nil
}

// interrupted returns the error for a request whose context has ended or whose body failed with err: transfer.ErrOvertaken,
// transfer.ErrNotFound, transfer.ErrStopping, or nil when it was none of these.
func interrupted(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil {
		cause = err
	}
	var f *fault.Error
	switch {
	case errors.Is(cause, transfer.ErrOvertaken), errors.Is(cause, transfer.ErrNotFound):
		return cause
	case errors.As(cause, &f) && f.Kind == fault.Unavailable:
		return transfer.ErrStopping.Because(cause)
	}
	return nil
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
