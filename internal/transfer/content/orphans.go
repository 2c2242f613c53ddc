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
	var orphans []id.Segment
	err := s.orphans(ctx, func(i blob.Info, g id.Segment) error {
		switch {
		case !i.Modified.Before(before) || s.leases.held(g):
			return nil
		case i.Finished && i.Modified.After(mark.Accepted):
			return errSweepOff
		}
		orphans = append(orphans, g)
		return nil
	})
	if err != nil {
		return err
	}
	for _, g := range orphans {
		if err := s.blobs.Delete(ctx, blob.SegmentKey(g)); err != nil {
			return fmt.Errorf("sweep orphan %s: %w", g, err)
		}
	}
	if len(orphans) > 0 {
		s.log.Info("orphans swept", "segments", len(orphans))
	}
	return s.renewMark(ctx, mark)
}

// orphans calls fn for each segment in the store that has no row: the row goes after the bytes.
func (s *Service) orphans(ctx context.Context, fn func(blob.Info, id.Segment) error) error {
	var batch []blob.Info
	flush := func() error {
		var uids []id.Segment
		infos := make(map[id.Segment]blob.Info, len(batch))
		for _, i := range batch {
			if g, err := id.Parse[id.Segment](string(i.Key)); err == nil { // other keys are no segments
				uids = append(uids, g)
				infos[g] = i
			}
		}
		batch = batch[:0]
		kept, err := s.store.SegmentsKept(ctx, uids)
		if err != nil {
			return err
		}
		for _, g := range uids {
			if kept[g] {
				continue
			}
			if _, err := s.blobs.Held(ctx, blob.SegmentKey(g)); errors.Is(err, blob.ErrNotFound) {
				continue // a purge has removed it
			} else if err != nil {
				return fmt.Errorf("look up orphan %s: %w", g, err)
			}
			if err := fn(infos[g], g); err != nil {
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
