package service

import (
	"context"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/archive"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Archive is a transfer's objects as one zip, opened for reading.
type Archive struct {
	Transfer  id.Transfer
	CreatedAt time.Time // of the transfer
	Size      int64
	Download
}

// OpenArchive opens all objects of a transfer that the caller sent or received; who asks closes Content. The errors are
// those of OpenDownload.
func (s *Service) OpenArchive(ctx context.Context, w DownloadAuth, t id.Transfer) (Archive, error) {
	c, key, err := s.enter(ctx, w, id.Object{})
	if err != nil {
		return Archive{}, err
	}
	if key != nil && key.Transfer != t || c.Kind != token.KindAccess {
		return Archive{}, transfer.ErrOneTimeKey
	}
	opening, err := s.store.Opening(ctx, t, c.Person, s.scope(c))
	if err != nil {
		return Archive{}, err
	}
	if err := unlocked(opening); err != nil {
		return Archive{}, err
	}
	return s.archive(ctx, c, key, opening)
}

// OpenLinkedArchive is OpenArchive for who comes by the link of a delivery.
func (s *Service) OpenLinkedArchive(ctx context.Context, w DownloadAuth, link string) (Archive, error) {
	c, key, err := s.enter(ctx, w, id.Object{})
	if err != nil {
		return Archive{}, err
	}
	opening, err := s.store.LinkedOpening(ctx, seal.Hash(link), s.scope(c))
	if err != nil {
		return Archive{}, err
	}
	if err := sameDelivery(c, key, opening); err != nil {
		return Archive{}, err
	}
	return s.archive(ctx, c, key, opening)
}

// archive opens the zip. Its objects are opened one after the other while it is read.
func (s *Service) archive(ctx context.Context, c token.Caller, key *postgres.OneTimeKey, o postgres.Opening) (Archive, error) {
	l, release, err := s.layouts.take(ctx, o.Reservation, func() (layout, error) { return s.layOut(ctx, o) })
	if err != nil {
		return Archive{}, err
	}
	content := l.zip.Open(func(i int) (io.ReadSeekCloser, error) { return s.openObject(ctx, l.files[i].object, l.files[i].size) })
	return Archive{Transfer: o.Transfer, CreatedAt: o.CreatedAt, Size: l.zip.Size(), Download: Download{Content: sharedContent{content, release}, start: start{
		caller: c, opening: o, key: key,
		count: func(ctx context.Context) error { return s.store.CountArchive(ctx, o.Transfer) },
	}}}, nil
}

// layout is where a transfer's objects lie in its zip.
type layout struct {
	zip   *archive.Zip
	files []storedFile // in the order of the zip
}

type storedFile struct {
	object id.Object
	size   int64
}

func (s *Service) layOut(ctx context.Context, o postgres.Opening) (layout, error) {
	objects, err := s.store.Objects(ctx, o.Reservation)
	if err != nil {
		return layout{}, err
	}
	names, stored := make([]string, len(objects)), make([]storedFile, len(objects))
	for i, object := range objects {
		names[i], stored[i] = object.Name, storedFile{object.UID, object.IntendedSize}
	}
	files := make([]archive.File, len(objects))
	for i, name := range archive.Names(names) {
		files[i] = archive.File{Name: name, Size: objects[i].Held, CRC32: objects[i].CRC32}
	}
	return layout{archive.New(files, o.CreatedAt), stored}, nil
}

// layouts are those of the archives that are being read, each once however many read it: with ten thousand long names it takes six
// megabytes, and twice as many more while it is made.
type layouts struct {
	making *ratelimit.Semaphore

	mu   sync.Mutex
	held map[id.Reservation]*heldLayout
}

type heldLayout struct {
	readers int           // guarded by layouts.mu
	turn    chan struct{} // holds one while somebody makes the layout or looks whether it is made
	layout  *layout
}

func newLayouts() *layouts {
	return &layouts{making: ratelimit.NewSemaphore(runtime.GOMAXPROCS(0)), held: map[id.Reservation]*heldLayout{}}
}

// take gives the layout of a transfer, which makeIt makes where nobody reads it yet. release must be called, once.
func (l *layouts) take(ctx context.Context, r id.Reservation, makeIt func() (layout, error)) (_ *layout, release func(), err error) {
	l.mu.Lock()
	h := l.held[r]
	if h == nil {
		h = &heldLayout{turn: make(chan struct{}, 1)}
		l.held[r] = h
	}
	h.readers++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if h.readers--; h.readers == 0 {
			delete(l.held, r)
		}
	}
	defer func() {
		if release == nil { // also after a panic
			leave()
		}
	}()
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	if h.layout != nil {
		return h.layout, leave, nil
	}
	done, err := l.making.Acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	made, err := makeIt()
	if err != nil {
		return nil, nil, err
	}
	h.layout = &made
	return h.layout, leave, nil
}

// sharedContent releases a layout when its reader closes.
type sharedContent struct {
	*archive.Reader
	release func()
}

// Close implements io.Closer.
func (c sharedContent) Close() error {
	c.release()
	return c.Reader.Close()
}
