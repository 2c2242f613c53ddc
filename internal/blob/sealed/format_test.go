package sealed_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/tink-crypto/tink-go/v2/streamingaead/subtle"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/sealed"
	"github.com/consign-dev/consign/internal/id"
)

// sealedKey is where the store puts the bytes of an encrypted segment.
func sealedKey(o id.Segment) blob.Key { return blob.SegmentKey(o) + "-sealed" }

// content returns n bytes that do not repeat.
func content(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(b) // it never fails
	return b
}

// replace stores bytes under a key of a store, as somebody with access to the storage can.
func replace(t testing.TB, s blob.Store, key blob.Key, b []byte) {
	t.Helper()
	if err := s.Delete(context.Background(), key); err != nil {
		t.Fatal(err)
	}
	put(t, s, key, b)
}

// TestTinkReadsRuns: each run is what Tink's AES-GCM-HKDF streaming AEAD writes. So the construction has test vectors.
func TestTinkReadsRuns(t *testing.T) {
	t.Parallel()
	open, inner, rows := setUp(t)
	s := open(true)
	const first, block = 64<<10 - 40 - 16, 64<<10 - 16
	for _, n := range []int{1, first - 1, first, first + 1, first + block, first + block + 1, first + 3*block + 77} {
		o, data := id.New[id.Segment](), content(n+5)
		put(t, s, blob.SegmentKey(o), data[:5], data[5:])
		key, err := box(t).Open(rows.rows[o].Key, rows.rows[o].Binding())
		if err != nil {
			t.Fatal(err)
		}
		tink, err := subtle.NewAESGCMHKDF(key, "SHA256", 32, 64<<10, 0)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := get(t, inner(), sealedKey(o))
		if err != nil {
			t.Fatal(err)
		}
		const short = 40 + 5 + 16 // the run of the first five bytes
		for i, run := range [][]byte{stored[:short], stored[short:]} {
			at := []int{0, 5}[i]
			binding := binary.BigEndian.AppendUint64(append([]byte("consign segment"), o.UUID[:]...), uint64(at))
			r, err := tink.NewDecryptingReader(bytes.NewReader(run), binding)
			if err != nil {
				t.Fatal(err)
			}
			want := [][]byte{data[:5], data[5:]}[i]
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, run %d: Tink reads %d bytes, %v", n, i, len(got), err)
			}
		}
		if bytes.Contains(stored, data[5:min(len(data), 25)]) && n > 20 {
			t.Error("the store has plain bytes")
		}
	}
}

// TestDamageIsFound: no changed, exchanged, repeated or missing byte of the storage is given out as content.
func TestDamageIsFound(t *testing.T) {
	t.Parallel()
	open, inner, _ := setUp(t)
	s, below := open(true), inner()
	const block = 64 << 10
	o, data := id.New[id.Segment](), content(5*block)
	other, same := id.New[id.Segment](), id.New[id.Segment]()
	put(t, s, blob.SegmentKey(o), data[:2*block], data[2*block:4*block], data[4*block:])
	put(t, s, blob.SegmentKey(other), data[:2*block], data[2*block:4*block], data[4*block:])
	put(t, s, blob.SegmentKey(same), data)
	good, err := get(t, below, sealedKey(o))
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := get(t, below, sealedKey(other))
	if err != nil {
		t.Fatal(err)
	}
	run := 40 + 2*block + 3*16 // stored bytes of each of the first two runs
	changes := map[string]func(b []byte) []byte{
		"two runs exchanged":   func(b []byte) []byte { copy(b, good[run:2*run]); copy(b[run:], good[:run]); return b },
		"two blocks exchanged": func(b []byte) []byte { copy(b[block:2*block], good[run+block:]); return b },
		"a run of another segment": func(b []byte) []byte {
			copy(b[:run], foreign)
			return b
		},
		"all of another segment": func([]byte) []byte { return bytes.Clone(foreign) },
		"the last run missing":   func(b []byte) []byte { return b[:2*run] },
		"the last byte missing":  func(b []byte) []byte { return b[:len(b)-1] },
		"a block missing":        func(b []byte) []byte { return append(b[:block], b[2*block:]...) },
		"a block twice":          func(b []byte) []byte { return append(b[:2*block], b[block:]...) },
		"nothing":                func([]byte) []byte { return nil },
		"the first run, no more": func(b []byte) []byte { return b[:run] },
	}
	for _, at := range []int{0, 1, 33, 40, 41, block - 1, block, run - 1, run, run + 40, len(good) - 1} {
		changes[fmt.Sprintf("bit in byte %d", at)] = func(b []byte) []byte { b[at] ^= 1; return b }
	}
	for what, change := range changes {
		replace(t, below, sealedKey(o), change(bytes.Clone(good)))
		got, err := get(t, s, blob.SegmentKey(o))
		if !errors.Is(err, sealed.ErrDamaged) || !bytes.HasPrefix(data, got) {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
	}
	replace(t, below, sealedKey(o), append(bytes.Clone(good), "more"...))
	if got, err := get(t, s, blob.SegmentKey(o)); err != nil || !bytes.Equal(got, data) {
		t.Errorf("bytes after the end: %d bytes, %v", len(got), err)
	}
}

// TestErasedByKey: without its row a segment cannot be read from any copy of the storage.
func TestErasedByKey(t *testing.T) {
	t.Parallel()
	open, inner, rows := setUp(t)
	s, o := open(true), id.New[id.Segment]()
	put(t, s, blob.SegmentKey(o), content(1000))
	stored, err := get(t, inner(), sealedKey(o))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(context.Background(), blob.SegmentKey(o)); err != nil {
		t.Fatal(err)
	}
	put(t, inner(), sealedKey(o), stored)
	if _, err := s.Open(context.Background(), blob.SegmentKey(o)); !errors.Is(err, blob.ErrNotFound) || len(rows.rows) > 0 {
		t.Errorf("Open: %v, %d rows", err, len(rows.rows))
	}
	// The orphan sweep finds the copy and removes it.
	if err := s.List(context.Background(), func(i blob.Info) error { return s.Delete(context.Background(), i.Key) }); err != nil {
		t.Fatal(err)
	}
	if _, err := inner().Held(context.Background(), sealedKey(o)); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("the copy: %v", err)
	}
}

// TestSecondWriter: a writer that was overtaken cannot replace the row of the newer one.
func TestSecondWriter(t *testing.T) {
	t.Parallel()
	open, _, _ := setUp(t)
	s, ctx, key := open(true), context.Background(), blob.SegmentKey(id.New[id.Segment]())
	for _, begun := range []int64{0, 10} {
		old, err := s.Append(ctx, key, begun, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := old.Write(content(20)); err != nil {
			t.Fatal(err)
		}
		w, err := s.Append(ctx, key, begun, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content(10)); err != nil {
			t.Fatal(err)
		}
		if held, err := w.Sync(); err != nil || held != begun+10 {
			t.Fatalf("Sync = %d, %v", held, err)
		}
		if held, err := old.Sync(); err == nil {
			t.Errorf("the old writer holds %d bytes", held)
		}
		if err := errors.Join(w.Close(), old.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCloseWritesNothing: a writer that was overtaken ends after the newer one has written. It changes none of its bytes.
func TestCloseWritesNothing(t *testing.T) {
	t.Parallel()
	open, _, _ := setUp(t)
	s, ctx, key, data := open(true), context.Background(), blob.SegmentKey(id.New[id.Segment]()), content(300_000)
	old, err := s.Append(ctx, key, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Write(content(200_000)); err != nil {
		t.Fatal(err)
	}
	put(t, s, key, data)
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := get(t, s, key); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes of %d, %v", len(got), len(data), err)
	}
}
