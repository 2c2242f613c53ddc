package sealed

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
)

// Encrypt makes an encrypted copy of a finished object that is stored in plain, and stores its row. The caller is the only one who encrypts
// the object: held wraps what is read, and ends the call by an error when that is no longer true. check reads the copy; when it fails, the
// plain bytes stay the object's. Encrypt reports whether the object has plain bytes that DropPlain may delete now.
func (s *Store) Encrypt(ctx context.Context, uid id.Object, held func(io.Reader) io.Reader, check func(io.Reader) error) (bool, error) {
	plain, err := s.inner.Open(ctx, blob.ObjectKey(uid))
	if errors.Is(err, blob.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer plain.Close()
	if o, err := s.load(ctx, uid); err != nil || o != nil {
		return err == nil, err // an earlier call was interrupted before DropPlain
	}
	o := s.newObject(uid)
	if err := s.encrypt(ctx, o, held(plain)); err != nil {
		return false, fmt.Errorf("encrypt object %s: %w", uid, err)
	}
	stored, err := s.inner.Open(ctx, sealedKey(uid))
	if err != nil {
		return false, err
	}
	r := newReader(o, stored)
	defer r.Close()
	if err := check(held(r)); err != nil {
		return false, err
	}
	return true, s.save(ctx, o)
}

// encrypt stores the encrypted bytes of an object durably.
func (s *Store) encrypt(ctx context.Context, o *object, plain io.Reader) error {
	if err := s.inner.Delete(ctx, sealedKey(o.uid)); err != nil { // of an earlier call, whose key is lost
		return err
	}
	inner, err := s.inner.Append(ctx, sealedKey(o.uid), 0, 0)
	if err != nil {
		return err
	}
	w := &writer{store: s, object: o, inner: inner}
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

// DropPlain deletes the plain bytes of an encrypted object.
func (s *Store) DropPlain(ctx context.Context, uid id.Object) error {
	return s.inner.Delete(ctx, blob.ObjectKey(uid))
}
