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

// TestLayoutsAreShared: one layout is made for all who read an archive at once, also when the first could not make it or went, and none
// is kept when the last has gone.
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
				got, release, err := l.acquire(t.Context(), r, func() (layout, error) {
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
		if _, _, err := l.acquire(gone, r, nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		close(done)
		reading.Wait()
		if made.Load() != 2 || failed.Load() != 1 || len(l.entries) != 0 {
			t.Errorf("made %d times, %d failed, %d are kept", made.Load(), failed.Load(), len(l.entries))
		}
	})
}

// closing notes that it was closed.
type closing struct {
	io.ReadSeeker
	closed *bool
}

// Close implements io.Closer.
func (c closing) Close() error {
	*c.closed = true
	return nil
}

// TestArchiveLetsGo: who stops in the middle of an archive leaves neither its layout nor a file behind.
func TestArchiveLetsGo(t *testing.T) {
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

// TestLayoutThatPanics: who cannot make a layout, whatever the reason, does not read it: it is not kept for the others for ever.
func TestLayoutThatPanics(t *testing.T) {
	t.Parallel()
	l, r := newLayouts(), id.New[id.Reservation]()
	func() {
		defer func() { _ = recover() }()
		_, _, _ = l.acquire(t.Context(), r, func() (layout, error) { panic("a name that nobody thought of") })
	}()
	_, release, err := l.acquire(t.Context(), r, func() (layout, error) { return layout{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	release()
	if len(l.entries) != 0 {
		t.Errorf("%d layouts are kept", len(l.entries))
	}
}

// TestLayoutsAreMadeInTurn: different archives wait for each other while they are laid out, which takes memory, and no longer.
func TestLayoutsAreMadeInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLayouts()
		var making, most atomic.Int32
		step := make(chan struct{})
		var reading sync.WaitGroup
		for range 4 * runtime.GOMAXPROCS(0) {
			reading.Go(func() {
				_, release, err := l.acquire(t.Context(), id.New[id.Reservation](), func() (layout, error) {
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
