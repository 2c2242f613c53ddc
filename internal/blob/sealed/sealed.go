// Package sealed encrypts objects before another blob.Store gets them (contract 4.24).
//
// Every object has a random key. The key, sealed, and the layout of the object are in a row of the database (Rows). Without the row nobody
// can read the bytes. The encrypted bytes lie under the object's key with a suffix, so that nobody takes them for plain ones.
//
// An object is a sequence of runs. A run is what one Writer has written between two calls of Sync. It is encrypted on its own, with a key
// derived from the object's key, a random salt and its offset, and never written again: no nonce is used twice. segments.go has its
// format, layout.go the list of runs.
//
// Objects that are stored in plain stay readable. Blobs that are no objects, as the storage mark, are passed on unencrypted.
package sealed

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/id"
)

// suffix ends the key of encrypted bytes.
const suffix = "-sealed"

// rowTimeout bounds the saving of a row for an upload whose client has left.
const rowTimeout = 10 * time.Second

// listBatch is how many rows List loads at once.
const listBatch = 500

// Row is what the database has about an encrypted object.
type Row struct {
	Key     []byte // sealed
	Layout  []byte
	Version int64 // how often the row was saved; 0 means that there is none
}

// Rows stores the rows. transfer/postgres implements it.
type Rows interface {
	// SealedObjects returns the rows of objects, as far as they exist.
	SealedObjects(ctx context.Context, objects []id.Object) (map[id.Object]Row, error)
	// SaveSealedObject stores a row under the next version. It reports false when the stored version is not that of r.
	SaveSealedObject(ctx context.Context, o id.Object, r Row) (bool, error)
	// DeleteSealedObject deletes a row. It is idempotent.
	DeleteSealedObject(ctx context.Context, o id.Object) error
}

// Box seals keys for the database. seal.Box implements it.
type Box interface {
	Seal(plain, aad []byte) []byte
	Open(sealed, aad []byte) ([]byte, error)
}

// Options are the dependencies of a Store.
type Options struct {
	Inner blob.Store
	Rows  Rows
	Box   Box
	On    bool // encrypt new objects; others are read in any case
}

// Store is a blob.Store that encrypts objects. An object keeps the form in which it began: Append at offset 0 chooses it, and the caller
// deletes what was there before.
//
// It differs from the contract of blob.Store in what was written since the last Sync: it is not part of the object when the Writer is
// closed, or has met ErrFull. A segment is complete only at its end.
type Store struct {
	inner blob.Store
	rows  Rows
	box   Box
	on    bool
}

var _ blob.Store = (*Store)(nil)

// New makes a Store.
func New(o Options) *Store { return &Store{inner: o.Inner, rows: o.Rows, box: o.Box, on: o.On} }

// object is an encrypted object as its row says.
type object struct {
	uid     id.Object
	key     []byte
	sealed  []byte
	layout  layout
	version int64
}

func sealedKey(o id.Object) blob.Key { return blob.ObjectKey(o) + suffix }

// newObject makes an object with a key of its own.
func (s *Store) newObject(o id.Object) *object {
	key := make([]byte, keySize)
	rand.Read(key) // never fails
	return &object{uid: o, key: key, sealed: s.box.Seal(key, o.UUID[:])}
}

// load reads an object's row. It returns nil when there is none.
func (s *Store) load(ctx context.Context, o id.Object) (*object, error) {
	rows, err := s.rows.SealedObjects(ctx, []id.Object{o})
	if err != nil {
		return nil, err
	}
	r, found := rows[o]
	if !found {
		return nil, nil
	}
	layout, err := decode(r.Layout)
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", o, err)
	}
	key, err := s.box.Open(r.Key, o.UUID[:])
	if err != nil {
		return nil, fmt.Errorf("open the key of object %s: %w", o, err)
	}
	return &object{uid: o, key: key, sealed: r.Key, layout: layout, version: r.Version}, nil
}

// save stores the row of an object.
// Errors: errOther.
func (s *Store) save(ctx context.Context, o *object) error {
	saved, err := s.rows.SaveSealedObject(ctx, o.uid, Row{Key: o.sealed, Layout: o.layout.encode(), Version: o.version})
	if err == nil && !saved {
		err = errOther
	}
	if err != nil {
		return fmt.Errorf("save the key of object %s: %w", o.uid, err)
	}
	o.version++
	return nil
}

// errOther means that another Writer has written the object.
var errOther = errors.New("another writer has written the object")

// choose calls plain or encrypted for a key, by the form in which the object is stored. It asks the database only where the setting, or
// the error absent of plain, says that the object is probably encrypted.
func choose[T any](ctx context.Context, s *Store, key blob.Key, absent error, plain func() (T, error), encrypted func(*object) (T, error)) (T, error) {
	uid, err := id.Parse[id.Object](string(key))
	if err != nil {
		return plain()
	}
	if !s.on {
		if result, err := plain(); !errors.Is(err, absent) {
			return result, err
		}
	}
	o, err := s.load(ctx, uid)
	switch {
	case err != nil:
		var none T
		return none, err
	case o != nil:
		return encrypted(o)
	}
	return plain()
}

// Append implements blob.Store.
func (s *Store) Append(ctx context.Context, key blob.Key, offset, size int64) (blob.Writer, error) {
	if err := blob.BeginAppend(ctx, key, offset); err != nil {
		return nil, err
	}
	if uid, err := id.Parse[id.Object](string(key)); err == nil && s.on && offset == 0 {
		return s.begin(ctx, uid, size)
	}
	return choose(ctx, s, key, blob.ErrGap,
		func() (blob.Writer, error) { return s.inner.Append(ctx, key, offset, size) },
		func(o *object) (blob.Writer, error) { return s.resume(ctx, o, offset, size) })
}

// begin opens a Writer for an object from its first byte on. The Writer stores the row of a new object when it syncs.
func (s *Store) begin(ctx context.Context, uid id.Object, size int64) (blob.Writer, error) {
	o, err := s.load(ctx, uid)
	if err != nil {
		return nil, err
	}
	if o == nil {
		o = s.newObject(uid)
	}
	return s.resume(ctx, o, 0, size)
}

// resume opens a Writer at an offset of an encrypted object.
func (s *Store) resume(ctx context.Context, o *object, offset, size int64) (blob.Writer, error) {
	held := o.layout.size()
	if offset > held {
		return nil, fmt.Errorf("append to blob %s: %w: %d held, offset %d", o.uid, blob.ErrGap, held, offset)
	}
	o.layout = o.layout.cut(offset)
	if offset < held {
		if err := s.saveCut(ctx, o); err != nil {
			return nil, err
		}
	}
	if len(o.layout) == maxRuns {
		return nil, fmt.Errorf("append to blob %s: %w: it is in too many pieces", o.uid, blob.ErrGap)
	}
	stored := o.layout.storedSize()
	if size > 0 {
		size = stored + cipherLength(max(size-offset, 1))
	}
	inner, err := s.inner.Append(ctx, sealedKey(o.uid), stored, size)
	if err != nil {
		return nil, err
	}
	return &writer{store: s, object: o, inner: inner, held: offset, start: offset, unsaved: o.version == 0}, nil
}

// saveCut stores the row of an object that was cut off, before the inner store cuts it.
// Errors: blob.ErrFinished.
func (s *Store) saveCut(ctx context.Context, o *object) error {
	r, err := s.inner.Open(ctx, sealedKey(o.uid))
	if err == nil {
		_ = r.Close()
		return fmt.Errorf("append to blob %s: %w", o.uid, blob.ErrFinished)
	}
	if !errors.Is(err, blob.ErrNotFound) {
		return err
	}
	return s.save(ctx, o)
}

// Finish implements blob.Store.
func (s *Store) Finish(ctx context.Context, key blob.Key, size int64) error {
	if err := blob.Begin(ctx, key); err != nil {
		return err
	}
	type nothing struct{}
	_, err := choose(ctx, s, key, blob.ErrNotFound,
		func() (nothing, error) { return nothing{}, s.inner.Finish(ctx, key, size) },
		func(o *object) (nothing, error) {
			if held := o.layout.size(); held != size {
				return nothing{}, fmt.Errorf("finish blob %s: %w: %d held, %d expected", key, blob.ErrSize, held, size)
			}
			return nothing{}, s.inner.Finish(ctx, sealedKey(o.uid), o.layout.storedSize())
		})
	return err
}

// Open implements blob.Store. A plain object's Reader is that of the inner store.
func (s *Store) Open(ctx context.Context, key blob.Key) (blob.Reader, error) {
	if err := blob.Begin(ctx, key); err != nil {
		return nil, err
	}
	return choose(ctx, s, key, blob.ErrNotFound,
		func() (blob.Reader, error) { return s.inner.Open(ctx, key) },
		func(o *object) (blob.Reader, error) {
			inner, err := s.inner.Open(ctx, sealedKey(o.uid))
			if err != nil {
				return nil, err
			}
			return newReader(o, inner), nil
		})
}

// Held implements blob.Store.
func (s *Store) Held(ctx context.Context, key blob.Key) (int64, error) {
	if err := blob.Begin(ctx, key); err != nil {
		return 0, err
	}
	return choose(ctx, s, key, blob.ErrNotFound,
		func() (int64, error) { return s.inner.Held(ctx, key) },
		func(o *object) (int64, error) {
			stored, err := s.inner.Held(ctx, sealedKey(o.uid))
			return o.layout.within(stored), err
		})
}

// Delete implements blob.Store. The key goes first: without it the bytes are erased, wherever copies of them are.
func (s *Store) Delete(ctx context.Context, key blob.Key) error {
	if err := blob.Begin(ctx, key); err != nil {
		return err
	}
	uid, err := id.Parse[id.Object](string(key))
	if err != nil {
		return s.inner.Delete(ctx, key)
	}
	_, err = s.inner.Held(ctx, sealedKey(uid))
	if errors.Is(err, blob.ErrNotFound) {
		return s.inner.Delete(ctx, key)
	}
	if err != nil {
		return err
	}
	if err := s.rows.DeleteSealedObject(ctx, uid); err != nil {
		return err
	}
	if err := s.inner.Delete(ctx, sealedKey(uid)); err != nil {
		return err
	}
	_, err = s.inner.Held(ctx, key) // in plain too, while it is being encrypted
	if errors.Is(err, blob.ErrNotFound) {
		return nil
	}
	return s.inner.Delete(ctx, key)
}

// List implements blob.Store.
func (s *Store) List(ctx context.Context, fn func(blob.Info) error) error {
	var batch []blob.Info // encrypted ones, with the keys of their objects
	flush := func() error {
		objects := make([]id.Object, 0, len(batch))
		for _, i := range batch {
			o, err := id.Parse[id.Object](string(i.Key))
			if err != nil {
				return err
			}
			objects = append(objects, o)
		}
		rows, err := s.rows.SealedObjects(ctx, objects)
		if err != nil {
			return err
		}
		for n, i := range batch {
			l, err := decode(rows[objects[n]].Layout)
			if err != nil {
				return fmt.Errorf("object %s: %w", i.Key, err)
			}
			i.Size = l.within(i.Size)
			if err := fn(i); err != nil {
				return err
			}
		}
		batch = batch[:0]
		return nil
	}
	err := s.inner.List(ctx, func(i blob.Info) error {
		plain, encrypted := strings.CutSuffix(string(i.Key), suffix)
		if _, err := id.Parse[id.Object](plain); !encrypted || err != nil {
			return fn(i)
		}
		i.Key = blob.Key(plain)
		if batch = append(batch, i); len(batch) < listBatch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}
