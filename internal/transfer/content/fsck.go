package content

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Finding is a discrepancy between the blob store and the rows.
type Finding struct {
	Kind   string // FindingLost, FindingDamaged or FindingOrphan
	Object id.Object
	Detail string
}

// The kinds of findings.
const (
	FindingLost    = "lost"    // the store lacks bytes that a row claims
	FindingDamaged = "damaged" // the bytes do not match the row
	FindingOrphan  = "orphan"  // the store has bytes without a row
)

// FsckResult counts what Fsck has checked.
type FsckResult struct {
	Objects  int   // complete or incomplete, without empty ones
	Bytes    int64 // read
	Findings int
	SweepOff bool // orphans are not swept until AcceptStorage
}

// fsckPosition is where Fsck is: what it has counted, and which row it compared last.
type fsckPosition struct {
	FsckResult
	After  id.Object
	Listed bool // all rows were compared
}

// fsckBatch is how many rows one query of Fsck returns.
const fsckBatch = 500

// Fsck compares the blob store with the rows: each complete object by its SHA-256, each incomplete one by its length. It
// also finds bytes without a row. It passes each discrepancy to report and changes nothing, except that it finishes complete
// objects in the store, as a download does. It may run beside a working server.
func (s *Service) Fsck(ctx context.Context, report func(Finding) error) (FsckResult, error) {
	var at fsckPosition
	err := s.fsck(ctx, &at, report, func() error { return nil })
	return at.FsckResult, err
}

// fsck is Fsck from a position on, which it moves. It calls passed after each row, and when all rows were compared.
func (s *Service) fsck(ctx context.Context, at *fsckPosition, report func(Finding) error, passed func() error) error {
	found := func(f Finding) error {
		at.Findings++
		return report(f)
	}
	for !at.Listed {
		rows, err := s.store.StoredObjects(ctx, at.After, fsckBatch)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := s.fsckRow(ctx, row, at, found); err != nil {
				return err
			}
			at.After = row.UID
			if err := passed(); err != nil {
				return err
			}
		}
		at.Listed = len(rows) < fsckBatch
	}
	if err := passed(); err != nil {
		return err
	}
	mark, err := s.checkMark(ctx)
	if err != nil && !errors.Is(err, errSweepOff) {
		return err
	}
	at.SweepOff = err != nil
	return s.orphans(ctx, func(i blob.Info, o id.Object) error {
		state := "unfinished"
		if i.Finished {
			state = "finished"
			at.SweepOff = at.SweepOff || i.Modified.After(mark.Accepted)
		}
		return found(Finding{Kind: FindingOrphan, Object: o, Detail: fmt.Sprintf("%d bytes, %s, changed %s", i.Size, state, i.Modified.UTC().Format(time.RFC3339))})
	})
}

// fsckRow compares one object with its row, and counts it.
func (s *Service) fsckRow(ctx context.Context, row postgres.StoredObject, at *fsckPosition, found func(Finding) error) error {
	read, finding, err := s.checkStored(ctx, row)
	if err != nil {
		return err
	}
	at.Objects++
	at.Bytes += read
	if finding == nil {
		return nil
	}
	if same, err := s.unchanged(ctx, row); err != nil || !same {
		return err
	}
	return found(*finding)
}

// unchanged reports whether a row is still as it was read, so that a finding about it is valid.
func (s *Service) unchanged(ctx context.Context, row postgres.StoredObject) (bool, error) {
	now, err := s.store.StoredObject(ctx, row.UID)
	if errors.Is(err, transfer.ErrNotFound) {
		return false, nil
	}
	writing := now.LeaseUntil.After(time.Now())
	return !writing && now.Held == row.Held && bytes.Equal(now.SHA256, row.SHA256), err
}

// checkStored compares one object with its row. The finding is nil when they agree.
func (s *Service) checkStored(ctx context.Context, row postgres.StoredObject) (read int64, _ *Finding, _ error) {
	key := blob.ObjectKey(row.Content)
	finding := func(kind, format string, args ...any) *Finding {
		return &Finding{Kind: kind, Object: row.Content, Detail: fmt.Sprintf(format, args...)}
	}
	held, err := s.blobs.Held(ctx, key)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return 0, finding(FindingLost, "%d bytes, none of them in the store", row.Held), nil
	case err != nil:
		return 0, nil, fmt.Errorf("check object %s: %w", row.UID, err)
	case held < row.Held:
		return 0, finding(FindingLost, "%d bytes, %d of them in the store", row.Held, held), nil
	case row.Held < row.IntendedSize:
		return 0, nil, nil
	}
	if row.LeaseUntil.Before(time.Now()) {
		if err := s.blobs.Finish(ctx, key, row.IntendedSize); errors.Is(err, blob.ErrSize) {
			return 0, finding(FindingDamaged, "%d bytes instead of %d", held, row.IntendedSize), nil
		} else if err != nil && !errors.Is(err, blob.ErrNotFound) {
			return 0, nil, fmt.Errorf("finish object %s: %w", row.UID, err)
		}
	}
	r, err := s.blobs.Open(ctx, key)
	if errors.Is(err, blob.ErrNotFound) {
		return 0, finding(FindingLost, "%d bytes, not finished in the store", row.Held), nil
	}
	if err != nil {
		return 0, nil, fmt.Errorf("open object %s: %w", row.UID, err)
	}
	defer r.Close()
	sum := sha256.New()
	pooled := buffers.Get().(*[]byte)
	defer buffers.Put(pooled)
	read, err = io.CopyBuffer(sum, struct{ io.Reader }{r}, *pooled)
	switch {
	case ctx.Err() != nil:
		return read, nil, context.Cause(ctx)
	case err != nil:
		return read, finding(FindingDamaged, "unreadable after %d bytes: %v", read, err), nil
	case read != row.IntendedSize:
		return read, finding(FindingDamaged, "%d bytes instead of %d", read, row.IntendedSize), nil
	case !bytes.Equal(sum.Sum(nil), row.SHA256):
		return read, finding(FindingDamaged, "the SHA-256 is %x instead of %x", sum.Sum(nil), row.SHA256), nil
	}
	return read, nil, nil
}
