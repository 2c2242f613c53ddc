// Package pair makes one blob.Store of two places, between which an operator moves files while servers work (contract 4.31).
//
// An object lies in one place. A new one begins in the first; one that has begun in the second goes on there. Move copies finished objects
// from the second place to the first: only such an object may be in both, and its copy counts once it is finished. So servers that have
// the same two places in a different order find each other's objects.
package pair

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/consign-dev/consign/internal/blob"
)

// Store is a blob.Store of two places.
type Store struct{ first, second blob.Store }

var (
	_ blob.Store  = (*Store)(nil)
	_ blob.Probed = (*Store)(nil)
)

// New makes a Store that begins objects in the first place.
func New(first, second blob.Store) *Store { return &Store{first, second} }

// place returns where an object is written: where it has begun.
func (s *Store) place(ctx context.Context, key blob.Key) (blob.Store, error) {
	if is, err := finished(ctx, s.first, key); is || err != nil {
		return s.first, err
	}
	_, err := s.second.Held(ctx, key)
	switch {
	case err == nil:
		return s.second, nil
	case errors.Is(err, blob.ErrNotFound):
		return s.first, nil // also one that was moved after the first question
	}
	return nil, err
}

// finished reports whether a place has a finished object.
func finished(ctx context.Context, in blob.Store, key blob.Key) (bool, error) {
	r, err := in.Open(ctx, key)
	if errors.Is(err, blob.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, r.Close()
}

// Append implements blob.Store.
func (s *Store) Append(ctx context.Context, key blob.Key, offset, size int64) (blob.Writer, error) {
	if err := blob.BeginAppend(ctx, key, offset); err != nil {
		return nil, err
	}
	in, err := s.place(ctx, key)
	if err != nil {
		return nil, err
	}
	return in.Append(ctx, key, offset, size)
}

// Finish implements blob.Store.
func (s *Store) Finish(ctx context.Context, key blob.Key, size int64) error {
	if err := blob.Begin(ctx, key); err != nil {
		return err
	}
	in, err := s.place(ctx, key)
	if err != nil {
		return err
	}
	return in.Finish(ctx, key, size)
}

// either asks the first place, then the second, then the first again: an object may be moved between the first two questions.
func either[T any](s *Store, ask func(blob.Store) (T, error)) (result T, err error) {
	for _, in := range []blob.Store{s.first, s.second, s.first} {
		if result, err = ask(in); !errors.Is(err, blob.ErrNotFound) {
			return result, err
		}
	}
	return result, err
}

// Open implements blob.Store. It serves no links: what they lead to may be moved meanwhile.
func (s *Store) Open(ctx context.Context, key blob.Key) (blob.Reader, error) {
	r, err := either(s, func(in blob.Store) (blob.Reader, error) { return in.Open(ctx, key) })
	if err != nil {
		return nil, err
	}
	if _, remote := r.(blob.Linked); !remote {
		return r, nil // an open file, which stays whole
	}
	return &reader{Reader: r, again: func() (blob.Reader, error) {
		return either(s, func(in blob.Store) (blob.Reader, error) { return in.Open(context.WithoutCancel(ctx), key) })
	}}, nil
}

// Held implements blob.Store. Of an object that is being moved it returns what the finished one has.
func (s *Store) Held(ctx context.Context, key blob.Key) (int64, error) {
	if err := blob.Begin(ctx, key); err != nil {
		return 0, err
	}
	in, err := s.place(ctx, key)
	if err != nil {
		return 0, err
	}
	held, err := in.Held(ctx, key)
	if errors.Is(err, blob.ErrNotFound) {
		return s.first.Held(ctx, key)
	}
	return held, err
}

// Delete implements blob.Store.
func (s *Store) Delete(ctx context.Context, key blob.Key) error {
	if err := s.second.Delete(ctx, key); err != nil {
		return err
	}
	return s.first.Delete(ctx, key)
}

// List implements blob.Store. The second place comes first, so that an object that is moved meanwhile may come twice, but is not missed.
func (s *Store) List(ctx context.Context, fn func(blob.Info) error) error {
	if err := s.second.List(ctx, fn); err != nil {
		return err
	}
	return s.first.List(ctx, fn)
}

// Probe implements blob.Probed.
func (s *Store) Probe(ctx context.Context) error {
	for _, in := range []blob.Store{s.first, s.second} {
		probed, ok := in.(blob.Probed)
		if !ok {
			continue
		}
		if err := probed.Probe(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reader reads an object of a place that asks for the rest again, and goes on in the other place when the object was moved.
type reader struct {
	blob.Reader
	at    int64
	again func() (blob.Reader, error)
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n == 0 && errors.Is(err, blob.ErrNotFound) {
		other, openErr := r.again()
		if openErr != nil {
			return 0, openErr
		}
		if _, err := other.Seek(r.at, io.SeekStart); err != nil {
			return 0, errors.Join(fmt.Errorf("seek in the moved blob: %w", err), other.Close())
		}
		_ = r.Close()
		r.Reader = other
		n, err = r.Reader.Read(p)
	}
	r.at += int64(n)
	return n, err //nolint:wrapcheck // io.EOF
}

// Seek implements io.Seeker.
func (r *reader) Seek(offset int64, whence int) (at int64, err error) {
	at, err = r.Reader.Seek(offset, whence)
	if err == nil {
		r.at = at
	}
	return at, err //nolint:wrapcheck // of the place
}
