package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Content is one request's part of an object.
type Content struct {
	Range          *transfer.ContentRange // nil: the whole object
	MalformedRange bool                   // there is a Content-Range that cannot be read
	Length         int64                  // of the body, as announced; -1: not announced
	ContentDigest  []byte                 // SHA-256 of this request's bytes, nil: not stated
	ReprDigest     []byte                 // SHA-256 of the whole object, nil: not stated
	Body           Body
}

// Body is where a request's bytes come from. Interrupt makes a Read that waits for the client fail soon; it may be
// called from another goroutine.
type Body interface {
	io.Reader
	Interrupt()
}

// Timing of uploads, in real time: it is about processes and connections, not about the domain's clock.
const (
	lease           = 5 * time.Second // how long a writer may write after it last said so in its row
	leaseMargin     = 2 * time.Second // it says so again when less is left
	leaseToFinish   = time.Second     // for finishing in the store what is held already
	checkpointEvery = 2 * time.Second
	checkpointBytes = 64 << 20
	settleWithin    = 10 * time.Second // for the last row of a request that is over already
	storageRetry    = 5 * time.Second  // when to try again what the storage could not be reached for
)

// Upload stores a request's bytes of an object. They are durable once it returns, and so is what arrived in order when
// it fails, unless the request states a digest: then all or nothing. A whole object sent again starts over.
//
// ErrNotFound, ErrConfirmed, *RangeError, ErrBodyLength, ErrDigest, ErrOvertaken, ErrMIMEType, ErrPersonalVolume,
// ErrSubscriptionVolume, ErrStorageVolume, ErrStorageFull, ErrStopping.
func (s *Service) Upload(ctx context.Context, c token.Caller, uid id.Reservation, clientID string, in Content) (transfer.Object, error) {
	o, err := s.upload(ctx, c, uid, clientID, in)
	var refusal *fault.Error
	if err != nil && (!errors.As(err, &refusal) || refusal.Kind == fault.Unavailable) {
		err = cmp.Or(interrupted(ctx, nil), err) // whatever the stop of the server interrupted
	}
	return o, err
}

func (s *Service) upload(ctx context.Context, c token.Caller, uid id.Reservation, clientID string, in Content) (transfer.Object, error) {
	u, turn, err := s.beginUpload(ctx, c, uid, clientID, in)
	if err != nil {
		return transfer.Object{}, err
	}
	w := s.newUpload(u, turn, in)
	if turn.Epoch == 0 { // an object of no bytes: nothing to write
		return u.Object, cmp.Or(w.expectEnd(), w.verify())
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	me := &writer{epoch: turn.Epoch, stop: stop, done: make(chan struct{})}
	before, ok := s.writers.enter(u.UID, me, transfer.ErrOvertaken)
	if !ok {
		close(me.done)
		return transfer.Object{}, transfer.ErrOvertaken
	}
	defer s.writers.leave(u.UID, me)
	defer w.close()
	// The bytes of a Read that waits must not hold up a newer writer or a shutdown.
	defer context.AfterFunc(ctx, in.Body.Interrupt)()
	if err := s.waitForFormer(ctx, before, u, turn); err != nil {
		return transfer.Object{}, w.abandon(ctx, err)
	}
	// Whoever calls the request off makes the store and the database fail, too; that it was called off is what to answer.
	if err := w.open(ctx); err != nil {
		return transfer.Object{}, w.abandon(ctx, cmp.Or(interrupted(ctx, nil), err))
	}
	failure := w.copy(ctx)
	if failure != nil {
		failure = cmp.Or(interrupted(ctx, nil), failure)
	}
	return w.finish(ctx, failure)
}

// beginUpload checks that the request may write here and now, and takes the turn: it raises the object's epoch and sets
// the volume aside.
func (s *Service) beginUpload(ctx context.Context, c token.Caller, uid id.Reservation, clientID string, in Content) (u postgres.Upload, t postgres.Turn, err error) {
	sc := s.scope(c)
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		if u, err = tx.LockUpload(ctx, uid, clientID, sc); err != nil {
			return err
		}
		if err := admit(c, u, in); err != nil {
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
		t, err = tx.BeginUpload(ctx, u, wanted(u, in), lease, transfer.Month(sc.Now))
		switch {
		case err != nil:
			return err
		case !t.PersonAdmitted:
			return transfer.ErrPersonalVolume
		case !t.SubscriptionAdmits:
			return transfer.ErrSubscriptionVolume
		}
		return nil
	})
	return u, t, err
}

// wanted is how many bytes the request brings.
func wanted(u postgres.Upload, in Content) int64 {
	if in.Range != nil {
		return in.Range.Length()
	}
	return u.IntendedSize
}

// admit refuses a request that does not fit the object as it is.
func admit(c token.Caller, u postgres.Upload, in Content) error {
	if err := mayManage(c, u.Reservation, u.Creator); err != nil {
		return err
	}
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
	want := wanted(u, in)
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

// waitForFormer returns once nobody else touches the object's bytes: a writer of this process says so itself, one of
// another process has stopped when its lease has ended.
func (s *Service) waitForFormer(ctx context.Context, before *writer, u postgres.Upload, t postgres.Turn) error {
	if before != nil {
		<-before.done // it was told to stop; waiting for it even when told to stop oneself keeps the order
	}
	if rest := time.Until(u.LeaseUntil); rest > 0 && (before == nil || before.epoch != t.Epoch-1) {
		timer := time.NewTimer(min(rest, lease))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if ctx.Err() == nil {
		return nil
	}
	return cmp.Or(interrupted(ctx, nil), context.Cause(ctx))
}

// interrupted says why a request's context has ended, or what cut its body otherwise.
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

// storageError makes what the blob store refuses for want of room, or because it cannot be reached, a failure that a
// client may see.
func storageError(operation string, err error) error {
	switch {
	case errors.Is(err, blob.ErrFull):
		return transfer.ErrStorageFull.Because(err)
	case errors.Is(err, blob.ErrAway):
		return fault.ErrUnavailable.WithRetryAfter(storageRetry).Because(fmt.Errorf("%s: %w", operation, err))
	}
	return fmt.Errorf("%s: %w", operation, err)
}
