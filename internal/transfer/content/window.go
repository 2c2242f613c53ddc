package content

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Limits bound what uploads occupy.
type Limits struct {
	Window                  int64         // bytes of volume that one request reserves ahead of what arrived
	MinimumRate             int64         // bytes a second of a request's body; 0: none
	RatePeriod              time.Duration // time over which the rate is averaged
	UnconfirmedBytes        int64         // of strangers at one mailbox
	NetworkUnconfirmedBytes int64         // of one client network at one mailbox
	ReservationUploads      int           // parallel uploads to one reservation
	NetworkUploads          int           // parallel uploads of one client network
	Uploads                 int           // parallel uploads in this process
}

// writerLease is a writer's hold on an object with the volume that was reserved for it: only the writer of the highest epoch
// may advance the object.
type writerLease struct {
	epoch   int64
	granted int64     // bytes reserved
	month   time.Time // to which the volume is charged
}

// reserve reserves volume for the writer of a locked object: want bytes, or as many as fit, at least one.
// Errors: transfer.ErrStorageVolume, transfer.ErrPersonalVolume, transfer.ErrSubscriptionVolume, transfer.ErrMailboxUnconfirmed,
// transfer.ErrClientUnconfirmed; the caller then rolls back.
func (s *Service) reserve(ctx context.Context, tx *postgres.Store, u postgres.Upload, want, raise int64, month time.Time) (writerLease, error) {
	v, err := tx.ReserveVolume(ctx, u, want, raise, leaseTime, month)
	switch {
	case err != nil:
		return writerLease{}, err
	case v.Storage == nil:
		return writerLease{}, transfer.ErrStorageVolume
	case v.Person == nil:
		return writerLease{}, transfer.ErrPersonalVolume
	case v.Organization == nil && !u.Organization.IsZero():
		return writerLease{}, transfer.ErrSubscriptionVolume
	}
	granted := min(want, room(u.StorageLimit, v.Storage, want), room(u.UploadLimit, v.Person, want), room(u.OrganizationLimit, v.Organization, want))
	if u.Creator.IsZero() { // the lock on the owner's volume makes the sum exact
		sum, err := tx.Unconfirmed(ctx, u.Owner, u.Client)
		if err != nil {
			return writerLease{}, err
		}
		granted = min(granted, s.limits.UnconfirmedBytes-(sum.All-want))
		if granted <= 0 {
			return writerLease{}, transfer.ErrMailboxUnconfirmed
		}
		if u.Client != "" {
			granted = min(granted, s.limits.NetworkUnconfirmedBytes-(sum.Client-want))
		}
		if granted <= 0 {
			return writerLease{}, transfer.ErrClientUnconfirmed
		}
	}
	if granted < want {
		if err := tx.ReturnReserved(ctx, u, want-granted, month); err != nil {
			return writerLease{}, err
		}
	}
	return writerLease{epoch: v.Epoch, granted: granted, month: month}, nil
}

// room returns how many of want bytes fit under a limit. A negative limit is none.
func room(limit int64, used *int64, want int64) int64 {
	if limit < 0 || used == nil {
		return want
	}
	return min(want, limit-*used)
}

// ahead returns for how many bytes beyond those written volume is reserved.
func (w *session) ahead() int64 { return w.held + w.reserved - w.written }

// moveWindow reserves more volume when less than half of the window is left. A refusal counts once the window is used up.
func (w *session) moveWindow(ctx context.Context) error {
	ahead := w.ahead()
	missing := w.end - w.written - ahead
	if missing <= 0 || ahead > w.s.limits.Window/2 {
		return nil
	}
	var more writerLease
	err := w.s.store.InTx(ctx, func(tx *postgres.Store) error {
		ours, err := tx.LockWriter(ctx, w.row.UID, w.lease.epoch)
		if err != nil {
			return storageError("lock object", err)
		}
		if !ours {
			return transfer.ErrOvertaken
		}
		more, err = w.s.reserve(ctx, tx, w.row, min(missing, w.s.limits.Window-ahead), 0, w.lease.month)
		return err
	})
	if transfer.VolumeRefused(err) && ahead > 0 {
		return nil
	}
	if err != nil {
		return err
	}
	w.reserved += more.granted
	return nil
}
