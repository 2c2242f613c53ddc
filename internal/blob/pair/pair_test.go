// Tests of a store of two places, and of moving objects between them.

package pair_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/disk"
	"github.com/consign-dev/consign/internal/blob/pair"
	"github.com/consign-dev/consign/internal/testkit/blobtest"
)

func place(t *testing.T, dir string) *disk.Store {
	t.Helper()
	s, err := disk.New(dir, disk.OS())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestConformance: both places in one order, and in turn in the one and the other, as of servers whose settings are exchanged.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, exchanged := range []bool{false, true} {
		blobtest.Run(t, func(t *testing.T) func() blob.Store {
			one, two := t.TempDir(), t.TempDir()
			return func() blob.Store {
				if exchanged {
					one, two = two, one
				}
				return pair.New(place(t, one), place(t, two))
			}
		})
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Int())
	}
	return b
}

func put(t *testing.T, in blob.Store, key blob.Key, data []byte, finish bool) {
	t.Helper()
	w, err := in.Append(t.Context(), key, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(data)
	_, syncErr := w.Sync()
	if err := errors.Join(err, syncErr, w.Close()); err != nil {
		t.Fatal(err)
	}
	if finish {
		if err := in.Finish(t.Context(), key, int64(len(data))); err != nil {
			t.Fatal(err)
		}
	}
}

func want(t *testing.T, in blob.Store, key blob.Key, data []byte) {
	t.Helper()
	r, err := in.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%d bytes, %v: they are not the %d that were written", len(got), err, len(data))
	}
}

func as(r io.Reader) io.Reader { return r }

var errStop = errors.New("stop")

// stops reads n bytes, then fails.
type stops struct {
	io.Reader
	n int
}

func (s *stops) Read(p []byte) (int, error) {
	if s.n <= 0 {
		return 0, errStop
	}
	n, err := s.Reader.Read(p[:min(len(p), s.n)])
	s.n -= n
	return n, err
}

// TestCopyGoesOn: a copy is interrupted after any number of bytes, before it is finished and after. It goes on, and each time both orders
// of the places give the whole object.
func TestCopyGoesOn(t *testing.T) {
	t.Parallel()
	old, fresh := place(t, t.TempDir()), place(t, t.TempDir())
	moving, servers := pair.New(fresh, old), []*pair.Store{pair.New(fresh, old), pair.New(old, fresh)}
	data, key := random(3_000_001), blob.Key("a-segment")
	put(t, old, key, data, true)
	check := func() {
		t.Helper()
		for _, s := range servers {
			want(t, s, key, data)
			if held, err := s.Held(t.Context(), key); err != nil || held != int64(len(data)) {
				t.Fatalf("held %d: %v", held, err)
			}
			if err := s.Finish(t.Context(), key, int64(len(data))); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Append(t.Context(), key, 5, 0); !errors.Is(err, blob.ErrFinished) {
				t.Fatalf("append to what is moved: %v", err)
			}
		}
	}
	for _, n := range []int{0, 1, 100_000, 900_000} {
		stopping := func(r io.Reader) io.Reader { return &stops{r, n} }
		_, err := moving.Copy(t.Context(), key, stopping, func() error { return nil })
		if !errors.Is(err, errStop) {
			t.Fatal(err)
		}
		check()
	}
	if held, err := fresh.Held(t.Context(), key); err != nil || held != 900_000 {
		t.Errorf("the new place holds %d bytes of the interrupted copy: %v", held, err)
	}
	if _, err := moving.Copy(t.Context(), key, as, func() error { return errStop }); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	check()
	for range 2 { // the second time, the first was interrupted before Drop
		if size, err := moving.Copy(t.Context(), key, as, func() error { return nil }); err != nil || size != int64(len(data)) {
			t.Fatal(size, err)
		}
		check()
	}
	if err := moving.Drop(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	check()
	if _, err := old.Held(t.Context(), key); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("the old place still has it: %v", err)
	}
}

// TestCopyIsCompared: garbage in the new place, as a crash leaves it, is no copy. It is removed, the object stays, the next call copies.
func TestCopyIsCompared(t *testing.T) {
	t.Parallel()
	for _, finished := range []bool{false, true} {
		old, fresh := place(t, t.TempDir()), place(t, t.TempDir())
		moving := pair.New(fresh, old)
		data, key := random(100_000), blob.Key("a-segment")
		put(t, old, key, data, true)
		put(t, fresh, key, random(100_000), finished)
		if _, err := moving.Copy(t.Context(), key, as, func() error { return nil }); !errors.Is(err, pair.ErrDiffers) {
			t.Fatalf("a wrong copy: %v", err)
		}
		want(t, moving, key, data)
		if _, err := moving.Copy(t.Context(), key, as, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		want(t, fresh, key, data)
	}
}

// remote is a reader of a bucket: what is deleted ends it.
type remote struct {
	blob.Reader
	in  blob.Store
	key blob.Key
}

func (r remote) Read(p []byte) (int, error) {
	if _, err := r.in.Held(context.Background(), r.key); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

type bucket struct{ blob.Store }

func (b bucket) Open(ctx context.Context, key blob.Key) (blob.Reader, error) {
	r, err := b.Store.Open(ctx, key)
	return struct {
		remote
		blob.Linked
	}{remote: remote{Reader: r, in: b.Store, key: key}}, err
}

// TestReadWhileMoved: a download that has begun in the old bucket goes on in the new one.
func TestReadWhileMoved(t *testing.T) {
	t.Parallel()
	old, fresh := bucket{place(t, t.TempDir())}, bucket{place(t, t.TempDir())}
	data, key := random(100_000), blob.Key("a-segment")
	put(t, old.Store, key, data, true)
	moving := pair.New(fresh, old)
	r, err := moving.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, linked := r.(blob.Linked); linked {
		t.Error("a link into a place from which files are moved")
	}
	begin := make([]byte, 40_000)
	if _, err := io.ReadFull(r, begin); err != nil {
		t.Fatal(err)
	}
	if _, err := moving.Copy(t.Context(), key, as, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := moving.Drop(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(append(begin, rest...), data) {
		t.Fatalf("%d bytes after the move: %v", len(rest), err)
	}
}
