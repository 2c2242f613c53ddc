// Package floor keeps a part of a volume free: it refuses uploads before the disk is full, so that the database on the same
// volume, sign-in and deletion keep working.
package floor

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/consign-dev/consign/internal/blob"
)

const (
	// checkBytes is how many bytes a Writer takes between two measurements. A Sync is followed by one, too.
	checkBytes = 8 << 20
	// measureEvery is how often Run measures.
	measureEvery = 5 * time.Second
)

// Options say what is measured and how much of it stays free. The floor is the lesser of Bytes and Percent; 0 means not
// given. With neither, nothing is refused.
type Options struct {
	Dir     string // directory on the volume
	Bytes   int64
	Percent float64 // of the volume's size
	// Measure returns the bytes that this user can still write and the size of the volume. nil: the operating system.
	Measure func(dir string) (free, size int64, err error)
	Log     *slog.Logger
}

// State is the result of the last measurement.
type State struct {
	Free, Size, Floor int64 // bytes
	Known             bool  // there was a measurement
}

// Low reports whether uploads are refused.
func (s State) Low() bool { return s.Known && s.Free < s.Floor }

// RowFloor returns the bytes below which nothing is added to the database that is for content: half of Floor. The rest is for
// signing in, for mails and for making room.
func (s State) RowFloor() int64 { return s.Floor / 2 }

// LowForRows reports whether rows for content are refused.
func (s State) LowForRows() bool { return s.Known && s.Free < s.RowFloor() }

// Volume measures the free space of a volume. It is safe for concurrent use.
type Volume struct {
	options Options
	last    atomic.Pointer[State]

	mu    sync.Mutex // guards level, so that each change is logged once
	level level
}

// level says how near the floor is. Each change is logged.
type level int

const (
	enough level = iota
	near         // less than twice the floor is free
	low          // less than the floor is free
	lowest       // less than half of it is free
)

// New returns a Volume. It measures once.
func New(o Options) *Volume {
	if o.Measure == nil {
		o.Measure = measure
	}
	v := &Volume{options: o}
	v.last.Store(&State{})
	v.Measure()
	return v
}

// State returns the result of the last measurement. It never waits for the volume.
func (v *Volume) State() State { return *v.last.Load() }

// Measure measures the volume now. A failure leaves the last state. The store's own calls then return the error.
func (v *Volume) Measure() State {
	free, size, err := v.options.Measure(v.options.Dir)
	if err != nil {
		v.options.Log.Debug("free space not measured", "directory", v.options.Dir, "error", err)
		return v.State()
	}
	s := State{Free: free, Size: size, Floor: v.options.floor(size), Known: true}
	v.last.Store(&s)
	v.report(s)
	return s
}

// floor returns the bytes to keep free on a volume of this size.
func (o Options) floor(size int64) int64 {
	share := int64(float64(size) / 100 * o.Percent)
	switch {
	case o.Percent == 0:
		return o.Bytes
	case o.Bytes == 0:
		return share
	}
	return min(o.Bytes, share)
}

func (v *Volume) report(s State) {
	now := enough
	switch {
	case s.LowForRows():
		now = lowest
	case s.Low():
		now = low
	case s.Free < 2*s.Floor:
		now = near
	}
	v.mu.Lock()
	before := v.level
	v.level = now
	v.mu.Unlock()
	if now == before {
		return
	}
	log := v.options.Log.With("directory", v.options.Dir, "free", s.Free, "floor", s.Floor)
	switch now {
	case lowest:
		log.Error("uploads and all else that stores something new are refused: less space is free than half of CONSIGN_STORAGE_FLOOR")
	case low:
		log.Error("uploads are refused: the volume has less free space than CONSIGN_STORAGE_FLOOR")
	case near:
		log.Warn("free space is less than twice CONSIGN_STORAGE_FLOOR; below it uploads are refused")
	case enough:
		log.Info("free space is more than twice CONSIGN_STORAGE_FLOOR again")
	}
}

// Room measures the volume.
// Errors: blob.ErrFull below the floor.
func (v *Volume) Room() error {
	if s := v.Measure(); s.Low() {
		return fmt.Errorf("%w: %d bytes free, CONSIGN_STORAGE_FLOOR keeps %d", blob.ErrFull, s.Free, s.Floor)
	}
	return nil
}

// RoomForRows measures the volume.
// Errors: blob.ErrFull below the lower floor.
func (v *Volume) RoomForRows() error {
	if s := v.Measure(); s.LowForRows() {
		return fmt.Errorf("%w: %d bytes free, half of CONSIGN_STORAGE_FLOOR is %d", blob.ErrFull, s.Free, s.RowFloor())
	}
	return nil
}

// Run measures until ctx ends, so that the state is current without uploads.
func (v *Volume) Run(ctx context.Context) error {
	tick := time.NewTicker(measureEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			v.Measure()
		}
	}
}

// Store returns s with an Append that refuses bytes below the floor. All other calls work at any level: finishing, reading
// and deleting take no space that matters.
func (v *Volume) Store(s blob.Store) blob.Store { return &store{Store: s, volume: v} }

type store struct {
	blob.Store
	volume *Volume
}

// Append implements blob.Store.
func (s *store) Append(ctx context.Context, key blob.Key, offset, size int64) (blob.Writer, error) {
	if err := s.volume.Room(); err != nil {
		return nil, fmt.Errorf("append to blob %s: %w", key, err)
	}
	w, err := s.Store.Append(ctx, key, offset, size)
	if err != nil {
		return nil, err
	}
	return &writer{Writer: w, volume: s.volume}, nil
}

type writer struct {
	blob.Writer
	volume *Volume
	taken  int64 // bytes since the last measurement
	due    bool  // measure before the next byte
}

// Write implements blob.Writer. With blob.ErrFull because of the floor it has taken nothing of p.
func (w *writer) Write(p []byte) (int, error) {
	if w.due || w.taken >= checkBytes {
		if err := w.volume.Room(); err != nil {
			return 0, err
		}
		w.taken, w.due = 0, false
	}
	n, err := w.Writer.Write(p)
	w.taken += int64(n)
	return n, err
}

// Sync implements blob.Writer.
func (w *writer) Sync() (int64, error) {
	w.due = true
	return w.Writer.Sync()
}
