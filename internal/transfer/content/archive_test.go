package content

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/consign-dev/consign/internal/archive"
	"github.com/consign-dev/consign/internal/id"
)

// TestLayoutsAreShared: all concurrent readers of an archive share one layout, also when the first reader fails or leaves. The
// last reader removes it.
func TestLayoutsAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, r := newLayouts(), id.New[id.Reservation]()
		var made, failed atomic.Int32
		broken, done := errors.New("the database has gone"), make(chan struct{})
		var reading, have sync.WaitGroup
		have.Add(19)
		for i := range 20 {
			reading.Go(func() {
				got, release, err := l.acquire(t.Context(), layoutKey{reservation: r}, func() (layout, error) {
					<-done
					if made.Add(1) == 1 {
						return layout{}, broken
					}
					return layout{files: make([]storedFile, 3)}, nil
				})
				if err != nil {
					if failed.Add(1); !errors.Is(err, broken) {
						t.Error(err)
					}
					return
				}
				if len(got.files) != 3 {
					t.Errorf("reader %d has %d files", i, len(got.files))
				}
				have.Done()
				have.Wait()
				release()
			})
		}
		synctest.Wait()
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, _, err := l.acquire(gone, layoutKey{reservation: r}, nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		close(done)
		reading.Wait()
		if made.Load() != 2 || failed.Load() != 1 || len(l.entries) != 0 {
			t.Errorf("made %d times, %d failed, %d are kept", made.Load(), failed.Load(), len(l.entries))
		}
	})
}

// closing records that it was closed.
type closing struct {
	io.ReadSeeker
	closed *bool
}

// Close implements io.Closer.
func (c closing) Close() error {
	*c.closed = true
	return nil
}

// TestClosedArchiveReleasesEverything: closing a half-read archive releases its layout and its open file.
func TestClosedArchiveReleasesEverything(t *testing.T) {
	t.Parallel()
	released, closed := false, false
	zip := archive.New([]archive.File{{Name: "plan.pdf", Size: 1000}}, time.Now())
	content := releasingReader{zip.Open(func(int) (io.ReadSeekCloser, error) {
		return closing{bytes.NewReader(make([]byte, 1000)), &closed}, nil
	}), func() { released = true }}
	if _, err := io.CopyN(io.Discard, content, 500); err != nil || released || closed {
		t.Fatal(err, released, closed)
	}
	if err := content.Close(); err != nil || !released || !closed {
		t.Error(err, released, closed)
	}
}

// TestLayoutThatPanics: a panic while computing a layout does not keep it in the cache.
func TestLayoutThatPanics(t *testing.T) {
	t.Parallel()
	l, r := newLayouts(), id.New[id.Reservation]()
	func() {
		defer func() { _ = recover() }()
		_, _, _ = l.acquire(t.Context(), layoutKey{reservation: r}, func() (layout, error) { panic("unexpected name") })
	}()
	_, release, err := l.acquire(t.Context(), layoutKey{reservation: r}, func() (layout, error) { return layout{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	release()
	if len(l.entries) != 0 {
		t.Errorf("%d layouts are kept", len(l.entries))
	}
}

// TestLayoutStays: a layout stays as long as somebody reads, also after the reader who made it has left.
func TestLayoutStays(t *testing.T) {
	t.Parallel()
	l, r := newLayouts(), layoutKey{reservation: id.New[id.Reservation]()}
	made := 0
	acquire := func() (release func()) {
		_, release, err := l.acquire(t.Context(), r, func() (layout, error) { made++; return layout{}, nil })
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	first := acquire()
	second := acquire()
	first()
	third := acquire()
	second()
	third()
	if made != 1 || len(l.entries) != 0 {
		t.Errorf("made %d times, %d are kept", made, len(l.entries))
	}
}

// TestLayoutsAreComputedInTurn: a semaphore limits how many layouts are computed at once.
func TestLayoutsAreComputedInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLayouts()
		var making, most atomic.Int32
		step := make(chan struct{})
		var reading sync.WaitGroup
		for range 4 * runtime.GOMAXPROCS(0) {
			reading.Go(func() {
				_, release, err := l.acquire(t.Context(), layoutKey{reservation: id.New[id.Reservation]()}, func() (layout, error) {
					most.Store(max(most.Load(), making.Add(1)))
					<-step
					making.Add(-1)
					return layout{}, nil
				})
				if err != nil {
					t.Error(err)
					return
				}
				defer release()
			})
		}
		for range 4 * runtime.GOMAXPROCS(0) {
			synctest.Wait()
			step <- struct{}{}
		}
		reading.Wait()
		if int(most.Load()) != runtime.GOMAXPROCS(0) {
			t.Errorf("%d were made at once", most.Load())
		}
	})
}
