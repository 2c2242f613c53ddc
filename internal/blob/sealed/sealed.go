// Package sealed encrypts segments before another blob.Store gets them (contract 4.24).
//
// Every segment has a random key. The key, sealed, and the layout of the segment are in a row of the database (Rows). Without the row
// nobody can read the bytes. The encrypted bytes lie under the segment's key with a suffix, so that nobody takes them for plain ones.
//
// A segment is a sequence of runs. A run is what one Writer has written between two calls of Sync. It is encrypted on its own, with a key
// derived from the segment's key, a random salt and its offset, and never written again: no nonce is used twice. blocks.go has its
// format, layout.go the list of runs.
//
// Objects that are stored in plain stay readable. Blobs that are no segments, as the storage mark, are passed on unencrypted.
package sealed

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
)

// suffix ends the key of encrypted bytes.
const suffix = "-sealed"

// rowTimeout bounds the saving of a row for an upload whose client has left.
const rowTimeout = 10 * time.Second

// listBatch is how many rows List loads at once.
const listBatch = 500

// Row is what the database has about a segment.
type Row struct {
	Segment id.Segment
	Object  id.Object // that it belongs to; zero: to none
	Number  int       // its place there
	Key     []byte    // sealed
	Layout  []byte
	Version int64 // how often the layout was saved; 0 means that the segment is not encrypted
}

// Binding returns what a key is sealed for: the segment, its object and its place. So segments cannot be exchanged by who can write to the
// database, and a segment gets another object by sealing its key again.
func (r Row) Binding() []byte {
	return binary.BigEndian.AppendUint32(append(r.Segment.UUID[:], r.Object.UUID[:]...), uint32(r.Number))
}

// Rows stores the rows. transfer/postgres implements it.
type Rows interface {
	// SealedSegments returns the rows of segments, also of those that are not encrypted.
	SealedSegments(ctx context.Context, segments []id.Segment) (map[id.Segment]Row, error)
	// SaveSealedSegment stores the layout of a row, and the key of a new one, under the next version. It reports false when the stored version
	// is not that of r.
	SaveSealedSegment(ctx context.Context, r Row) (bool, error)
	// DeleteSealedSegment deletes a row. It is idempotent.
	DeleteSealedSegment(ctx context.Context, o id.Segment) error
}

// Box seals keys for the database. seal.Box implements it.
type Box interface {
	Seal(plain, aad []byte) []byte
	Open(sealed, aad []byte) ([]byte, error)
}

// Options are the dependencies of a Store.
type Options struct {
	Inner blob.Store
	Rows  Rows
	Box   Box
	On    bool // encrypt new segments; others are read in any case
}

// Store is a blob.Store that encrypts segments. A segment keeps the form in which it began: Append at offset 0 chooses it, and the caller
// deletes what was there before.
//
// It differs from the contract of blob.Store in what was written since the last Sync: it is not part of the segment when the Writer is
// closed, or has met ErrFull. A block is complete only at its end.
type Store struct {
	inner blob.Store
	rows  Rows
	box   Box
	on    bool
}

var _ blob.Store = (*Store)(nil)

// New makes a Store.
func New(o Options) *Store { return &Store{inner: o.Inner, rows: o.Rows, box: o.Box, on: o.On} }

// segment is an encrypted segment as its row says.
type segment struct {
	row    Row
	uid    id.Segment
	key    []byte
	layout layout
}

// Plain returns the key of a segment without what marks its encrypted bytes.
func Plain(key blob.Key) string { return strings.TrimSuffix(string(key), suffix) }

func sealedKey(o id.Segment) blob.Key { return blob.SegmentKey(o) + suffix }

// newKey gives a segment without a row a key.
func (s *Store) newKey(o *segment) {
	o.key = make([]byte, keySize)
	rand.Read(o.key) // never fails
	o.row.Key = s.box.Seal(o.key, o.row.Binding())
}

// load reads a segment's row. A segment whose row has no version is not encrypted.
func (s *Store) load(ctx context.Context, uid id.Segment) (*segment, error) {
	rows, err := s.rows.SealedSegments(ctx, []id.Segment{uid})
	if err != nil {
		return nil, err
	}
	o := &segment{row: rows[uid], uid: uid}
	if o.row.Version == 0 {
		return o, nil
	}
	if o.layout, err = decode(o.row.Layout); err != nil {
		return nil, fmt.Errorf("segment %s: %w", uid, err)
	}
	if o.key, err = s.box.Open(o.row.Key, o.row.Binding()); err != nil {
		return nil, fmt.Errorf("open the key of segment %s: %w", uid, err)
	}
	return o, nil
}

// save stores the row of a segment.
// Errors: errOther.
func (s *Store) save(ctx context.Context, o *segment) error {
	o.row.Layout = o.layout.encode()
	saved, err := s.rows.SaveSealedSegment(ctx, o.row)
	if err == nil && !saved {
		err = errOther
	}
	if err != nil {
		return fmt.Errorf("save the key of segment %s: %w", o.uid, err)
	}
	o.row.Version++
	return nil
}

// errOther means that another Writer has written the segment.
var errOther = errors.New("another writer has written the segment")

// choose calls plain or encrypted for a key, by the form in which the segment is stored. It asks the database only where the setting, or
// the error absent of plain, says that the segment is probably encrypted.
func choose[T any](ctx context.Context, s *Store, key blob.Key, absent error, plain func() (T, error),
	encrypted func(*segment) (T, error)) (T, error) {
	uid, err := id.Parse[id.Segment](string(key))
	if err != nil {
		return plain()
	}
	if !s.on {
		if result, err := plain(); !errors.Is(err, absent) {
			return result, err
		}
	}
	o, err := s.load(ctx, uid)
	switch {
	case err != nil:
		var none T
		return none, err
	case o.row.Version > 0:
		return encrypted(o)
	}
	return plain()
}

// Append implements blob.Store.
func (s *Store) Append(ctx context.Context, key blob.Key, offset, size int64) (blob.Writer, error) {
	if err := blob.BeginAppend(ctx, key, offset); err != nil {
		return nil, err
	}
	if uid, err := id.Parse[id.Segment](string(key)); err == nil && s.on && offset == 0 {
		return s.begin(ctx, uid, size)
	}
	return choose(ctx, s, key, blob.ErrGap,
		func() (blob.Writer, error) { return s.inner.Append(ctx, key, offset, size) },
		func(o *segment) (blob.Writer, error) { return s.resume(ctx, o, offset, size) })
}

// begin opens a Writer for a segment from its first byte on. The Writer stores the row of a new segment when it syncs.
func (s *Store) begin(ctx context.Context, uid id.Segment, size int64) (blob.Writer, error) {
	o, err := s.load(ctx, uid)
	if err != nil {
		return nil, err
	}
	if o.row.Version == 0 {
		s.newKey(o)
	}
	return s.resume(ctx, o, 0, size)
}

// resume opens a Writer at an offset of an encrypted segment.
func (s *Store) resume(ctx context.Context, o *segment, offset, size int64) (blob.Writer, error) {
	held := o.layout.size()
	if offset > held {
		return nil, fmt.Errorf("append to blob %s: %w: %d held, offset %d", o.uid, blob.ErrGap, held, offset)
	}
	o.layout = o.layout.cut(offset)
	if offset < held {
		if err := s.saveCut(ctx, o); err != nil {
			return nil, err
		}
	}
	if len(o.layout) == maxRuns {
		return nil, fmt.Errorf("append to blob %s: %w: it is in too many pieces", o.uid, blob.ErrGap)
	}
	stored := o.layout.storedSize()
	if size > 0 {
		size = stored + cipherLength(max(size-offset, 1))
	}
	inner, err := s.inner.Append(ctx, sealedKey(o.uid), stored, size)
	if err != nil {
		return nil, err
	}
	return &writer{store: s, segment: o, inner: inner, held: offset, start: offset, unsaved: o.row.Version == 0}, nil
}

// saveCut stores the row of a segment that was cut off, before the inner store cuts it.
// Errors: blob.ErrFinished.
func (s *Store) saveCut(ctx context.Context, o *segment) error {
	r, err := s.inner.Open(ctx, sealedKey(o.uid))
	if err == nil {
		_ = r.Close()
		return fmt.Errorf("append to blob %s: %w", o.uid, blob.ErrFinished)
	}
	if !errors.Is(err, blob.ErrNotFound) {
		return err
	}
	return s.save(ctx, o)
}

// Finish implements blob.Store.
func (s *Store) Finish(ctx context.Context, key blob.Key, size int64) error {
	if err := blob.Begin(ctx, key); err != nil {
		return err
	}
	type nothing struct{}
	_, err := choose(ctx, s, key, blob.ErrNotFound,
		func() (nothing, error) { return nothing{}, s.inner.Finish(ctx, key, size) },
		func(o *segment) (nothing, error) {
			if held := o.layout.size(); held != size {
				return nothing{}, fmt.Errorf("finish blob %s: %w: %d held, %d expected", key, blob.ErrSize, held, size)
			}
			return nothing{}, s.inner.Finish(ctx, sealedKey(o.uid), o.layout.storedSize())
		})
	return err
}

// Open implements blob.Store. A plain segment's Reader is that of the inner store.
func (s *Store) Open(ctx context.Context, key blob.Key) (blob.Reader, error) {
	if err := blob.Begin(ctx, key); err != nil {
		return nil, err
	}
	return choose(ctx, s, key, blob.ErrNotFound,
		func() (blob.Reader, error) { return s.inner.Open(ctx, key) },
		func(o *segment) (blob.Reader, error) {
			inner, err := s.inner.Open(ctx, sealedKey(o.uid))
			if err != nil {
				return nil, err
			}
			return newReader(o, inner), nil
		})
}

// Held implements blob.Store.
func (s *Store) Held(ctx context.Context, key blob.Key) (int64, error) {
	if err := blob.Begin(ctx, key); err != nil {
		return 0, err
	}
	return choose(ctx, s, key, blob.ErrNotFound,
		func() (int64, error) { return s.inner.Held(ctx, key) },
		func(o *segment) (int64, error) {
			stored, err := s.inner.Held(ctx, sealedKey(o.uid))
			return o.layout.within(stored), err
		})
}

// Delete implements blob.Store. The key goes first: without it the bytes are erased, wherever copies of them are.
func (s *Store) Delete(ctx context.Context, key blob.Key) error {
	if err := blob.Begin(ctx, key); err != nil {
		return err
	}
	uid, err := id.Parse[id.Segment](string(key))
	if err != nil {
		return s.inner.Delete(ctx, key)
	}
	_, err = s.inner.Held(ctx, sealedKey(uid))
	if errors.Is(err, blob.ErrNotFound) {
		return s.inner.Delete(ctx, key)
	}
	if err != nil {
		return err
	}
	if err := s.rows.DeleteSealedSegment(ctx, uid); err != nil {
		return err
	}
	if err := s.inner.Delete(ctx, sealedKey(uid)); err != nil {
		return err
	}
	_, err = s.inner.Held(ctx, key) // in plain too, while it is being encrypted
	if errors.Is(err, blob.ErrNotFound) {
		return nil
	}
	return s.inner.Delete(ctx, key)
}

// List implements blob.Store.
func (s *Store) List(ctx context.Context, fn func(blob.Info) error) error {
	var batch []blob.Info // encrypted ones, with the keys of their segments
	flush := func() error {
		segments := make([]id.Segment, 0, len(batch))
		for _, i := range batch {
			o, err := id.Parse[id.Segment](string(i.Key))
			if err != nil {
				return err
			}
			segments = append(segments, o)
		}
		rows, err := s.rows.SealedSegments(ctx, segments)
		if err != nil {
			return err
		}
		for n, i := range batch {
			l, err := decode(rows[segments[n]].Layout)
			if err != nil {
				return fmt.Errorf("segment %s: %w", i.Key, err)
			}
			i.Size = l.within(i.Size)
			if err := fn(i); err != nil {
				return err
			}
		}
		batch = batch[:0]
		return nil
	}
	err := s.inner.List(ctx, func(i blob.Info) error {
		plain, encrypted := strings.CutSuffix(string(i.Key), suffix)
		if _, err := id.Parse[id.Segment](plain); !encrypted || err != nil {
			return fn(i)
		}
		i.Key = blob.Key(plain)
		if batch = append(batch, i); len(batch) < listBatch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}
