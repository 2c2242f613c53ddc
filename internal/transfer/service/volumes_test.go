package service_test

import (
	"context"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
)

// TestUploadBesideRemovals: what removes thousands of files holds the volumes, which every upload of the organization needs, not before
// all that takes long is done.
func TestUploadBesideRemovals(t *testing.T) {
	t.Parallel()
	for name, removal := range map[string]struct {
		hold string // what the removal waits for in the middle of its work
		run  func(w *world, stranger token.Caller, r id.Reservation) error
	}{
		"a reservation is cancelled": {
			`SELECT FROM transfer.object_charges FOR KEY SHARE`,
			func(w *world, stranger token.Caller, r id.Reservation) error {
				return w.CancelReservation(context.Background(), stranger, r)
			},
		},
		"a transfer expires": {
			`INSERT INTO transfer.discarded_objects (object, discarded_at) SELECT uid, now() FROM transfer.objects`,
			func(w *world, stranger token.Caller, r id.Reservation) error {
				if _, err := w.Confirm(context.Background(), stranger, r); err != nil {
					return err
				}
				w.exec(`UPDATE transfer.transfers SET expires_at = $1`, w.now())
				return w.ExpireTransfers(context.Background())
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mailbox()
			stranger, r := w.reserve()
			w.attach(stranger, r, "a", 3)
			mustUpload(w, stranger, r, "a", whole([]byte("abc")))
			release := w.hold(removal.hold)
			done := make(chan error, 1)
			go func() { done <- removal.run(w, stranger, r) }()
			w.until(func() bool { return w.blocked() == 1 })

			bob, other := w.reserve()
			w.attach(bob, other, "a", 3)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if _, err := w.Upload(ctx, bob, other, "a", whole([]byte("abc"))); err != nil {
				t.Errorf("somebody else's upload: %v", err)
			}
			release()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if n := w.count(`SELECT bytes FROM transfer.stored_volumes`); n != 3 {
				t.Errorf("%d bytes are stored, want the other's 3", n)
			}
		})
	}
}
