package sealed

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/consign-dev/consign/internal/blob"
)

// reader decrypts a segment. It gives out bytes only of blocks that are authentic.
type reader struct {
	segment *segment
	inner   blob.Reader
	places  []place
	size    int64
	at      int64 // offset in the segment
	innerAt int64 // offset in the stored segment

	buffers *readBuffers
	plain   []byte // decrypted bytes
	from    int64  // offset of plain in the segment
	run     runCipher
	runAt   int64 // offset of the run that the cipher is for; -1: none
}

type readBuffers struct {
	header [headerSize]byte
	stored [cipherSize]byte
}

var readPool = sync.Pool{New: func() any { return new(readBuffers) }}

func newReader(o *segment, inner blob.Reader) *reader {
	return &reader{segment: o, inner: inner, places: o.layout.places(), size: o.layout.size(), runAt: -1}
}

// Read implements io.Reader.
// Errors: ErrDamaged.
func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	chunk, err := r.chunk()
	if err != nil {
		return 0, err
	}
	n := copy(p, chunk)
	r.at += int64(n)
	return n, nil
}

// WriteTo implements io.WriterTo, which saves a copy.
func (r *reader) WriteTo(w io.Writer) (written int64, err error) {
	for {
		chunk, err := r.chunk()
		if errors.Is(err, io.EOF) {
			return written, nil
		}
		if err != nil {
			return written, err
		}
		n, err := w.Write(chunk)
		r.at += int64(n)
		written += int64(n)
		if err != nil {
			return written, fmt.Errorf("write: %w", err)
		}
	}
}

// chunk returns decrypted bytes from the current offset on.
func (r *reader) chunk() ([]byte, error) {
	if r.at >= r.size {
		return nil, io.EOF
	}
	if r.at < r.from || r.at >= r.from+int64(len(r.plain)) {
		if err := r.load(); err != nil {
			r.plain = nil
			return nil, fmt.Errorf("read blob %s at %d: %w", r.segment.uid, r.at, err)
		}
	}
	return r.plain[r.at-r.from:], nil
}

// load decrypts the block with the current offset.
func (r *reader) load() error {
	if r.buffers == nil {
		r.buffers = readPool.Get().(*readBuffers)
	}
	p := find(r.places, r.at)
	if r.runAt != p.plain {
		header := r.buffers.header[:]
		if err := r.fill(header, p.cipher); err != nil {
			return err
		}
		var err error
		if r.run, err = openRun(r.segment.key, header, r.segment.uid, p.plain); err != nil {
			return err
		}
		r.runAt = p.plain
	}
	number := blockAt(r.at - p.plain)
	begin := plainStart(number)
	end := min(plainStart(number+1), p.stored)
	stored := r.buffers.stored[:end-begin+tagSize]
	if err := r.fill(stored, p.cipher+cipherStart(number)); err != nil {
		return err
	}
	plain, err := r.run.open(stored, number, end == p.stored && !p.open)
	if err != nil {
		return err
	}
	r.plain, r.from = plain[:min(end, p.visible())-begin], p.plain+begin
	return nil
}

// fill reads stored bytes at an offset. Missing ones are damage.
func (r *reader) fill(b []byte, at int64) error {
	if at != r.innerAt {
		if _, err := r.inner.Seek(at, io.SeekStart); err != nil {
			return err
		}
		r.innerAt = at
	}
	n, err := io.ReadFull(r.inner, b)
	r.innerAt += int64(n)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: they end too early", ErrDamaged)
	}
	return err
}

// Seek implements io.Seeker.
func (r *reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, fmt.Errorf("read blob %s: negative offset", r.segment.uid)
	}
	r.at = offset
	return offset, nil
}

// Close implements io.Closer.
func (r *reader) Close() error {
	if r.buffers != nil {
		readPool.Put(r.buffers)
		r.buffers, r.plain = nil, nil
	}
	return r.inner.Close()
}
