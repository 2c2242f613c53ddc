// Reads the bytes of an object: its segments, one after the other.

package content

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// open opens the bytes of a complete object of size bytes, by transfer.Object.Content. segmented is that of the object. The caller closes
// them.
// Errors: fault.ErrUnavailable, any other of the blob store wrapped.
func (s *Service) open(ctx context.Context, o id.Object, size int64, segmented bool) (io.ReadSeekCloser, error) {
	if size == 0 {
		return empty{bytes.NewReader(nil)}, nil // there are no segments
	}
	list, err := s.segments(ctx, o, size, segmented)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 1:
		return s.openSegment(ctx, list[0])
	}
	return s.read(ctx, list), nil
}

// segments returns the segments of a complete object, which is not empty.
func (s *Service) segments(ctx context.Context, o id.Object, size int64, segmented bool) ([]postgres.Segment, error) {
	if !segmented {
		return []postgres.Segment{{UID: id.Segment(o), Object: o, Size: size, Held: size}}, nil
	}
	return s.store.Segments(ctx, o)
}

// lacks reports whether the store says itself, when asked, that it does not have all bytes of a complete segment. A read that fails does
// not say so: the network breaks, or a service lacks an object for a moment while another request finishes it.
func (s *Service) lacks(ctx context.Context, g postgres.Segment) bool {
	held, err := s.blobs.Held(ctx, blob.SegmentKey(g.UID))
	return errors.Is(err, blob.ErrNotFound) || err == nil && held != g.Size
}

// openSegment opens the bytes of a complete segment.
// Errors: fault.ErrUnavailable, any other of the blob store wrapped.
func (s *Service) openSegment(ctx context.Context, g postgres.Segment) (blob.Reader, error) {
	key := blob.SegmentKey(g.UID)
	r, err := s.blobs.Open(ctx, key)
	if errors.Is(err, blob.ErrNotFound) {
		// The server stopped after the row had all bytes and before the store had finished the segment.
		if err = s.blobs.Finish(ctx, key, g.Size); err == nil {
			r, err = s.blobs.Open(ctx, key)
			if errors.Is(err, blob.ErrNotFound) { // another request finishes it again: a service may lack it for a moment
				err = fmt.Errorf("%w: it was just there", blob.ErrAway)
			}
		}
	}
	if err != nil {
		return nil, storageError(fmt.Sprintf("open segment %d of object %s", g.Number, g.Object), err)
	}
	return r, nil
}

type empty struct{ *bytes.Reader }

func (empty) Close() error { return nil }

// reader reads segments one after the other. It opens a segment when it reaches it. One goroutine uses it.
type reader struct {
	open    func(postgres.Segment) (blob.Reader, error)
	list    []postgres.Segment
	ends    []int64 // offsets of the ends of the segments
	at      int64
	current blob.Reader // nil: none is open
	index   int         // of current
	offset  int64       // of current, in the object
}

// read returns a reader of complete segments, which may be the first ones of an object.
func (s *Service) read(ctx context.Context, list []postgres.Segment) *reader {
	r := &reader{open: func(g postgres.Segment) (blob.Reader, error) { return s.openSegment(ctx, g) }, list: list}
	for _, g := range list {
		r.ends = append(r.ends, r.size()+g.Size)
	}
	return r
}

func (r *reader) size() int64 {
	if len(r.ends) == 0 {
		return 0
	}
	return r.ends[len(r.ends)-1]
}

// segment opens the segment with the present position, and returns it and its bytes from there on. Its error is io.EOF at the end.
func (r *reader) segment() (_ blob.Reader, left int64, err error) {
	if r.at >= r.size() {
		return nil, 0, io.EOF
	}
	i := sort.Search(len(r.ends), func(i int) bool { return r.ends[i] > r.at })
	if r.current == nil || r.index != i {
		_ = r.Close()
		if r.current, err = r.open(r.list[i]); err != nil {
			r.current = nil
			return nil, 0, err
		}
		r.index, r.offset = i, r.ends[i]-r.list[i].Size
	}
	if r.offset != r.at {
		if _, err := r.current.Seek(r.at-(r.ends[i]-r.list[i].Size), io.SeekStart); err != nil {
			return nil, 0, err
		}
		r.offset = r.at
	}
	return r.current, r.ends[i] - r.at, nil
}

// position returns the segment with the present position.
func (r *reader) position() postgres.Segment {
	return r.list[min(sort.Search(len(r.ends), func(i int) bool { return r.ends[i] > r.at }), len(r.list)-1)]
}

// moved notes that bytes of the present segment were read.
func (r *reader) moved(n int64) { r.at, r.offset = r.at+n, r.offset+n }

// Read implements io.Reader. A segment that lacks bytes is io.ErrUnexpectedEOF.
func (r *reader) Read(p []byte) (int, error) {
	current, left, err := r.segment()
	if err != nil {
		return 0, err
	}
	n, err := current.Read(p[:min(int64(len(p)), left)])
	r.moved(int64(n))
	if errors.Is(err, io.EOF) {
		if err = nil; n == 0 {
			err = io.ErrUnexpectedEOF
		}
	}
	return n, err
}

// SendTo sends the next n bytes to w, each segment by itself, which the operating system can do with files.
func (r *reader) SendTo(w io.Writer, n int64) (sent int64, err error) {
	for sent < n {
		current, left, err := r.segment()
		if err != nil {
			return sent, err
		}
		copied, err := io.CopyN(w, current, min(left, n-sent))
		r.moved(copied)
		sent += copied
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// Seek implements io.Seeker.
func (r *reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size()
	}
	if offset < 0 {
		return 0, fmt.Errorf("read segments: negative offset %d", offset)
	}
	r.at = offset
	return offset, nil
}

// Close implements io.Closer.
func (r *reader) Close() error {
	if r.current == nil {
		return nil
	}
	err := r.current.Close()
	r.current = nil
	return err
}
