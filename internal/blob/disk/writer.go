package disk

import (
	"errors"

	"github.com/consign-dev/consign/internal/blob"
)

const (
	// reserveAhead is how much space is reserved at a time. Reserving the whole object at once would let a stranger
	// who announces 50 GB and sends one byte fill the disk.
	reserveAhead = 16 << 20
	// writebackEvery is how much is written before the kernel is asked to start moving it to the disk, so that the
	// fsync at the end finds little left to do (BenchmarkAppend: 1.2 to 1.5 times the throughput of a bare copy).
	writebackEvery = 8 << 20
)

// writer appends to an unfinished object.
type writer struct {
	store    *Store
	key      blob.Key
	file     File
	at       int64 // where the next byte goes
	held     int64 // bytes known to be durable
	size     int64 // bytes expected in the end, 0 = unknown
	reserved int64 // end of the reserved space
	kicked   int64 // end of what was handed to early writeback
	newEntry bool  // the directory entry is not known to be durable
	err      error // the first failure of Sync: the kernel forgets it, so we must not
}

// Write implements io.Writer. The writer is no io.ReaderFrom on purpose: io.CopyBuffer would ignore its buffer and use one of
// 32 KiB, which costs two to three times the processor time of 256 KiB.
func (w *writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	w.reserve(w.at + int64(len(p)))
	n, err := w.file.WriteAt(p, w.at)
	w.at += int64(n)
	if err != nil {
		return n, w.store.failed("write", w.key, err)
	}
	if w.at-w.kicked >= writebackEvery {
		w.file.Writeback(w.kicked, w.at-w.kicked)
		w.kicked = w.at
	}
	return n, nil
}

// reserve sees to it that space up to end is reserved, as far as the announced size goes. A failure is no matter
// here: if the space is really needed, the write will say so.
func (w *writer) reserve(end int64) {
	if end <= w.reserved || w.reserved >= w.size {
		return
	}
	n := min(max(reserveAhead, end-w.reserved), w.size-w.reserved)
	err := w.file.Reserve(w.reserved, n)
	if err != nil {
		w.size = 0 // do without from here on
		if !errors.Is(err, errors.ErrUnsupported) {
			_ = w.file.Truncate(w.at) // a disk that is nearly full may have given a part, which others need now
		}
		return
	}
	w.reserved += n
}

// Sync implements blob.Writer.
func (w *writer) Sync() (int64, error) {
	if w.err != nil {
		return w.held, w.err
	}
	if err := w.file.Sync(); err != nil {
		w.err = w.store.failed("sync", w.key, err)
		return w.held, w.err
	}
	if w.newEntry {
		if err := w.store.fs.SyncDir(w.store.uploads); err != nil {
			w.err = w.store.failed("sync", w.key, err)
			return w.held, w.err
		}
		w.newEntry = false
	}
	w.held = w.at
	return w.held, nil
}

// Close implements blob.Writer. It gives back space that was reserved and not used, and after a failed Sync cuts off
// what the kernel may have lost, so that no later fsync can seem to vouch for it.
func (w *writer) Close() error {
	end := w.at
	if w.err != nil {
		end = w.held
	}
	if w.reserved > end || w.err != nil {
		// Failing that, the next Append cuts, and until then the space stays reserved.
		_ = w.file.Truncate(end)
	}
	if err := w.file.Close(); err != nil {
		return w.store.failed("close", w.key, err)
	}
	return nil
}
