// Deletes stored bytes that no row names. Off after a restore, until an operator accepts the storage.

package content

import (
	"context"
	"errors"
	"fmt"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// sweepBatch is how many keys of the blob store one query looks up in the database.
const sweepBatch = 500

// SweepOrphans removes bytes without a row, which a crash between writing bytes and row leaves. It keeps bytes that changed
// within Options.OrphanAge, and after a restore all bytes.
func (s *Service) SweepOrphans(ctx context.Context) error {
	mark, err := s.checkMark(ctx)
	if err == nil {
		err = s.sweep(ctx, mark)
	}
	if errors.Is(err, errSweepOff) {
		s.log.Warn("orphans are not swept", "reason", err.Error())
		return nil
	}
	return err
}

func (s *Service) sweep(ctx context.Context, mark postgres.StorageMark) error {
	before := s.now().Add(-s.orphanAge)
	var orphans []id.Object
	err := s.orphans(ctx, func(i blob.Info, o id.Object) error {
		switch {
		case !i.Modified.Before(before) || s.leases.held(o):
			return nil
		case i.Finished && i.Modified.After(mark.Accepted):
			return errSweepOff
		}
		orphans = append(orphans, o)
		return nil
	})
	if err != nil {
		return err
	}
	for _, o := range orphans {
		if err := s.blobs.Delete(ctx, blob.ObjectKey(o)); err != nil {
			return fmt.Errorf("sweep orphan %s: %w", o, err)
		}
	}
	if len(orphans) > 0 {
		s.log.Info("orphans swept", "objects", len(orphans))
	}
	return s.renewMark(ctx, mark)
}

// orphans calls fn for each object in the store that has no row and that no purge is about to remove.
func (s *Service) orphans(ctx context.Context, fn func(blob.Info, id.Object) error) error {
	var batch []blob.Info
	flush := func() error {
		keys := make([]id.Object, 0, len(batch))
		infos := make(map[id.Object]blob.Info, len(batch))
		for _, i := range batch {
			if o, err := id.Parse[id.Object](string(i.Key)); err == nil { // other keys are no objects
				keys = append(keys, o)
				infos[o] = i
			}
		}
		batch = batch[:0]
		kept, err := s.store.ObjectsKept(ctx, keys)
		if err != nil {
			return err
		}
		awaiting, err := s.store.ObjectsAwaitingPurge(ctx, keys)
		if err != nil {
			return err
		}
		for _, o := range keys {
			if kept[o] || awaiting[o] {
				continue
			}
			if _, err := s.blobs.Held(ctx, blob.ObjectKey(o)); errors.Is(err, blob.ErrNotFound) {
				continue // a purge has removed it
			} else if err != nil {
				return fmt.Errorf("look up orphan %s: %w", o, err)
			}
			if err := fn(infos[o], o); err != nil {
				return err
			}
		}
		return nil
	}
	err := s.blobs.List(ctx, func(i blob.Info) error {
		if batch = append(batch, i); len(batch) < sweepBatch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}
