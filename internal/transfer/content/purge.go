// Deletes the bytes of deleted and erased objects.

package content

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// purgeBatch is how many objects one round of a purge reads.
const purgeBatch = 500

// purgeSoonJob purges the bytes of objects that a transaction has deleted or erased.
type purgeSoonJob struct{}

// Kind implements river.JobArgs.
func (purgeSoonJob) Kind() string { return "transfer_remove_bytes" }

// PurgeSoon enqueues a purge for when tx's transaction has committed.
func (s *Service) PurgeSoon(ctx context.Context, tx *postgres.Store) error {
	if err := s.jobs.Enqueue(ctx, tx.Tx(), purgeSoonJob{}); err != nil {
		return fmt.Errorf("enqueue purge of bytes: %w", err)
	}
	return nil
}

// DeleteObjects deletes the objects of locked, open reservations, or with a clientID one object, releases their volume and
// enqueues the purge of their bytes. It returns how many it deleted.
func (s *Service) DeleteObjects(ctx context.Context, tx *postgres.Store, reservations []id.Reservation, clientID string) (int, error) {
	n, err := tx.DeleteObjects(ctx, reservations, clientID, s.now())
	if err != nil || n == 0 {
		return n, err
	}
	return n, s.PurgeSoon(ctx, tx)
}

// purges makes purges run one at a time. Parallel ones would only occupy job workers.
type purges struct {
	sync.Mutex
	requests atomic.Int64 // how many purges were requested
}

func (s *Service) workPurge(ctx context.Context, _ purgeSoonJob) error {
	s.purges.requests.Add(1)
	if !s.purges.TryLock() { // the running purge does another round
		return nil
	}
	return s.purgeRequested(ctx)
}

// PurgeBytes removes the bytes of objects that were deleted or erased. Bytes that a request in this process may still
// write stay for the next purge.
func (s *Service) PurgeBytes(ctx context.Context) error {
	s.purges.requests.Add(1)
	s.purges.Lock()
	return s.purgeRequested(ctx)
}

// purgeRequested repeats the purge while requests arrive during it. The caller has locked s.purges; purgeRequested unlocks it.
func (s *Service) purgeRequested(ctx context.Context) error {
	for {
		requests := s.purges.requests.Load()
		err := s.purge(ctx)
		if err != nil || s.purges.requests.Load() == requests || !s.purges.TryLock() {
			return err
		}
	}
}

// purge removes bytes until none are left to remove. It unlocks s.purges, also when it panics. Shortly before ctx's
// deadline it returns jobs.Again: in an object store each object takes several requests.
func (s *Service) purge(ctx context.Context) error {
	defer s.purges.Unlock()
	for {
		objects, err := s.store.ObjectsToPurge(ctx, purgeBatch)
		if err != nil {
			return err
		}
		list, err := s.store.Segments(ctx, objects...)
		if err != nil {
			return err
		}
		segments := make(map[id.Object][]id.Segment, len(objects))
		for _, g := range list {
			segments[g.Object] = append(segments[g.Object], g.UID)
		}
		var purged []id.Object
		for _, o := range objects {
			if s.stopWriters(segments[o]) {
				continue
			}
			for _, g := range segments[o] {
				if err := s.blobs.Delete(ctx, blob.SegmentKey(g)); err != nil {
					return errors.Join(fmt.Errorf("purge bytes of %s: %w", o, err), s.store.MarkPurged(ctx, purged))
				}
			}
			purged = append(purged, o)
			if jobs.DeadlineNear(ctx) {
				return cmp.Or(s.store.MarkPurged(ctx, purged), jobs.Again(0))
			}
		}
		if err := s.store.MarkPurged(ctx, purged); err != nil {
			return err
		}
		if len(objects) < purgeBatch || len(purged) == 0 {
			return nil
		}
	}
}

// stopWriters stops the writers of segments in this process, and reports whether there are any.
func (s *Service) stopWriters(segments []id.Segment) (any bool) {
	for _, g := range segments {
		any = s.leases.end(g, transfer.ErrNotFound) != nil || any
	}
	return any
}

// deleteRefused deletes a locked object whose content the mailbox does not accept, and returns failure.
func (s *Service) deleteRefused(ctx context.Context, u postgres.Upload, failure error) error {
	err := s.store.InTx(ctx, func(tx *postgres.Store) error {
		if _, err := tx.LockReservation(ctx, u.Reservation, postgres.Scope{Host: postgres.AnyHost, Now: s.now()}); err != nil {
			return err
		}
		_, err := s.DeleteObjects(ctx, tx, []id.Reservation{u.Reservation}, u.ClientID)
		return err
	})
	if err != nil && !errors.Is(err, transfer.ErrNotFound) {
		return err
	}
	return failure
}

// DeletePartials deletes the partial uploads of a locked, open reservation. It enqueues the purge of their bytes. The caller gives back the
// refund where it locks volumes.
func (s *Service) DeletePartials(ctx context.Context, tx *postgres.Store, r id.Reservation) (postgres.Refund, error) {
	n, refund, err := tx.DeletePartials(ctx, r, s.now())
	if err != nil || n == 0 {
		return refund, err
	}
	return refund, s.PurgeSoon(ctx, tx)
}
