package sealed

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/consign-dev/consign/internal/blob"
)

// writer encrypts what is appended to a segment. It holds a block back until it knows whether it is the last one of its run.
type writer struct {
	store   *Store
	segment *segment
	inner   blob.Writer
	held    int64 // bytes of the segment that the last Sync has reported
	start   int64 // offset of the current run
	unsaved bool  // the row differs from the layout

	buffers *writeBuffers // nil: no run has begun
	run     runCipher
	plain   []byte // bytes of the block that is held back
	out     []byte // encrypted blocks that inner does not have yet
	blocks  int64  // encrypted
	length  int64  // bytes of the run, with those held back
	failed  error
}

// batch is how many blocks are written at once.
const batch = 4

type writeBuffers struct {
	plain [plainSize]byte
	out   [batch * cipherSize]byte
}

var writePool = sync.Pool{New: func() any { return new(writeBuffers) }}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	taken := 0
	for len(p) > 0 {
		if w.failed != nil {
			return taken, w.failed
		}
		if w.length == 0 {
			if err := w.beginRun(); err != nil {
				return taken, err
			}
		}
		if len(w.plain) == cap(w.plain) {
			if w.failed = w.flush(false); w.failed != nil {
				return taken, w.failed
			}
		}
		n := copy(w.plain[len(w.plain):cap(w.plain)], p)
		w.plain = w.plain[:len(w.plain)+n]
		w.length += int64(n)
		taken, p = taken+n, p[n:]
	}
	return taken, nil
}

// beginRun writes the header of a run and prepares its first block.
func (w *writer) beginRun() error {
	if len(w.segment.layout) >= maxRuns {
		return fmt.Errorf("write blob %s: it is in too many pieces", w.segment.uid)
	}
	if w.buffers == nil {
		w.buffers = writePool.Get().(*writeBuffers)
	}
	run, header, err := newRun(w.segment.key, w.segment.uid, w.start)
	if err != nil {
		return err
	}
	w.run, w.blocks = run, 0
	w.plain, w.out = w.buffers.plain[:0:firstSize], w.buffers.out[:0]
	_, err = w.inner.Write(header)
	return err
}

// flush encrypts the block that is held back, and writes what is encrypted if it is a batch or the end of the run.
func (w *writer) flush(last bool) error {
	w.out = w.run.seal(w.out, w.plain, w.blocks, last)
	w.blocks++
	w.plain = w.buffers.plain[:0]
	if !last && len(w.out)+cipherSize <= cap(w.out) {
		return nil
	}
	_, err := w.inner.Write(w.out)
	w.out = w.buffers.out[:0]
	return err
}

// endRun writes the last block of the run and adds the run to the layout.
func (w *writer) endRun() error {
	if w.length == 0 {
		return nil
	}
	if err := w.flush(true); err != nil {
		return err
	}
	w.segment.layout = w.segment.layout.add(run{stored: w.length})
	w.start += w.length
	w.length = 0
	w.unsaved = true
	return nil
}

// Sync implements blob.Writer. The run ends: the next byte begins another one.
func (w *writer) Sync() (int64, error) {
	if w.failed == nil {
		w.failed = w.sync()
	}
	return w.held, w.failed
}

func (w *writer) sync() error {
	if err := w.endRun(); err != nil {
		return err
	}
	stored, err := w.inner.Sync()
	if err != nil {
		return err
	}
	if want := w.segment.layout.storedSize(); stored != want {
		return fmt.Errorf("sync blob %s: the store holds %d bytes instead of %d", w.segment.uid, stored, want)
	}
	if err := w.save(); err != nil {
		return err
	}
	w.held = w.start
	return nil
}

// save stores the row if it must change, also when the client has left.
func (w *writer) save() error {
	if !w.unsaved {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), rowTimeout)
	defer cancel()
	err := w.store.save(ctx, w.segment)
	w.unsaved = err != nil
	return err
}

// Close implements blob.Writer. It writes nothing: another Writer may have the segment by now.
func (w *writer) Close() error {
	if w.failed == nil {
		w.failed = errClosed
	}
	return w.release()
}

// release gives back what the writer has opened.
func (w *writer) release() error {
	if w.buffers != nil {
		writePool.Put(w.buffers)
		w.buffers = nil
	}
	return w.inner.Close()
}

var errClosed = errors.New("writer is closed")
