package service_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

// TestUploadBesideRemovals: removing thousands of files locks the volumes, which every upload of the organization needs, only
// after everything that takes long.
func TestUploadBesideRemovals(t *testing.T) {
	t.Parallel()
	for name, removal := range map[string]struct {
		hold string // locks that the removal waits for
		run  func(w *world, stranger token.Caller, r id.Reservation) error
	}{
		"a reservation is cancelled": {
			`SELECT FROM transfer.segment_charges FOR KEY SHARE`,
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
				w.exec(`UPDATE transfer.transfers SET expires_at = $1`, w.clock.Now())
				return w.ExpireTransfers(context.Background())
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, stranger, r := newReservation(t)
			w.attach(stranger, r, "a", 3)
			mustUpload(w, stranger, r, "a", whole([]byte("abc")))
			release := w.hold(removal.hold)
			done := make(chan error, 1)
			go func() { done <- removal.run(w, stranger, r) }()
			w.waiting(1)

			bob, other := w.reserve()
			w.attach(bob, other, "a", 3)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if _, err := w.Upload(ctx, bob, other, "a", whole([]byte("abc"))); err != nil {
				t.Errorf("another person's upload: %v", err)
			}
			release()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if n := w.count(`SELECT bytes FROM transfer.stored_totals`); n != 3+transfer.ObjectCost {
				t.Errorf("%d bytes are stored, want the other's 3 and its object", n)
			}
		})
	}
}

// TestMailboxDeletedWithStrangersFiles: deleting a mailbox does not wait for the deletion of all reservations on it. The
// mailbox is gone at once, also when a new one is created, and its volume is released.
func TestMailboxDeletedWithStrangersFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.mailbox()
	stranger, r := w.reserve()
	w.attach(stranger, r, "a", 3)
	mustUpload(w, stranger, r, "a", whole([]byte("abc")))
	release := w.hold(`SELECT FROM transfer.objects FOR UPDATE`) // like a slow removal
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := w.DeleteMailbox(ctx, ann); err != nil {
		t.Fatal(err)
	}
	release()
	if _, _, err := w.PutMailbox(t.Context(), ann, transfer.Mailbox{VanityLink: "ann"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.Reservation(t.Context(), stranger, r); !errors.Is(err, transfer.ErrNotFound) {
		t.Errorf("the reservation answers %v", err)
	}
	if _, err := w.Upload(t.Context(), stranger, r, "a", whole([]byte("abc"))); !errors.Is(err, transfer.ErrNotFound) {
		t.Errorf("an upload answers %v", err)
	}
	if list, err := w.OpenReservations(t.Context(), ann); err != nil || len(list) != 0 {
		t.Errorf("open reservations: %v, %v", list, err)
	}
	if err := w.ExpireReservations(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.count(`SELECT (SELECT count(*) FROM transfer.reservations) + (SELECT sum(held) FROM transfer.volume_totals)
		+ (SELECT sum(bytes) FROM transfer.stored_totals)`); n != 0 {
		t.Errorf("%d things are left", n)
	}
}
