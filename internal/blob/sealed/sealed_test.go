package sealed_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/disk"
	"github.com/consign-dev/consign/internal/blob/sealed"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/testkit/blobtest"
)

// table stores rows in memory.
type table struct {
	mu   sync.Mutex
	rows map[id.Segment]sealed.Row
}

func (t *table) SealedSegments(_ context.Context, segments []id.Segment) (map[id.Segment]sealed.Row, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := map[id.Segment]sealed.Row{}
	for _, o := range segments {
		r := t.rows[o]
		r.Segment = o
		found[o] = r
	}
	return found, nil
}

func (t *table) SaveSealedSegment(_ context.Context, r sealed.Row) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows[r.Segment].Version != r.Version {
		return false, nil
	}
	r.Version++
	t.rows[r.Segment] = r
	return true, nil
}

func (t *table) DeleteSealedSegment(_ context.Context, o id.Segment) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.rows, o)
	return nil
}

func box(t testing.TB) seal.Box {
	t.Helper()
	s, err := seal.New(bytes.Repeat([]byte{7}, seal.MinSecret), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.Box("object key")
}

// setUp returns functions that open an encrypting store and the store below it.
func setUp(t testing.TB) (open func(on bool) *sealed.Store, inner func() blob.Store, rows *table) {
	t.Helper()
	dir, b := t.TempDir(), box(t)
	rows = &table{rows: map[id.Segment]sealed.Row{}}
	inner = func() blob.Store {
		s, err := disk.New(dir, disk.OS())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return func(on bool) *sealed.Store {
		return sealed.New(sealed.Options{Inner: inner(), Rows: rows, Box: b, On: on})
	}, inner, rows
}

func TestStore(t *testing.T) {
	t.Parallel()
	for on, except := range map[bool][]string{true: {"FinishWithoutSync"}, false: nil} {
		blobtest.Run(t, func(t *testing.T) func() blob.Store {
			open, _, _ := setUp(t)
			return func() blob.Store { return open(on) }
		}, except...)
	}
}

func put(t testing.TB, s blob.Store, key blob.Key, parts ...[]byte) {
	t.Helper()
	var at int64
	for _, p := range parts {
		w, err := s.Append(context.Background(), key, at, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(p); err != nil {
			t.Fatal(err)
		}
		if at, err = w.Sync(); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Finish(context.Background(), key, at); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, s blob.Store, key blob.Key) ([]byte, error) {
	t.Helper()
	r, err := s.Open(context.Background(), key)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// TestMixedStores: a segment keeps its form when encryption is switched on or off, also in the middle of its upload.
func TestMixedStores(t *testing.T) {
	t.Parallel()
	open, _, _ := setUp(t)
	ctx := context.Background()
	data := bytes.Repeat([]byte("0123456789"), 20_000)
	for _, first := range []bool{true, false} {
		key := blob.SegmentKey(id.New[id.Segment]())
		for i, on := range []bool{first, !first, first} {
			w, err := open(on).Append(ctx, key, int64(i*50_000), 200_000)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(data[i*50_000 : (i+1)*50_000]); err != nil {
				t.Fatal(err)
			}
			if held, err := w.Sync(); err != nil || held != int64(i+1)*50_000 {
				t.Fatalf("Sync = %d, %v", held, err)
			}
			_ = w.Close()
		}
		if err := open(!first).Finish(ctx, key, 150_000); err != nil {
			t.Fatal(err)
		}
		for _, on := range []bool{true, false} {
			if got, err := get(t, open(on), key); err != nil || !bytes.Equal(got, data[:150_000]) {
				t.Errorf("begun with %v, read with %v: %d bytes, %v", first, on, len(got), err)
			}
			if held, err := open(on).Held(ctx, key); err != nil || held != 150_000 {
				t.Errorf("Held = %d, %v", held, err)
			}
		}
		if err := open(!first).Delete(ctx, key); err != nil {
			t.Fatal(err)
		}
		for _, on := range []bool{true, false} {
			if _, err := open(on).Open(ctx, key); !errors.Is(err, blob.ErrNotFound) {
				t.Errorf("after Delete: %v", err)
			}
		}
	}
}
