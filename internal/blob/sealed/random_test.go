package sealed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/disk"
	"github.com/consign-dev/consign/internal/blob/sealed"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/powercut"
)

// TestRandomUploads: a segment is what was appended, wherever uploads ended, went on and were cut off, and every range of it can be read.
func TestRandomUploads(t *testing.T) {
	t.Parallel()
	open, _, _ := setUp(t)
	ctx := context.Background()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		s, key := open(true), blob.SegmentKey(id.New[id.Segment]())
		var want []byte
		for range 1 + r.IntN(12) {
			if len(want) > 0 && r.IntN(3) == 0 {
				want = want[:r.IntN(len(want)+1)]
			}
			w, err := s.Append(ctx, key, int64(len(want)), 0)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			synced := len(want)
			for range r.IntN(4) {
				b := make([]byte, []int{1, 1000, 65_480, 65_520, 65_536, 200_000}[r.IntN(6)])
				_, _ = rand.NewChaCha8([32]byte{byte(r.Uint32())}).Read(b)
				if _, err := w.Write(b); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				want = append(want, b...)
				if r.IntN(2) == 0 {
					if held, err := w.Sync(); err != nil || held != int64(len(want)) {
						t.Fatalf("seed %d: Sync = %d, %v", seed, held, err)
					}
					synced = len(want)
				}
			}
			if r.IntN(2) == 0 || synced == 0 {
				if _, err := w.Sync(); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				synced = len(want)
			}
			want = want[:synced] // Close gives up the rest
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if held, err := s.Held(ctx, key); err != nil || held != int64(len(want)) {
				t.Fatalf("seed %d: Held = %d, %v, want %d", seed, held, err, len(want))
			}
		}
		w, err := s.Append(ctx, key, int64(len(want)), 0) // cuts off what was not synced
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		_ = w.Close()
		if err := s.Finish(ctx, key, int64(len(want))); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if got, err := get(t, s, key); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %d bytes of %d, %v", seed, len(got), len(want), err)
		}
		if err := readRanges(s, key, want, r); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func readRanges(s blob.Store, key blob.Key, want []byte, r *rand.Rand) error {
	reader, err := s.Open(context.Background(), key)
	if err != nil {
		return err
	}
	defer reader.Close()
	for range 20 {
		at := r.IntN(len(want) + 1)
		n := r.IntN(len(want) - at + 1)
		if _, err := reader.Seek(int64(at), io.SeekStart); err != nil {
			return err
		}
		got := make([]byte, n)
		if _, err := io.ReadFull(reader, got); err != nil || !bytes.Equal(got, want[at:at+n]) {
			return fmt.Errorf("bytes %d to %d differ: %w", at, at+n, err)
		}
	}
	return nil
}

// TestPowerCut: what Sync has reported survives a power cut at any moment, and so does a row that was saved. The upload goes on from there
// as a caller does.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	const part, size = 30_000, 150_000
	want, o := content(size), id.New[id.Segment]()
	key := blob.SegmentKey(o)
	// carryOut uploads from an acknowledged offset on, part by part, until the power fails.
	carryOut := func(d *powercut.Disk, rows *table, acked int64) (int64, error) {
		inner, err := disk.New("/data/segments", d)
		if err != nil {
			return acked, err
		}
		s := sealed.New(sealed.Options{Inner: inner, Rows: rows, Box: box(t), On: true})
		for acked < size {
			w, err := s.Append(context.Background(), key, acked, size)
			if errors.Is(err, blob.ErrFinished) {
				break
			}
			if err != nil {
				return acked, err
			}
			if _, err := w.Write(want[acked : acked+part]); err != nil {
				return acked, err
			}
			held, err := w.Sync()
			if err != nil {
				return acked, err
			}
			acked = held
			if acked < size {
				_, _ = w.Write([]byte("not acknowledged")) // the next Append cuts it off
			}
			if err := w.Close(); err != nil {
				return acked, err
			}
		}
		if err := s.Finish(context.Background(), key, size); err != nil {
			return acked, err
		}
		got, err := get(t, s, key)
		if err == nil && !bytes.Equal(got, want) {
			err = fmt.Errorf("%d bytes differ", len(got))
		}
		return acked, err
	}
	for n := 1; ; n++ {
		rows := &table{rows: map[id.Segment]sealed.Row{}}
		d := powercut.New(powercut.Options{CutAfter: n})
		acked, err := carryOut(d, rows, 0)
		if err == nil {
			if n < 20 {
				t.Fatalf("only %d operations", n)
			}
			return
		}
		if !errors.Is(err, powercut.ErrCut) {
			t.Fatalf("cut after %d: %v", n, err)
		}
		fates := []powercut.Fate{powercut.Nothing, powercut.NamesOnly, powercut.ContentOnly, powercut.Garbage, powercut.Random(1),
			powercut.Random(2)}
		for i, fate := range fates {
			after := &table{rows: map[id.Segment]sealed.Row{}}
			for o, r := range rows.rows {
				after.rows[o] = r
			}
			if _, err := carryOut(d.Crash(fate, powercut.Options{}), after, acked); err != nil {
				t.Fatalf("cut after %d at %d bytes, fate %d: %v", n, acked, i, err)
			}
		}
	}
}
