// Tests of the free space that uploads leave.

package floor_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/disk"
	"github.com/consign-dev/consign/internal/blob/floor"
	"github.com/consign-dev/consign/internal/testkit/blobtest"
)

const gib = 1 << 30

// volume is a disk of 10 GiB whose free space the test sets.
type volume struct {
	free int64
	err  error
}

func (v *volume) measure(string) (free, size int64, err error) { return v.free, 10 * gib, v.err }

func watch(v *volume, bytes int64, percent float64, log io.Writer) *floor.Volume {
	return floor.New(floor.Options{Dir: "/data", Bytes: bytes, Percent: percent, Measure: v.measure,
		Log: slog.New(slog.NewTextHandler(log, nil))})
}

// TestFloorIsTheLesser: of a size and a share of the volume the lesser one is the floor, and neither is none.
func TestFloorIsTheLesser(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bytes   int64
		percent float64
		want    int64
	}{
		{2 * gib, 5, gib / 2}, {gib / 4, 5, gib / 4}, {2 * gib, 0, 2 * gib}, {0, 10, gib}, {0, 0, 0},
	} {
		s := watch(&volume{free: 3 * gib}, c.bytes, c.percent, io.Discard).State()
		if s.Floor != c.want || s.Free != 3*gib || s.Low() {
			t.Errorf("%d bytes or %v %%: %+v, want a floor of %d", c.bytes, c.percent, s, c.want)
		}
	}
	if s := watch(&volume{}, 0, 0, io.Discard).State(); s.Low() {
		t.Error("without a floor a full disk counts as low: the store finds out")
	}
	if s := watch(&volume{err: errors.New("away")}, gib, 0, io.Discard).State(); s.Known || s.Low() {
		t.Error("a volume that cannot be measured refuses uploads")
	}
}

// TestFloorRefuses: below the floor no upload begins, one under way ends after its checkpoint, and what it has synced stays. Reading
// and deleting go on.
func TestFloorRefuses(t *testing.T) {
	t.Parallel()
	under, err := disk.New(t.TempDir(), disk.OS())
	if err != nil {
		t.Fatal(err)
	}
	v := &volume{free: 5 * gib}
	s := watch(v, gib, 0, io.Discard).Store(under)
	const key = blob.Key("object-aaaa")
	w, err := s.Append(t.Context(), key, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	write := func(want error) {
		t.Helper()
		if _, err := w.Write([]byte("0123456789")); !errors.Is(err, want) {
			t.Fatalf("write: %v, want %v", err, want)
		}
	}
	write(nil)
	v.free = gib - 1
	write(nil) // it is measured at checkpoints, not at each write
	if held, err := w.Sync(); held != 20 || err != nil {
		t.Fatal(held, err)
	}
	write(blob.ErrFull)
	if held, err := w.Sync(); held != 20 || err != nil {
		t.Error("what arrived is not kept", held, err)
	}
	if _, err := s.Append(t.Context(), "object-bbbb", 0, 10); !errors.Is(err, blob.ErrFull) {
		t.Error("an upload begins below the floor", err)
	}
	if err := s.Finish(t.Context(), key, 20); err != nil {
		t.Error(err)
	}
	if r, err := s.Open(t.Context(), key); err != nil {
		t.Error(err)
	} else {
		_ = r.Close()
	}
	if err := s.Delete(t.Context(), key); err != nil {
		t.Error(err)
	}
	v.free = gib
	if _, err := s.Append(t.Context(), "object-bbbb", 0, 10); err != nil {
		t.Error("an upload does not begin at the floor", err)
	}
}

// TestFloorWithinOneCheckpoint: a fast upload is measured every 8 MiB, also when no checkpoint is due.
func TestFloorWithinOneCheckpoint(t *testing.T) {
	t.Parallel()
	under, err := disk.New(t.TempDir(), disk.OS())
	if err != nil {
		t.Fatal(err)
	}
	v := &volume{free: 5 * gib}
	w, err := watch(v, gib, 0, io.Discard).Store(under).Append(t.Context(), "object-aaaa", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	v.free = 0
	taken, mebibyte := 0, make([]byte, 1<<20)
	for range 20 {
		n, err := w.Write(mebibyte)
		taken += n
		if errors.Is(err, blob.ErrFull) {
			break
		}
	}
	if taken != 8<<20 {
		t.Errorf("%d bytes were taken below the floor", taken)
	}
}

// TestFloorLogsChanges: each change of the level is one line, however often it is measured.
func TestFloorLogsChanges(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	v := &volume{free: 5 * gib}
	w := watch(v, gib, 0, &log)
	for _, free := range []int64{5 * gib, 2*gib - 1, gib, gib - 1, 0, gib - 1, 2*gib - 1, 3 * gib, 5 * gib} {
		v.free = free
		w.Measure()
	}
	want := []string{"level=WARN", "level=ERROR", "level=ERROR", "level=ERROR", "level=WARN", "level=INFO"}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines:\n%s", len(lines), log.String())
	}
	for i, level := range want {
		if !strings.Contains(lines[i], level) || !strings.Contains(lines[i], "CONSIGN_STORAGE_FLOOR") {
			t.Errorf("line %d is %s", i, lines[i])
		}
	}
}

// TestFloorConformance: with enough room the store below is unchanged.
func TestFloorConformance(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) func() blob.Store {
		dir := t.TempDir()
		return func() blob.Store {
			under, err := disk.New(dir, disk.OS())
			if err != nil {
				t.Fatal(err)
			}
			return floor.New(floor.Options{Dir: dir, Bytes: 1, Log: slog.New(slog.DiscardHandler)}).Store(under)
		}
	})
}
