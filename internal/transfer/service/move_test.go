package service_test

import (
	"context"
	"errors"
	"testing"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/blob/disk"
	"github.com/consign-dev/consign/internal/blob/pair"
	"github.com/consign-dev/consign/internal/transfer/content"
)

// hookedStore calls a function before an object is written, and one after it was finished.
type hookedStore struct {
	blob.Store
	begun, finished func()
}

func (s hookedStore) Append(ctx context.Context, key blob.Key, offset, size int64) (blob.Writer, error) {
	s.begun()
	return s.Store.Append(ctx, key, offset, size)
}

func (s hookedStore) Finish(ctx context.Context, key blob.Key, size int64) error {
	err := s.Store.Finish(ctx, key, size)
	s.finished()
	return err
}

// TestMoveBesidePurge: a file that is discarded while it is copied to another place, or while the copy is compared, does not stay there. A
// place without room ends the move with an error.
func TestMoveBesidePurge(t *testing.T) {
	t.Parallel()
	nothing := func() {}
	full := errors.New("no room")
	for name, is := range map[string]struct {
		discards func(*hookedStore, func())
		room     error
		want     content.MoveResult
	}{
		"nothing happens":         {want: content.MoveResult{Segments: 1, Bytes: 5000}},
		"discarded while copied":  {discards: func(s *hookedStore, do func()) { s.begun = do }, want: content.MoveResult{Busy: 1}},
		"discarded when finished": {discards: func(s *hookedStore, do func()) { s.finished = do }, want: content.MoveResult{Busy: 1}},
		"no room":                 {room: full},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mailbox()
			c, r := w.reserve()
			w.attach(c, r, "a", 5000)
			mustUpload(w, c, r, "a", whole(random(5000)))
			w.exec(`UPDATE transfer.segments SET lease_until = NULL`)
			place, err := disk.New(t.TempDir(), disk.OS())
			if err != nil {
				t.Fatal(err)
			}
			fresh := hookedStore{place, nothing, nothing}
			if is.discards != nil {
				is.discards(&fresh, func() {
					w.exec(`INSERT INTO transfer.discarded_objects (object, discarded_at, busy_until)
						SELECT object, now(), 'infinity' FROM transfer.segments ON CONFLICT DO NOTHING`)
				})
			}
			places := pair.New(fresh, w.blobs)
			_, mover := w.serve(places)
			var last content.Progress
			got, err := mover.Move(t.Context(), places, func() error { return is.room }, func(p content.Progress) { last = p })
			if got != is.want || (err != nil) != (is.room != nil) {
				t.Errorf("moved %+v, %v, want %+v", got, err, is.want)
			}
			if end := (content.Progress{Objects: 1, TotalObjects: 1, Bytes: 5000, TotalBytes: 5000}); err == nil && last != end {
				t.Errorf("the progress at the end is %+v", last)
			}
			held := map[blob.Store]int{}
			for _, in := range []blob.Store{place, w.blobs} {
				if err := in.List(t.Context(), func(blob.Info) error { held[in]++; return nil }); err != nil {
					t.Fatal(err)
				}
			}
			if held[place] != is.want.Segments || held[w.blobs] != 1-is.want.Segments {
				t.Errorf("%d in the new place, %d in the old", held[place], held[w.blobs])
			}
		})
	}
}
