// The zip of the objects of a transfer. Readers that run in parallel share its layout.

package content

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/archive"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/transfer"
)

// Archive is a zip of all objects of a reservation, opened for reading.
type Archive struct {
	Content io.ReadSeekCloser
	Size    int64 // bytes
}

// OpenArchive opens the zip of a reservation's complete objects, or of those in only, under the names that they have in the zip of
// all, if the gate of the transfer lets all of them pass. created is the time that its entries carry. An object is opened when the reader
// reaches it. The caller closes the archive.
// Errors: transfer.ErrNotFound when an object of only is not one of the reservation, transfer.ErrBeingChecked, transfer.ErrHeld,
// transfer.ErrRemoved, transfer.ErrDamaged.
func (s *Service) OpenArchive(ctx context.Context, r id.Reservation, created time.Time, only []id.Object,
	g transfer.Gate) (Archive, error) {
	if err := s.checkArchive(ctx, r, only, g); err != nil {
		return Archive{}, err
	}
	l, release, err := s.layouts.acquire(ctx, layoutKey{r, fmt.Sprint(only)},
		func() (layout, error) { return s.newLayout(ctx, r, created, only) })
	if err != nil {
		return Archive{}, err
	}
	if slices.ContainsFunc(l.files, func(f storedFile) bool { return f.damaged }) {
		release()
		return Archive{}, transfer.ErrDamaged
	}
	content := l.zip.Open(func(i int) (io.ReadSeekCloser, error) {
		return s.openVerified(ctx, l.files[i])
	})
	return Archive{Content: releasingReader{content, release}, Size: l.zip.Size()}, nil
}

// releasingReader releases the layout when the reader is closed.
type releasingReader struct {
	*archive.Reader
	release func()
}

// Close implements io.Closer.
func (r releasingReader) Close() error {
	r.release()
	return r.Reader.Close()
}

// layout says where a reservation's objects are in its zip.
type layout struct {
	zip   *archive.Zip
	files []storedFile // in the order of the zip
}

func (s *Service) newLayout(ctx context.Context, r id.Reservation, created time.Time, only []id.Object) (layout, error) {
	objects, err := s.store.Objects(ctx, r)
	if err != nil {
		return layout{}, err
	}
	names := make([]string, len(objects))
	for i, object := range objects {
		names[i] = object.Name
	}
	var stored []storedFile
	var files []archive.File
	for i, name := range archive.Names(names) {
		if o := objects[i]; len(only) == 0 || slices.Contains(only, o.UID) {
			files = append(files, archive.File{Name: name, Size: o.Held, CRC32: o.CRC32})
			stored = append(stored, fileOf(o))
		}
	}
	if len(only) > 0 && len(stored) != len(only) {
		return layout{}, transfer.ErrNotFound
	}
	return layout{archive.New(files, created), stored}, nil
}

// layouts shares one layout among all readers of the same archive. A layout of ten thousand long names takes 6 MB, and
// another 12 MB while it is computed; a semaphore limits how many are computed in parallel.
type layouts struct {
	computing *ratelimit.Semaphore

	mu      sync.Mutex
	entries map[layoutKey]*layoutEntry
}

// layoutKey identifies a zip. only is the list of its objects as text, "[]" for all.
type layoutKey struct {
	reservation id.Reservation
	only        string
}

type layoutEntry struct {
	readers int           // guarded by layouts.mu
	lock    chan struct{} // of capacity 1, a mutex that can be waited for with a context; guards layout
	layout  *layout       // nil: not computed yet
}

func newLayouts() *layouts {
	return &layouts{computing: ratelimit.NewSemaphore(runtime.GOMAXPROCS(0)), entries: map[layoutKey]*layoutEntry{}}
}

// acquire returns the layout of a zip, computed by compute when no reader has it yet. The caller calls release
// exactly once; the last release removes the layout.
func (l *layouts) acquire(ctx context.Context, r layoutKey, compute func() (layout, error)) (_ *layout, release func(), err error) {
	l.mu.Lock()
	e := l.entries[r]
	if e == nil {
		e = &layoutEntry{lock: make(chan struct{}, 1)}
		l.entries[r] = e
	}
	e.readers++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if e.readers--; e.readers == 0 {
			delete(l.entries, r)
		}
	}
	defer func() {
		if release == nil { // also after a panic
			leave()
		}
	}()
	select {
	case e.lock <- struct{}{}:
		defer func() { <-e.lock }()
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	if e.layout != nil {
		return e.layout, leave, nil
	}
	done, err := l.computing.Acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	computed, err := compute()
	if err != nil {
		return nil, nil, err
	}
	e.layout = &computed
	return e.layout, leave, nil
}
