// Encrypted objects that are written in parts at once. The place of each run is known before it is written.

package sealed

import (
	"context"
	"fmt"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
)

// plannedRun is the length of all runs of a planned object but the last one. So the place of every run is known before it is
// written, and parts that begin at multiples of it are encrypted independently of each other. A run that was interrupted is
// written again under another salt.
const plannedRun = blob.Granule

// plannedLayout returns the layout of a planned object of size bytes.
func plannedLayout(size int64) (l layout) {
	if whole := size / plannedRun; whole > 0 {
		l = append(l, run{count: whole, stored: plannedRun})
	}
	if rest := size % plannedRun; rest > 0 {
		l = append(l, run{count: 1, stored: rest})
	}
	return l
}

// plannedCipher returns the stored offset of the run that begins at an offset of a planned object.
func plannedCipher(offset int64) int64 { return offset / plannedRun * cipherLength(plannedRun) }

// Plan implements blob.Store. The row has the whole layout from the start.
func (s *Store) Plan(ctx context.Context, key blob.Key, d blob.Division) (int64, error) {
	if err := blob.Begin(ctx, key); err != nil {
		return 0, err
	}
	uid, err := id.Parse[id.Object](string(key))
	if err != nil || !s.on {
		return s.inner.Plan(ctx, key, d)
	}
	old, err := s.load(ctx, uid)
	if err != nil {
		return 0, err
	}
	o := s.newObject(uid)
	o.layout = plannedLayout(d.Size)
	if old != nil {
		o.version = old.version
	}
	unit := cipherLength(plannedRun)
	part, err := s.inner.Plan(ctx, sealedKey(uid), blob.Division{Size: o.layout.storedSize(), Part: plannedCipher(d.Part), Unit: unit})
	if err != nil {
		return 0, err
	}
	return part / unit * plannedRun, s.save(ctx, o)
}

// AppendAt implements blob.Store.
func (s *Store) AppendAt(ctx context.Context, key blob.Key, begin, offset int64) (blob.Writer, error) {
	if err := blob.BeginAt(ctx, key, begin, offset); err != nil {
		return nil, err
	}
	return choose(ctx, s, key, blob.ErrGap,
		func() (blob.Writer, error) { return s.inner.AppendAt(ctx, key, begin, offset) },
		func(o *object) (blob.Writer, error) {
			if begin%plannedRun != 0 || offset%plannedRun != 0 || offset > o.layout.size() {
				return nil, fmt.Errorf("append to blob %s: %w: no run begins at %d", key, blob.ErrGap, offset)
			}
			inner, err := s.inner.AppendAt(ctx, sealedKey(o.uid), plannedCipher(begin), plannedCipher(offset))
			if err != nil {
				return nil, err
			}
			return &plannedWriter{writer: writer{store: s, object: o, inner: inner, held: offset, start: offset}, end: o.layout.size()}, nil
		})
}

// OpenPlanned implements blob.Store.
func (s *Store) OpenPlanned(ctx context.Context, key blob.Key, held, size int64) (blob.Reader, error) {
	if err := blob.Begin(ctx, key); err != nil {
		return nil, err
	}
	return choose(ctx, s, key, blob.ErrNotFound,
		func() (blob.Reader, error) { return s.inner.OpenPlanned(ctx, key, held, size) },
		func(o *object) (blob.Reader, error) {
			whole := o.layout.storedSize()
			stored := plannedCipher(held)
			if held == size {
				stored = whole
			}
			inner, err := s.inner.OpenPlanned(ctx, sealedKey(o.uid), stored, whole)
			if err != nil {
				return nil, err
			}
			return newReader(o, inner), nil
		})
}

// plannedWriter writes runs of a fixed length into a planned object. It never changes the row.
type plannedWriter struct {
	writer
	end int64 // of the object
}

// Write implements io.Writer.
func (w *plannedWriter) Write(p []byte) (int, error) {
	taken := 0
	for len(p) > 0 {
		left := min(plannedRun, w.end-w.start) - w.length
		if left <= 0 {
			return taken, fmt.Errorf("write blob %s: it has %d bytes only", w.object.uid, w.end)
		}
		n, err := w.writer.Write(p[:min(int64(len(p)), left)])
		taken, p = taken+n, p[n:]
		if err != nil {
			return taken, err
		}
		if int64(n) < left {
			continue
		}
		if w.failed = w.flush(true); w.failed != nil {
			return taken, w.failed
		}
		w.start, w.length = w.start+w.length, 0
	}
	return taken, nil
}

// Sync implements blob.Writer. A run counts when it is complete. The current one goes on.
func (w *plannedWriter) Sync() (int64, error) {
	if w.failed != nil {
		return w.held, w.failed
	}
	stored, err := w.inner.Sync()
	if err != nil {
		w.failed = err
		return w.held, err
	}
	w.held = max(w.held, min(w.start, w.object.layout.within(stored)/plannedRun*plannedRun))
	if stored == w.object.layout.storedSize() {
		w.held = w.end
	}
	return w.held, nil
}
