package blobtest

import (
	"bytes"
	"context"
	"io"
	"sync"
	"testing"

	"github.com/consign-dev/consign/internal/blob"
)

// plan makes a planned object of count parts and some bytes, in parts of two Granules or what the store makes of them. It returns the
// size of the parts.
func (s *suite) plan(t testing.TB, count, more int) (key blob.Key, part int) {
	t.Helper()
	part = 2 * blob.Granule
	for wanted := 0; wanted != part; {
		wanted = part
		key = newKey()
		d := blob.Division{Size: int64(count*wanted + more), Part: int64(wanted), Unit: blob.Granule}
		given, err := s.Plan(context.Background(), key, d)
		if err != nil {
			t.Fatalf("Plan: %v", err)
		}
		if part = int(given); part < wanted || part%blob.Granule != 0 {
			t.Fatalf("Plan makes parts of %d bytes, wanted %d", part, wanted)
		}
		if part != wanted {
			if err := s.Delete(context.Background(), key); err != nil {
				t.Fatalf("Delete: %v", err)
			}
		}
	}
	return key, part
}

// writeAt writes data at offset of the part that begins at begin, and returns what Sync reports. Nothing is closed by t.
func (s *suite) writeAt(t testing.TB, key blob.Key, begin, offset int, data []byte) int {
	t.Helper()
	w, err := s.AppendAt(context.Background(), key, int64(begin), int64(offset))
	if err != nil {
		t.Errorf("AppendAt %d: %v", offset, err)
		return 0
	}
	defer w.Close()
	for len(data) > 0 {
		n, err := w.Write(data[:min(len(data), 100_000)])
		if err != nil {
			t.Errorf("Write at %d: %v", offset, err)
			return 0
		}
		data = data[n:]
	}
	held, err := w.Sync()
	if err != nil {
		t.Errorf("Sync at %d: %v", offset, err)
	}
	return int(held)
}

// testPlanned writes parts at once, in an order of their own, and finishes the object.
func testPlanned(t *testing.T, s *suite) {
	key, part := s.plan(t, 3, 12345)
	data := content(40, 3*part+12345)
	var all sync.WaitGroup
	for n := 3; n >= 0; n-- {
		all.Go(func() {
			begin, end := n*part, min((n+1)*part, len(data))
			if held := s.writeAt(t, key, begin, begin, data[begin:end]); held != end {
				t.Errorf("part %d: %d held, want %d", n, held, end)
			}
		})
	}
	all.Wait()
	s.wantHeld(t, key, int64(len(data)))
	s.wantList(t, blob.Info{Key: key, Size: int64(len(data))})
	s.wantPlanned(t, key, data)
	s.finish(t, key, data)
	s.finish(t, key, data)
	s.wantPlanned(t, key, data)
	s.wantList(t, blob.Info{Key: key, Size: int64(len(data)), Finished: true})
}

// wantPlanned checks what OpenPlanned reads.
func (s *suite) wantPlanned(t testing.TB, key blob.Key, want []byte) {
	t.Helper()
	r, err := s.OpenPlanned(context.Background(), key, int64(len(want)), int64(len(want)))
	if err != nil {
		t.Fatalf("OpenPlanned: %v", err)
	}
	defer r.Close()
	const from = 70_000
	if _, err := r.Seek(from, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want)-from)
	if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, want[from:]) {
		t.Fatalf("OpenPlanned reads other bytes than were written: %v", err)
	}
}

// testPlannedResumes interrupts a part again and again, with a restart, and bytes that no Sync has reported.
func testPlannedResumes(t *testing.T, s *suite) {
	key, part := s.plan(t, 2, 0)
	data := content(41, 2*part)
	for _, begin := range []int{part, 0} {
		held := s.writeAt(t, key, begin, begin, data[begin:begin+700_000])
		for held < begin+part {
			if held < begin || held > begin+part {
				t.Fatalf("%d held of the part at %d", held, begin)
			}
			w, err := s.AppendAt(context.Background(), key, int64(begin), int64(held))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(content(42, min(300_000, begin+part-held))); err != nil { // never reported
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			s.restart()
			now := s.writeAt(t, key, begin, held, data[held:min(held+1_500_000, begin+part)])
			if now < held {
				t.Fatalf("%d held after %d", now, held)
			}
			held = now
		}
	}
	s.wantPlanned(t, key, data)
	s.finish(t, key, data)
}

func testPlannedRefusesGap(t *testing.T, s *suite) {
	key := newKey()
	_, err := s.AppendAt(context.Background(), key, 0, 0)
	wantError(t, "AppendAt to nothing", err, blob.ErrGap)
	_, err = s.OpenPlanned(context.Background(), key, 100, 100)
	wantError(t, "OpenPlanned of nothing", err, blob.ErrNotFound)
	s.wantNothing(t, key)
	key, part := s.plan(t, 4, 0)
	s.writeAt(t, key, 0, 0, content(43, blob.Granule))
	_, err = s.AppendAt(context.Background(), key, 0, int64(part))
	wantError(t, "AppendAt behind the end", err, blob.ErrGap)
	if _, err := s.AppendAt(context.Background(), key, int64(part), 0); err == nil {
		t.Error("AppendAt before its part succeeded")
	}
}

func testPlannedDelete(t *testing.T, s *suite) {
	key, part := s.plan(t, 2, 0)
	s.writeAt(t, key, part, part, content(44, 1000))
	if err := s.Delete(context.Background(), key); err != nil {
		t.Fatal(err)
	}
	s.wantNothing(t, key)
	_, err := s.AppendAt(context.Background(), key, 0, 0)
	wantError(t, "AppendAt after Delete", err, blob.ErrGap)
	data := content(45, 1000)
	s.write(t, key, 0, 1000, data)
	s.finish(t, key, data)
}
