// Compares the SHA-256 of an object while it is read: its last bytes are given out only when it fits.

package content

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/sealed"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

const (
	// heldBack is how many bytes at the end of an object are given out only after its SHA-256 was compared.
	heldBack = 64 << 10
	// checkValid is how long a replica gives bytes out at full speed after a check that fitted.
	checkValid = 24 * time.Hour
	// mostChecks is how many results a replica remembers.
	mostChecks = 1 << 16
)

// checks are the comparisons of this replica that fitted.
type checks struct {
	mu   sync.Mutex
	fits map[id.Object]time.Time // until when the last one counts
}

// fit reports whether the bytes of a content have fitted not long ago.
func (c *checks) fit(content id.Object, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return now.Before(c.fits[content])
}

func (c *checks) save(content id.Object, fits bool, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !fits:
		delete(c.fits, content)
		return
	case c.fits == nil, len(c.fits) >= mostChecks:
		c.fits = make(map[id.Object]time.Time)
	}
	c.fits[content] = now.Add(checkValid)
}

// storedFile is what a complete object says of its stored bytes.
type storedFile struct {
	content   id.Object
	size      int64
	segmented bool
	sum       []byte // SHA-256
	damaged   bool   // the last comparison, of any replica, did not fit
}

func fileOf(o transfer.Object) storedFile {
	return storedFile{o.Content, o.IntendedSize, o.Segmented, o.SHA256, o.Damaged}
}

// openVerified is open with the SHA-256 that the bytes must have. A reader that comes to the last bytes gets them only if it fits.
// Errors: transfer.ErrDamaged while the last comparison did not fit, those of open.
func (s *Service) openVerified(ctx context.Context, f storedFile) (io.ReadSeekCloser, error) {
	if f.damaged {
		return nil, transfer.ErrDamaged
	}
	inner, err := s.open(ctx, f.content, f.size, f.segmented)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, s.missing(ctx, f, err)
	}
	if err != nil || f.size == 0 || len(f.sum) == 0 || s.checks.fit(f.content, s.now()) {
		return inner, err
	}
	v := &verified{inner: inner, size: f.size, want: f.sum, sum: sha256.New(),
		decided: func(fits bool, cause error) { s.decided(ctx, f.content, fits, cause) },
		missing: func(cause error) error { return s.missing(ctx, f, cause) }}
	if f.size <= heldBack { // nothing of it is given out before the comparison, so the client can get an answer
		if err := v.compare(); err != nil {
			_ = v.Close()
			return nil, err
		}
	}
	if linked, ok := inner.(blob.Linked); ok {
		return linkedVerified{v, linked}, nil
	}
	return v, nil
}

// decided notes the result of a comparison by a reader.
func (s *Service) decided(ctx context.Context, content id.Object, fits bool, cause error) {
	s.checks.save(content, fits, s.now())
	if !fits {
		s.markDamaged(context.WithoutCancel(ctx), content, cause.Error())
	}
}

// missing returns the error for an object that could not be read because the storage said that it lacks bytes of it: transfer.ErrNotFound
// when they were deleted meanwhile, fault.ErrUnavailable when the storage has them after all, otherwise transfer.ErrDamaged.
func (s *Service) missing(ctx context.Context, f storedFile, cause error) error {
	ctx = context.WithoutCancel(ctx)
	discarded, err := s.store.Discarded(ctx, f.content)
	switch {
	case err != nil:
		return err
	case discarded:
		return transfer.ErrNotFound.Because(cause)
	}
	list, err := s.segments(ctx, f.content, f.size, f.segmented)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(g postgres.Segment) bool { return s.lacks(ctx, g) }) {
		return storageError("read object", fmt.Errorf("%w: it lacked bytes for a moment: %w", blob.ErrAway, cause))
	}
	s.decided(ctx, f.content, false, cause)
	return transfer.ErrDamaged.Because(cause)
}

// linkedVerified is a verified reader of a store that can serve the object itself.
type linkedVerified struct {
	*verified
	blob.Linked
}

// verified reads an object and compares its sum. One goroutine uses it.
type verified struct {
	inner   io.ReadSeekCloser
	size    int64
	want    []byte
	decided func(fits bool, cause error)
	missing func(cause error) error

	at     int64 // offset of the next byte
	inAt   int64 // offset of inner
	sum    hash.Hash
	summed int64 // bytes that sum has
	fits   bool
	err    error // of reading
}

// Trouble returns why reading has ended early: http.ServeContent does not tell.
// Errors: transfer.ErrDamaged, transfer.ErrNotFound, fault.ErrUnavailable.
func (v *verified) Trouble() error { return v.err }

// fill reads from inner at an offset, and adds what comes next to the sum.
func (v *verified) fill(p []byte, at int64) (int, error) {
	if v.inAt != at {
		if _, err := v.inner.Seek(at, io.SeekStart); err != nil {
			return 0, fmt.Errorf("seek: %w", err)
		}
		v.inAt = at
	}
	n, err := v.inner.Read(p)
	v.inAt += int64(n)
	if at == v.summed {
		v.sum.Write(p[:n])
		v.summed += int64(n)
	}
	return n, err //nolint:wrapcheck // io.EOF
}

// compare reads what the sum lacks, and compares it.
// Errors: transfer.ErrDamaged.
func (v *verified) compare() error {
	if v.fits || v.err != nil {
		return v.err
	}
	pooled := buffers.Get().(*[]byte)
	defer buffers.Put(pooled)
	var cause error
	for v.summed < v.size && cause == nil {
		p := *pooled
		n, err := v.fill(p[:min(int64(len(p)), v.size-v.summed)], v.summed)
		if n == 0 && err != nil {
			cause = fmt.Errorf("after %d of %d bytes: %w", v.summed, v.size, err)
		}
	}
	if got := v.sum.Sum(nil); cause == nil && !bytes.Equal(got, v.want) {
		cause = fmt.Errorf("%w: %x instead of %x", errSum, got, v.want)
	}
	if v.fits = cause == nil; v.fits {
		v.decided(true, nil)
		return nil
	}
	return v.fail(cause)
}

// fail notes why reading ends. A storage that is away, a client that has left, and a purge meanwhile say nothing about the bytes.
func (v *verified) fail(cause error) error {
	if errors.Is(cause, blob.ErrNotFound) {
		v.err = v.missing(cause)
		return v.err
	}
	v.err = storageError("read object", cause)
	if !errors.Is(cause, blob.ErrAway) && slices.ContainsFunc([]error{errSum, sealed.ErrDamaged, io.EOF, io.ErrUnexpectedEOF},
		func(e error) bool { return errors.Is(cause, e) }) {
		v.decided(false, cause)
		v.err = transfer.ErrDamaged.Because(cause)
	}
	return v.err
}

// Read implements io.Reader.
// Errors: transfer.ErrDamaged.
func (v *verified) Read(p []byte) (int, error) {
	switch tail := max(0, v.size-heldBack); {
	case v.err != nil:
		return 0, v.err
	case v.at >= v.size:
		return 0, io.EOF
	case v.fits:
	case v.at >= tail:
		if err := v.compare(); err != nil {
			return 0, err
		}
	default:
		p = p[:min(int64(len(p)), tail-v.at)]
	}
	n, err := v.fill(p, v.at)
	v.at += int64(n)
	if n > 0 {
		return n, nil
	}
	if err != nil {
		return 0, v.fail(fmt.Errorf("after %d of %d bytes: %w", v.at, v.size, err))
	}
	return 0, nil
}

// Seek implements io.Seeker.
func (v *verified) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += v.at
	case io.SeekEnd:
		offset += v.size
	}
	if offset < 0 {
		return 0, fmt.Errorf("read object: negative offset %d", offset)
	}
	v.at = offset
	return offset, nil
}

// Close implements io.Closer.
func (v *verified) Close() error { return v.inner.Close() }
