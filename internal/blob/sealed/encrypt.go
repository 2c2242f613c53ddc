package sealed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
)

// Encrypt makes an encrypted copy of a finished segment that is stored in plain, and stores its row. The caller is the only one who
// encrypts the segment: held wraps what is read, and ends the call by an error when that is no longer true. check gets the SHA-256 of the
// copy; when it fails, the plain bytes stay the segment's. Encrypt reports whether the segment has plain bytes that DropPlain may delete
// now.
func (s *Store) Encrypt(ctx context.Context, uid id.Segment, held func(io.Reader) io.Reader, check func(sum []byte) error) (bool, error) {
	plain, err := s.inner.Open(ctx, blob.SegmentKey(uid))
	if errors.Is(err, blob.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer plain.Close()
	o, err := s.load(ctx, uid)
	if err != nil || o.row.Version > 0 {
		return err == nil, err // an earlier call was interrupted before DropPlain
	}
	s.newKey(o)
	read, copied := sha256.New(), sha256.New()
	if err := s.encrypt(ctx, o, io.TeeReader(held(plain), read)); err != nil {
		return false, fmt.Errorf("encrypt segment %s: %w", uid, err)
	}
	stored, err := s.inner.Open(ctx, sealedKey(uid))
	if err != nil {
		return false, err
	}
	r := newReader(o, stored)
	defer r.Close()
	if _, err := io.Copy(copied, held(r)); err != nil {
		return false, fmt.Errorf("read the copy of segment %s: %w", uid, err)
	}
	sum := copied.Sum(nil)
	if !bytes.Equal(sum, read.Sum(nil)) {
		return false, fmt.Errorf("the copy of segment %s: %w", uid, ErrDamaged)
	}
	if err := check(sum); err != nil {
		return false, err
	}
	return true, s.save(ctx, o)
}

// encrypt stores the encrypted bytes of a segment durably.
func (s *Store) encrypt(ctx context.Context, o *segment, plain io.Reader) error {
	if err := s.inner.Delete(ctx, sealedKey(o.uid)); err != nil { // of an earlier call, whose key is lost
		return err
	}
	inner, err := s.inner.Append(ctx, sealedKey(o.uid), 0, 0)
	if err != nil {
		return err
	}
	w := &writer{store: s, segment: o, inner: inner}
	defer func() { _ = w.release() }() // the bytes that count are synced
	if _, err := io.Copy(struct{ io.Writer }{w}, plain); err != nil {
		return err
	}
	if err := w.endRun(); err != nil {
		return err
	}
	if _, err := inner.Sync(); err != nil {
		return err
	}
	return s.inner.Finish(ctx, sealedKey(o.uid), o.layout.storedSize())
}

// IsPlain reports whether a segment has bytes that are stored in plain.
func (s *Store) IsPlain(ctx context.Context, uid id.Segment) (bool, error) {
	_, err := s.inner.Held(ctx, blob.SegmentKey(uid))
	if errors.Is(err, blob.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// DropPlain deletes the plain bytes of an encrypted segment.
func (s *Store) DropPlain(ctx context.Context, uid id.Segment) error {
	return s.inner.Delete(ctx, blob.SegmentKey(uid))
}
