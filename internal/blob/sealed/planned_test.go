package sealed_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/disk"
	"github.com/consign-dev/consign/internal/blob/sealed"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/powercut"
)

// planned is what the caller of a planned object knows.
type planned struct {
	made  bool
	acked [3]int64 // offsets up to which the parts are held
}

// TestPlannedPowerCut: what the Writers of a planned object have reported survives a power cut at any moment. The upload goes on from
// there. Parts are written in turns, and bytes of a run that no Sync has reported are written again.
func TestPlannedPowerCut(t *testing.T) {
	t.Parallel()
	const size = 2*blob.Granule + 1000
	want, o := content(size), id.New[id.Object]()
	key := blob.ObjectKey(o)
	carryOut := func(d *powercut.Disk, rows *table, p *planned) error {
		inner, err := disk.New("/data/objects", d)
		if err != nil {
			return err
		}
		s, ctx := sealed.New(sealed.Options{Inner: inner, Rows: rows, Box: box(t), On: true}), context.Background()
		if !p.made {
			if err := s.Delete(ctx, key); err != nil {
				return err
			}
			if _, err := s.Plan(ctx, key, blob.Division{Size: size, Part: blob.Granule, Unit: blob.Granule}); err != nil {
				return err
			}
			p.made, p.acked = true, [3]int64{0, blob.Granule, 2 * blob.Granule}
		}
		for _, n := range []int{2, 0, 1} {
			begin, end := int64(n)*blob.Granule, min(int64(n+1)*blob.Granule, size)
			for p.acked[n] < end {
				w, err := s.AppendAt(ctx, key, begin, p.acked[n])
				if errors.Is(err, blob.ErrGap) { // finished
					break
				}
				if err != nil {
					return err
				}
				defer w.Close()
				middle := min(p.acked[n]+400_000, end)
				if _, err := w.Write(want[p.acked[n]:middle]); err != nil {
					return err
				}
				if held, err := w.Sync(); err != nil {
					return err
				} else if middle < end && held != p.acked[n] {
					return errors.New("a part of a run is held")
				}
				if _, err := w.Write(want[middle:end]); err != nil {
					return err
				}
				held, err := w.Sync()
				if err != nil {
					return err
				}
				p.acked[n] = held
			}
		}
		if err := s.Finish(ctx, key, size); err != nil {
			return err
		}
		got, err := get(t, s, key)
		if err == nil && !bytes.Equal(got, want) {
			err = errors.New("other bytes are read than were written")
		}
		return err
	}
	for n := 1; ; n++ {
		rows := &table{rows: map[id.Object]sealed.Row{}}
		d, p := powercut.New(powercut.Options{CutAfter: n}), planned{}
		err := carryOut(d, rows, &p)
		if err == nil {
			if n < 20 {
				t.Fatalf("only %d operations", n)
			}
			return
		}
		if !errors.Is(err, powercut.ErrCut) {
			t.Fatalf("cut after %d: %v", n, err)
		}
		for i, fate := range []powercut.Fate{powercut.Nothing, powercut.NamesOnly, powercut.ContentOnly, powercut.Garbage, powercut.Random(1)} {
			after, again := &table{rows: maps.Clone(rows.rows)}, p
			if err := carryOut(d.Crash(fate, powercut.Options{}), after, &again); err != nil {
				t.Fatalf("cut after %d with %v, fate %d: %v", n, p, i, err)
			}
		}
	}
}
