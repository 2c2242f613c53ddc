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
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/sealed"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

const (
	// heldBack is how many bytes at the end of an object are given out only after its SHA-256 was compared.
	heldBack = 64 << 10
	// checkValid is how long a replica gives bytes out at full speed after a check that fitted.
	checkValid = 24 * time.Hour
	// damageValid is how long a replica refuses an object whose sum did not fit, before it reads the object again.
	damageValid = time.Hour
	// mostChecks is how many results a replica remembers.
	mostChecks = 1 << 16
)

// checks are the results of comparisons by this replica.
type checks struct {
	damaged atomic.Int64 // comparisons that did not fit, since the start

	mu      sync.Mutex
	results map[id.Object]checked
}

type checked struct {
	fits  bool
	until time.Time
}

// result returns what the last check of an object has found. known is false when there was none, or it is too old.
func (c *checks) result(o id.Object, now time.Time) (fits, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.results[o]
	return r.fits, ok && now.Before(r.until)
}

func (c *checks) save(o id.Object, fits bool, now time.Time) {
	valid := checkValid
	if !fits {
		valid = damageValid
		c.damaged.Add(1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.results == nil || len(c.results) >= mostChecks {
		c.results = make(map[id.Object]checked)
	}
	c.results[o] = checked{fits, now.Add(valid)}
}

// Damaged returns how many comparisons of this process have found damaged bytes.
func (s *Service) Damaged() int64 { return s.checks.damaged.Load() }

// openVerified is open with the SHA-256 that the bytes must have. A reader that comes to the last bytes gets them only if it fits.
// Errors: transfer.ErrDamaged while the last check did not fit, those of open.
func (s *Service) openVerified(ctx context.Context, o id.Object, size int64, segmented bool, sum []byte) (io.ReadSeekCloser, error) {
	fits, known := s.checks.result(o, s.now())
	if known && !fits {
		return nil, transfer.ErrDamaged
	}
	inner, err := s.open(ctx, o, size, segmented)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, s.missing(ctx, o, err)
	}
	if err != nil || known || size == 0 || len(sum) == 0 {
		return inner, err
	}
	v := &verified{inner: inner, size: size, want: sum, sum: sha256.New(),
		decided: func(fits bool, cause error) { s.decided(ctx, o, fits, cause) },
		missing: func(cause error) error { return s.missing(ctx, o, cause) }}
	if size <= heldBack { // nothing of it is given out before the comparison, so the client can get an answer
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

// decided notes the result of a comparison.
func (s *Service) decided(ctx context.Context, o id.Object, fits bool, cause error) {
	s.checks.save(o, fits, s.now())
	if !fits {
		s.log.ErrorContext(ctx, "stored bytes are damaged", slog.String("object", o.String()), slog.Any("error", cause))
	}
}

// missing returns the error for an object whose bytes the storage does not have: transfer.ErrNotFound when they were deleted meanwhile,
// otherwise transfer.ErrDamaged.
func (s *Service) missing(ctx context.Context, o id.Object, cause error) error {
	discarded, err := s.store.Discarded(context.WithoutCancel(ctx), o)
	switch {
	case err != nil:
		return err
	case discarded:
		return transfer.ErrNotFound.Because(cause)
	}
	s.decided(ctx, o, false, cause)
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
	if slices.ContainsFunc([]error{errSum, sealed.ErrDamaged, io.EOF, io.ErrUnexpectedEOF},
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
