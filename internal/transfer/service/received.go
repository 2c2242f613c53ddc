// What a recipient changes of a received transfer: read, notes and pin.

package service

import (
	"context"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// maxNotes is how many bytes the notes of a recipient about a transfer may have.
const maxNotes = 4000

// ReceivedChange is what a recipient changes of a received transfer. Nil members are not given.
type ReceivedChange struct {
	Read   *bool
	Pinned *bool
	Notes  *string
}

// Remove changes the members among names, as in the API, to their defaults: not read, not pinned, no notes.
func (in *ReceivedChange) Remove(names []string) {
	off, empty := false, ""
	for _, name := range names {
		switch name {
		case "read":
			in.Read = &off
		case "pinned":
			in.Pinned = &off
		case "notes":
			in.Notes = &empty
		}
	}
}

func (in ReceivedChange) given() bool { return in.Read != nil || in.Pinned != nil || in.Notes != nil }

// patchReceived changes what a recipient notes about a locked transfer.
// Errors: transfer.ErrRecipientOnly, fault.ErrInvalid, those of pin.
func (s *Service) patchReceived(ctx context.Context, tx *postgres.Store, caller token.Caller, t postgres.SeenTransfer,
	in ReceivedChange) error {
	if t.Delivery.IsZero() {
		return transfer.ErrRecipientOnly
	}
	read, notes := t.Read, t.Notes
	if in.Read != nil {
		read = *in.Read
	}
	if in.Notes != nil {
		notes = *in.Notes
		var problems fault.Problems
		transfer.CheckBlock(&problems, "notes", notes, maxNotes)
		if err := problems.Err(); err != nil {
			return err
		}
	}
	changed := read != t.Read || notes != t.Notes
	if changed {
		if err := tx.UpdateReceived(ctx, t.UID, caller.Person, read, notes, notes != t.Notes); err != nil {
			return err
		}
	}
	if in.Pinned != nil && *in.Pinned != t.Pinned {
		changed = true
		if err := s.pin(ctx, tx, caller, t, *in.Pinned); err != nil {
			return err
		}
	}
	if !changed {
		return nil
	}
	return s.tell(ctx, tx, events.TransferUpdated, t.UID, []id.Person{caller.Person})
}

// pin keeps a transfer to the caller's mailbox from expiring, or lets it expire again: at its former expiry, but not before people could be
// warned.
// Errors: transfer.ErrPinning, transfer.ErrEnded, transfer.ErrStorageVolume.
func (s *Service) pin(ctx context.Context, tx *postgres.Store, caller token.Caller, t postgres.SeenTransfer, pinned bool) error {
	if t.Kind != transfer.KindMailbox {
		return transfer.ErrPinning.With("pinned: only a transfer to your mailbox can be pinned; those of others end when their sender says")
	}
	if t.State.Ended() || !s.now().Before(t.ExpiresAt) {
		return transfer.ErrEnded
	}
	action := "transfer.pin"
	if pinned {
		owner, err := tx.Owner(ctx, caller.Person, s.scope(caller))
		if err != nil {
			return err
		}
		if !owner.PinningEnabled {
			return transfer.ErrPinning.With("pinned: your organization does not allow it")
		}
		if owner.StorageExceeded() {
			return transfer.ErrStorageVolume
		}
		if err := tx.Pin(ctx, t.UID); err != nil {
			return err
		}
	} else {
		action = "transfer.unpin"
		if err := tx.Unpin(ctx, t.UID, s.now().Add(s.expiryWarning)); err != nil {
			return err
		}
	}
	return s.record(ctx, tx, audit.Of(caller), audit.Entry{Action: action, Object: t.UID.String()})
}

// ReleasePins lets pinned transfers whose expiry has passed expire after the time of a warning, where the storage volume is used up or the
// organization forbids pins.
func (s *Service) ReleasePins(ctx context.Context) error {
	return s.inBatches(ctx, func(tx *postgres.Store) (int, error) {
		now := s.now()
		released, err := tx.ReleasePins(ctx, now, now.Add(s.expiryWarning), expireBatch)
		if err != nil {
			return 0, err
		}
		// one order of locks
		slices.SortFunc(released, func(a, b postgres.ReleasedPin) int { return strings.Compare(a.Owner.String(), b.Owner.String()) })
		for _, r := range released {
			entry := audit.Entry{Action: "transfer.unpin", Object: r.Transfer.String(), Target: r.Owner}
			if err := s.record(ctx, tx, audit.Actor{Kind: audit.Job}, entry); err != nil {
				return 0, err
			}
			if err := s.tell(ctx, tx, events.TransferUpdated, r.Transfer, []id.Person{r.Owner}); err != nil {
				return 0, err
			}
		}
		return len(released), nil
	})
}
