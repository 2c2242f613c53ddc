// Moves stored bytes from one place to another beside working servers (contract 4.31).

package content

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/pair"
	"github.com/consign-dev/consign/internal/blob/sealed"
	"github.com/consign-dev/consign/internal/id"
)

// movesAtOnce is how many segments are copied at once: in a bucket a small one takes several round trips.
const movesAtOnce = 4

// MoveResult counts what Move has moved and what it has left.
type MoveResult struct {
	Segments   int
	Bytes      int64
	Busy       int // still uploaded, or another command has them
	Discarded  int // about to be purged
	Unassigned int // the database has no row of them
}

// mover is one call of Move.
type mover struct {
	*Service
	places *pair.Store
	room   func() error

	mu     sync.Mutex
	result MoveResult
	total  Progress
	tell   func(Progress) // nil: nobody looks
}

// Move moves the segments of the second place to the first. It compares the SHA-256 of each copy before it deletes what was copied, may run
// beside working servers, and may be interrupted and repeated: it goes on with what is left, in the middle of a file, too. room is asked
// before each segment whether the first place has room. progress is called after each segment.
func (s *Service) Move(ctx context.Context, places *pair.Store, room func() error, progress func(Progress)) (MoveResult, error) {
	m := &mover{Service: s, places: places, room: room, tell: progress}
	if progress != nil {
		if err := places.Old().List(ctx, func(i blob.Info) error {
			m.total.TotalObjects++
			m.total.TotalBytes += i.Size
			return ctx.Err()
		}); err != nil {
			return m.result, fmt.Errorf("list what is to be moved: %w", err)
		}
		progress(m.total)
	}
	tasks, taskCtx := errgroup.WithContext(ctx)
	tasks.SetLimit(movesAtOnce)
	err := places.Old().List(taskCtx, func(i blob.Info) error {
		tasks.Go(func() error { return m.segment(taskCtx, i) })
		return taskCtx.Err()
	})
	if failure := tasks.Wait(); failure != nil {
		err = failure
	}
	if err != nil {
		return m.result, fmt.Errorf("move stored files: %w", err)
	}
	return m.result, m.mark(ctx)
}

// mark writes the storage mark again, now in the first place. Marks that do not agree stay, for fsck.
func (m *mover) mark(ctx context.Context) error {
	_, err := m.places.Old().Held(ctx, markKey)
	if errors.Is(err, blob.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up storage mark: %w", err)
	}
	mark, err := m.checkMark(ctx)
	if errors.Is(err, errSweepOff) {
		return nil
	}
	if err != nil {
		return err
	}
	return m.renewMark(ctx, mark)
}

// segment moves what the second place lists, if it is a segment that nobody writes or deletes.
func (m *mover) segment(ctx context.Context, i blob.Info) error {
	uid, err := id.Parse[id.Segment](sealed.Plain(i.Key))
	if err != nil {
		return nil //nolint:nilerr // a mark
	}
	moved, outcome, err := m.try(ctx, i, uid)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if moved {
		m.result.Segments++
		m.result.Bytes += i.Size
	} else if outcome != nil {
		*outcome++
	}
	m.total.Objects++
	m.total.Bytes += i.Size
	if m.tell != nil {
		m.tell(m.total)
	}
	return nil
}

// try moves a segment. When it is not moved, it is counted at left; nil: it is gone.
func (m *mover) try(ctx context.Context, i blob.Info, uid id.Segment) (moved bool, left *int, err error) {
	row, err := m.store.StoredSegment(ctx, uid)
	switch {
	case err != nil:
		return false, nil, err
	case !row.Exists:
		return false, &m.result.Unassigned, nil
	case row.Discarded:
		return false, &m.result.Discarded, nil
	case row.Held < row.Size:
		return false, &m.result.Busy, nil
	}
	if err := m.blobs.Finish(ctx, blob.SegmentKey(uid), row.Size); err != nil && !errors.Is(err, blob.ErrNotFound) {
		return false, nil, fmt.Errorf("finish segment %s: %w", uid, err)
	}
	if err := m.room(); err != nil {
		return false, nil, storageError("move segment "+uid.String(), err)
	}
	moved, err = m.leased(ctx, i.Key, uid)
	if errors.Is(err, errLost) {
		return false, &m.result.Busy, nil
	}
	return moved, nil, err
}

// leased moves a segment under its lease, so that nobody else moves or encrypts it. A purge that does not wait for the lease ends it.
// Errors: errLost.
func (m *mover) leased(ctx context.Context, key blob.Key, uid id.Segment) (moved bool, err error) {
	ctx, l, err := m.leaseStored(ctx, uid)
	if err != nil {
		return false, err
	}
	defer l.end(ctx)
	kept := func() error {
		if err := l.renew(ctx); err != nil {
			return err
		}
		return m.keeps(ctx, uid)
	}
	reading := func(r io.Reader) io.Reader { return l.reader(ctx, r, kept) }
	_, err = m.places.Copy(ctx, key, reading, kept)
	if errors.Is(err, blob.ErrNotFound) { // it was purged, moved, or encrypted, or is not finished
		return false, m.undoDiscarded(ctx, key, uid)
	}
	if err == nil {
		err = kept()
	}
	if err != nil {
		return false, errors.Join(err, m.undoDiscarded(ctx, key, uid))
	}
	return true, m.places.Drop(ctx, key)
}

// keeps returns errLost when a segment is purged, or about to be.
func (m *mover) keeps(ctx context.Context, uid id.Segment) error {
	row, err := m.store.StoredSegment(ctx, uid)
	if err == nil && (!row.Exists || row.Discarded) {
		err = errLost
	}
	return err
}

// undoDiscarded deletes the copy of a segment that was purged while it was made. A purge that is still to come deletes both.
func (m *mover) undoDiscarded(ctx context.Context, key blob.Key, uid id.Segment) error {
	ctx = context.WithoutCancel(ctx)
	if err := m.keeps(ctx, uid); !errors.Is(err, errLost) {
		return err
	}
	return m.places.Undo(ctx, key)
}
