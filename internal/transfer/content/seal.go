// Seal computes SHA-256, CRC-32 and type over the segments of an object, in their order, while others are still sent.

package content

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/sealed"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// The writer of an object's only segment computes the sums as the bytes come. Else Seal reads the durable bytes of complete segments, from
// the first one on, and saves how far it is in the object's row. So an object of several segments is complete when one of one segment is:
// its row has the SHA-256 of all bytes.

const (
	// sealTime bounds a run of Seal beside requests.
	sealTime = 2 * time.Second
	// sealsAtOnce bounds the runs beside requests in this process. Objects beyond it are sealed after their next part, or by a job.
	sealsAtOnce = 8
)

// sealJob seals an object whose segments are all held.
type sealJob struct {
	Object id.Object `json:"object"`
}

// Kind implements river.JobArgs.
func (sealJob) Kind() string { return "transfer_seal" }

// workSeal seals an object to the end. A failure is repeated, and goes on where the last run has saved.
func (s *Service) workSeal(ctx context.Context, j sealJob) error {
	err := s.Seal(ctx, j.Object, func() bool { return jobs.DeadlineNear(ctx) })
	switch {
	case errors.Is(err, errLost):
		return jobs.Again(time.Second)
	case errors.Is(err, errMore):
		return jobs.Again(0)
	case errors.Is(err, transfer.ErrNotFound), errors.Is(err, transfer.ErrMIMEType):
		return nil
	}
	return err
}

// seals are the runs of Seal that requests have started in this process: one of an object at a time.
type seals struct {
	shared  singleflight.Group // by object
	slots   *semaphore.Weighted
	running sync.WaitGroup
}

// Close waits until no object is being sealed. No request may be in progress.
func (s *Service) Close() { s.seals.running.Wait() }

// sealBeside seals complete segments while the client sends others, so that the sum is known soon after the last one. Only the request
// after which all segments are held waits for it.
// Errors: transfer.ErrMIMEType.
func (w *writer) sealBeside(ctx context.Context) error {
	if w.allHeld {
		return w.s.SealHeld(ctx, w.row.UID)
	}
	w.s.startSeal(ctx, w.row.UID)
	return nil
}

// SealHeld seals an object whose last bytes have just come: some at once, the rest in a job. So the request learns of a refusal itself.
// When the server is killed between the two, the confirm seals the object.
// Errors: transfer.ErrMIMEType.
func (s *Service) SealHeld(ctx context.Context, o id.Object) error {
	err := s.sealFor(ctx, o)
	if errors.Is(err, errMore) {
		return s.store.InTx(context.WithoutCancel(ctx), func(tx *postgres.Store) error { return s.jobs.Enqueue(ctx, tx.Tx(), sealJob{o}) })
	}
	return err
}

// SealSome seals an object for a request that waits for it, for sealTime. It does nothing while another replica does.
// Errors: transfer.ErrMIMEType.
func (s *Service) SealSome(ctx context.Context, o id.Object) error {
	err := s.sealFor(ctx, o)
	if errors.Is(err, errMore) {
		return nil
	}
	return err
}

// sealFor waits for sealTime at most.
// Errors: transfer.ErrMIMEType; errMore when there may be something left.
func (s *Service) sealFor(ctx context.Context, o id.Object) error {
	late := time.After(sealTime)
	for range 2 { // a run that began before this call may not see the last segment
		select {
		case run := <-s.startSeal(ctx, o):
			if run.Err != nil || !run.Shared {
				return run.Err
			}
		case <-late:
			return errMore
		}
	}
	return nil
}

// startSeal seals an object beside the request, or takes part in the run that does.
func (s *Service) startSeal(ctx context.Context, o id.Object) <-chan singleflight.Result {
	ctx = context.WithoutCancel(ctx)
	ended := make(chan singleflight.Result, 1)
	s.seals.running.Go(func() {
		_, err, shared := s.seals.shared.Do(o.String(), func() (any, error) { return nil, s.sealSome(ctx, o) })
		ended <- singleflight.Result{Err: err, Shared: shared}
	})
	return ended
}

// sealSome seals an object for sealTime.
// Errors: transfer.ErrMIMEType; errMore when there is something left, or somebody else seals it.
func (s *Service) sealSome(ctx context.Context, o id.Object) error {
	if !s.seals.slots.TryAcquire(1) {
		return errMore
	}
	defer s.seals.slots.Release(1)
	until := time.Now().Add(sealTime)
	err := s.Seal(ctx, o, func() bool { return time.Now().After(until) })
	switch {
	case err == nil, errors.Is(err, transfer.ErrNotFound):
		return nil
	case errors.Is(err, transfer.ErrMIMEType):
		return err
	case !errors.Is(err, errLost) && !errors.Is(err, errMore):
		s.log.WarnContext(ctx, "object not sealed yet", "object", o.String(), "error", err)
	}
	return errMore
}

var (
	errMore = errors.New("more segments can be sealed")
	errGone = errors.New("the bytes of a segment are not held any more")
)

// sealing is one run of Seal.
type sealing struct {
	s        *Service
	row      postgres.Upload
	lease    *lease
	progress *progress
	held     int64 // bytes in progress
	saved    int64 // of them in the row
	source   *reader
}

// Seal computes the sums over the durable bytes of an object's segments, from where the row is on, until late says so. It does nothing for
// an object of one segment, which its writer has summed.
// Errors: errLost when somebody else seals the object, errMore; transfer.ErrNotFound; transfer.ErrMIMEType when the mailbox does not accept
// the content, which is deleted.
func (s *Service) Seal(ctx context.Context, o id.Object, late func() bool) error {
	began := time.Now()
	j, err := s.beginSeal(ctx, o)
	if err != nil || j == nil {
		return err
	}
	ctx, l, ok := s.leases.take(ctx, lease{of: o, epoch: j.lease.epoch, renewed: began}, errLost)
	if !ok {
		return errLost
	}
	j.lease = l
	defer l.release()
	if err := l.await(ctx); err != nil {
		return err
	}
	failure := j.run(ctx, late)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	switch {
	case errors.Is(failure, transfer.ErrMIMEType):
		return s.deleteRefused(ctx, j.row, failure)
	case errors.Is(failure, errGone):
		s.log.Warn("segment starts over: the store does not hold what the database claims", "object", o.String(), "error", failure)
		return j.drop(ctx, j.source.position())
	case l.lost:
		return failure
	case failure != nil && !errors.Is(failure, errMore):
		return errors.Join(failure, j.save(ctx, true))
	}
	if err := j.save(ctx, true); err != nil {
		return err
	}
	return failure
}

// beginSeal takes the lease of an object; nil when there is nothing to seal.
// Errors: errLost.
func (s *Service) beginSeal(ctx context.Context, o id.Object) (j *sealing, err error) {
	err = s.store.InTx(ctx, func(tx *postgres.Store) error {
		j = nil
		u, err := tx.LockSealing(ctx, o, postgres.Scope{Host: postgres.AnyHost, Now: s.now()})
		switch {
		case err != nil:
			return err
		case !u.Segmented, u.Complete():
			return nil
		case time.Now().Before(u.SealUntil):
			return errLost
		}
		epoch, err := tx.TakeSeal(ctx, o, leaseTime)
		j = &sealing{s: s, row: u, lease: &lease{epoch: epoch}, progress: newProgress(u, true, true, nil), held: u.Held, saved: u.Held}
		return err
	})
	if err == nil && j != nil {
		err = j.progress.restore()
	}
	return j, err
}

// run seals segments until it must end. It looks for segments that were completed meanwhile.
// Errors: errMore, errGone, errLost, transfer.ErrMIMEType.
func (j *sealing) run(ctx context.Context, late func() bool) error {
	defer j.progress.release()
	for {
		list, err := j.s.store.Segments(ctx, j.row.UID)
		if err != nil {
			return err
		}
		n := 0
		for n < len(list) && list[n].Complete() {
			n++
		}
		if j.source = j.s.read(ctx, list[:n]); j.source.size() <= j.held {
			return nil
		}
		if err := j.read(ctx, late); err != nil {
			return err
		}
	}
}

// read adds the bytes of the source. It saves how far it is from time to time.
func (j *sealing) read(ctx context.Context, late func() bool) error {
	defer j.source.Close()
	j.source.at = j.held
	for j.held < j.source.size() {
		if late() {
			return errMore
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b := j.progress.buffer()
		b = b[:min(int64(len(b)), j.source.size()-j.held)]
		if _, err := io.ReadFull(j.source, b); err != nil {
			return j.unread(ctx, err)
		}
		j.progress.add(b)
		j.held += int64(len(b))
		if err := j.progress.sniff(j.held == j.row.IntendedSize); err != nil {
			return err
		}
		if j.held-j.saved >= checkpointBytes || j.lease.age() >= checkpointEvery {
			if err := j.save(ctx, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// unread returns why the present segment cannot be read: errGone when its bytes are damaged, or the store lacks them.
func (j *sealing) unread(ctx context.Context, err error) error {
	short := errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrSize)
	if errors.Is(err, sealed.ErrDamaged) || short && j.s.lacks(ctx, j.source.position()) {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return storageError("read segments", err)
}

// save saves the sums, and renews the lease, or ends it when this is the last call.
// Errors: errLost.
func (j *sealing) save(ctx context.Context, last bool) error {
	sums, err := j.progress.sums(j.held, j.held == j.row.IntendedSize)
	if err != nil {
		return err
	}
	valid := leaseTime
	if last || sums.SHA256 != nil {
		valid = 0
	}
	began := time.Now()
	ours, err := j.s.store.SaveSums(ctx, j.row.UID, j.lease.epoch, *sums, valid)
	if err := j.lease.kept(began, ours, err); err != nil {
		return err
	}
	j.saved = j.held
	return nil
}

// drop gives up a segment whose bytes are lost, and what is known of the object's bytes. The client sends the segment again.
func (j *sealing) drop(ctx context.Context, lost postgres.Segment) error {
	return j.s.store.InTx(ctx, func(tx *postgres.Store) error {
		u, err := tx.LockSealing(ctx, j.row.UID, postgres.Scope{Host: postgres.AnyHost, Now: j.s.now()})
		if err != nil || u.Complete() {
			return err
		}
		if u.Segment, err = tx.LockSegment(ctx, lost); err != nil {
			return err
		}
		return tx.ResetSegment(ctx, u, false)
	})
}
