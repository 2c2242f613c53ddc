package content

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/time/rate"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Finding is a discrepancy between the blob store and the rows.
type Finding struct {
	Kind   string    // FindingLost, FindingDamaged or FindingOrphan
	Object id.Object // its content; of an orphan the segment
	Detail string
}

// The kinds of findings.
const (
	FindingLost    = "lost"    // the store lacks bytes that a row claims
	FindingDamaged = "damaged" // the bytes do not match the row
	FindingOrphan  = "orphan"  // the store has bytes without a row
)

// FsckOptions say what Fsck reads.
type FsckOptions struct {
	Sample float64   // share of the objects, drawn by chance, with which it does not look for orphans; 0: all
	After  id.Object // goes on after this object; zero: from the first one

	Progress func(Progress) // is called after each object; nil: nobody looks
}

// Progress is how far a command over all objects is. Its counts include objects in which it found nothing to do.
type Progress struct {
	Objects, TotalObjects int64
	Bytes, TotalBytes     int64
}

// progress returns a function that counts an object and tells how far the command is.
func (s *Service) progress(ctx context.Context, tell func(Progress)) (passed func(bytes int64), err error) {
	if tell == nil {
		return func(int64) {}, nil
	}
	size, err := s.store.StorageSize(ctx)
	if err != nil {
		return nil, err
	}
	p := Progress{TotalObjects: size.Objects, TotalBytes: size.Bytes}
	tell(p)
	return func(bytes int64) {
		p.Objects++
		p.Bytes += bytes
		tell(p)
	}, nil
}

// FsckResult counts what Fsck has checked.
type FsckResult struct {
	Objects  int   // complete or incomplete, without empty ones
	Bytes    int64 // read
	Findings int
	SweepOff bool      // orphans are not swept until AcceptStorage
	Last     id.Object // that was compared
}

// fsckPosition is where Fsck is: what it has counted, and which row it compared last.
type fsckPosition struct {
	FsckResult
	After  id.Object
	Listed bool // all rows were compared

	sample float64       // share of the objects that are read; 0: all
	pace   *rate.Limiter // bytes a second; nil: full speed
}

// fsckBatch is how many rows one query of Fsck returns.
const fsckBatch = 500

// Fsck compares the blob store with the rows: each segment by its length, each complete object by its SHA-256. It
// also finds bytes without a row. It passes each discrepancy to report. Of what is stored it changes nothing, except that it finishes
// complete objects, as a download does; lost and damaged contents are marked, and those in order are no longer. It may run beside a working
// server.
func (s *Service) Fsck(ctx context.Context, o FsckOptions, report func(Finding) error) (FsckResult, error) {
	at := fsckPosition{After: o.After, sample: o.Sample}
	passed, err := s.progress(ctx, o.Progress)
	if err != nil {
		return FsckResult{}, err
	}
	counted, read := id.Object{}, int64(0)
	err = s.fsck(ctx, &at, report, func() error {
		if at.After != counted {
			passed(at.Bytes - read)
			counted, read = at.After, at.Bytes
		}
		return nil
	})
	at.Last = at.After
	return at.FsckResult, err
}

// fsck runs Fsck from at on and advances it. It calls passed after each row, and when all rows were compared.
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
			if at.sample == 0 || drawn(at.sample) {
				if err := s.fsckRow(ctx, row, at, found); err != nil {
					return err
				}
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
	if at.sample > 0 {
		return nil
	}
	mark, err := s.checkMark(ctx)
	if err != nil && !errors.Is(err, errSweepOff) {
		return err
	}
	at.SweepOff = err != nil
	return s.orphans(ctx, func(i blob.Info, g id.Segment) error {
		state := "unfinished"
		if i.Finished {
			state = "finished"
			at.SweepOff = at.SweepOff || i.Modified.After(mark.Accepted)
		}
		return found(Finding{Kind: FindingOrphan, Object: id.Object(g),
			Detail: fmt.Sprintf("%d bytes, %s, changed %s", i.Size, state, i.Modified.UTC().Format(time.RFC3339))})
	})
}

// drawn reports, by chance, whether an object belongs to a sample of a share of all.
func drawn(share float64) bool {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return float64(binary.BigEndian.Uint64(b[:])) < share*(1<<64)
}

// fsckRow compares one object with its row, and counts it.
func (s *Service) fsckRow(ctx context.Context, row postgres.StoredObject, at *fsckPosition, found func(Finding) error) error {
	segments, err := s.store.Segments(ctx, row.Content)
	if err != nil {
		return err
	}
	read, finding, err := s.checkStored(ctx, row, segments, at.pace)
	if err != nil {
		return err
	}
	if err := turn(ctx, at.pace, int(scrubFile-read)); err != nil {
		return err
	}
	at.Objects++
	at.Bytes += read
	if finding == nil {
		if read > 0 {
			s.checks.save(row.Content, true, s.now())
		}
		if row.Damaged {
			return s.clearDamage(ctx, row.Content)
		}
		return nil
	}
	if same, err := s.unchanged(ctx, row, segments); err != nil || !same {
		return err
	}
	s.checks.save(row.Content, false, s.now())
	s.markDamaged(ctx, row.Content, finding.Detail)
	return found(*finding)
}

// CheckListed compares a complete content, of which a list says size and SHA-256, with its row and its stored bytes. The finding is nil
// when all agree.
func (s *Service) CheckListed(ctx context.Context, content id.Object, size int64, sum []byte) (*Finding, error) {
	row, err := s.store.StoredContent(ctx, content)
	switch {
	case errors.Is(err, transfer.ErrNotFound):
		return &Finding{Kind: FindingLost, Object: content, Detail: "the database does not have it"}, nil
	case err != nil:
		return nil, err
	case row.IntendedSize != size || !bytes.Equal(row.SHA256, sum):
		return &Finding{Kind: FindingDamaged, Object: content, Detail: "size or SHA-256 are others in the database than in the list"}, nil
	}
	segments, err := s.store.Segments(ctx, content)
	if err != nil {
		return nil, err
	}
	_, finding, err := s.checkStored(ctx, row, segments, nil)
	return finding, err
}

// unchanged reports whether rows are still as they were read, so that a finding about them is valid.
func (s *Service) unchanged(ctx context.Context, row postgres.StoredObject, segments []postgres.Segment) (bool, error) {
	now, err := s.store.StoredObject(ctx, row.UID)
	if errors.Is(err, transfer.ErrNotFound) {
		return false, nil
	}
	if err != nil || now.Held != row.Held || !bytes.Equal(now.SHA256, row.SHA256) {
		return false, err
	}
	list, err := s.store.Segments(ctx, row.Content)
	if err != nil || len(list) != len(segments) {
		return false, err
	}
	for i, g := range list {
		if g.Held != segments[i].Held || g.LeaseUntil.After(time.Now()) {
			return false, nil
		}
	}
	return true, nil
}

// checkStored compares the segments of one object with their rows, and with the sum of a complete object. The finding is nil when they
// agree. An error says nothing about the bytes: the check ends, or the storage is away.
func (s *Service) checkStored(ctx context.Context, row postgres.StoredObject,
	segments []postgres.Segment, pace *rate.Limiter) (read int64, _ *Finding, _ error) {
	for _, g := range segments {
		if finding, err := s.checkSegment(ctx, row, g); finding != nil || err != nil {
			return 0, finding, err
		}
	}
	if row.Held < row.IntendedSize {
		return 0, nil, nil
	}
	r := s.read(ctx, segments)
	defer r.Close()
	sum := sha256.New()
	pooled := buffers.Get().(*[]byte)
	defer buffers.Put(pooled)
	paced := &pacedReader{Reader: r, ctx: ctx, pace: pace}
	read, err := io.CopyBuffer(sum, paced, *pooled)
	switch {
	case ctx.Err() != nil:
		return read, nil, context.Cause(ctx)
	case paced.late != nil:
		return read, nil, paced.late
	case errors.Is(err, blob.ErrAway):
		return read, nil, fmt.Errorf("check object %s: %w", row.UID, err)
	case errors.Is(err, blob.ErrNotFound):
		return read, findingOf(row, FindingLost, "%d bytes, segment %d is not finished in the store", row.Held, r.position().Number), nil
	case err != nil:
		return read, findingOf(row, FindingDamaged, "unreadable after %d bytes: %v", read, err), nil
	case read != row.IntendedSize:
		return read, findingOf(row, FindingDamaged, "%d bytes instead of %d", read, row.IntendedSize), nil
	case !bytes.Equal(sum.Sum(nil), row.SHA256):
		return read, findingOf(row, FindingDamaged, "the SHA-256 is %x instead of %x", sum.Sum(nil), row.SHA256), nil
	}
	return read, nil, nil
}

// turn waits until a check may read n more bytes; pace nil: at once. Shortly before ctx's deadline it returns jobs.Again, because a limiter
// refuses a wait that ends after it.
func turn(ctx context.Context, pace *rate.Limiter, n int) error {
	switch {
	case pace == nil || n <= 0:
		return nil
	case jobs.DeadlineNear(ctx):
		return jobs.Again(0)
	}
	if err := pace.WaitN(ctx, n); err != nil {
		return fmt.Errorf("wait for the pace: %w", err)
	}
	return nil
}

// pacedReader reads at the pace of a limiter; nil: at full speed. A buffer is at most the limiter's burst.
type pacedReader struct {
	io.Reader
	ctx  context.Context //nolint:containedctx // of one read of an object
	pace *rate.Limiter
	late error // of turn
}

// Read implements io.Reader.
func (p *pacedReader) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if p.late = turn(p.ctx, p.pace, n); p.late != nil {
		return n, p.late
	}
	return n, err //nolint:wrapcheck // io.EOF
}

// checkSegment compares what the store holds of a segment with its row. A complete one is finished in the store.
func (s *Service) checkSegment(ctx context.Context, row postgres.StoredObject, g postgres.Segment) (*Finding, error) {
	if g.Held == 0 {
		return nil, nil //nolint:nilnil // nothing is claimed
	}
	held, err := s.blobs.Held(ctx, blob.SegmentKey(g.UID))
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return findingOf(row, FindingLost, "segment %d: %d bytes, none of them in the store", g.Number, g.Held), nil
	case err != nil:
		return nil, fmt.Errorf("check object %s: %w", row.UID, err)
	case held < g.Held:
		return findingOf(row, FindingLost, "segment %d: %d bytes, %d of them in the store", g.Number, g.Held, held), nil
	case !g.Complete() || g.LeaseUntil.After(time.Now()):
		return nil, nil //nolint:nilnil // nothing more is claimed
	}
	switch err := s.blobs.Finish(ctx, blob.SegmentKey(g.UID), g.Size); {
	case errors.Is(err, blob.ErrSize):
		return findingOf(row, FindingDamaged, "segment %d: %d bytes instead of %d", g.Number, held, g.Size), nil
	case err != nil && !errors.Is(err, blob.ErrNotFound):
		return nil, fmt.Errorf("finish object %s: %w", row.UID, err)
	}
	return nil, nil //nolint:nilnil // they agree
}

func findingOf(row postgres.StoredObject, kind, format string, args ...any) *Finding {
	return &Finding{Kind: kind, Object: row.Content, Detail: fmt.Sprintf(format, args...)}
}
