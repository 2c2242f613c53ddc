package content

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// Limits bound what uploads occupy.
type Limits struct {
	Window             int64         // bytes of volume that one request reserves ahead of what arrived
	MinimumRate        int64         // bytes a second of a request's body; 0: none
	RatePeriod         time.Duration // time over which the rate is averaged
	UnconfirmedBytes   int64         // of strangers at one mailbox
	OrganizationBytes  int64         // of strangers at all mailboxes of an organization; 0: no bound
	NetworkShare       int           // percent that one client network may take of each of these
	ReservationUploads int           // parallel uploads to one reservation
	NetworkUploads     int           // parallel uploads of one client network
	Uploads            int           // parallel uploads in this process
}

// grant is the epoch of a new writer, and the volume that was reserved for it.
type grant struct {
	epoch int64
	bytes int64
	month time.Time // to which they are charged
}

// reserve reserves volume for the writer of a locked segment: want bytes, or as many as fit, at least one.
// Errors: transfer.ErrStorageVolume, transfer.ErrPersonalVolume, transfer.ErrSubscriptionVolume, transfer.ErrMailboxUnconfirmed,
// transfer.ErrClientUnconfirmed; the caller then rolls back.
func (s *Service) reserve(ctx context.Context, tx *postgres.Store, u postgres.Upload, want, raise int64, month time.Time) (grant, error) {
	v, err := tx.ReserveVolume(ctx, u, want, raise, leaseTime, month)
	switch {
	case err != nil:
		return grant{}, err
	case v.Storage == nil:
		return grant{}, transfer.ErrStorageVolume
	case v.Person == nil:
		return grant{}, transfer.ErrPersonalVolume
	case v.Organization == nil && !u.Organization.IsZero():
		return grant{}, transfer.ErrSubscriptionVolume
	}
	granted := min(want, room(u.StorageLimit, v.Storage, want), room(u.UploadLimit, v.Person, want),
		room(u.OrganizationLimit, v.Organization, want))
	if u.Creator.IsZero() {
		var refusal error
		if granted, refusal, err = s.boundStranger(ctx, tx, u.Payer, want, granted); err != nil {
			return grant{}, err
		}
		if granted <= 0 {
			return grant{}, refusal
		}
	}
	if granted < want {
		if err := tx.ReturnReserved(ctx, u, want-granted, month); err != nil {
			return grant{}, err
		}
	}
	return grant{epoch: v.Epoch, bytes: granted, month: month}, nil
}

var (
	errOrganization = transfer.ErrMailboxUnconfirmed.With(
		"unfinished transfers to mailboxes of this organization hold as many bytes as they may; what arrived is kept, go on when others are " +
			"confirmed or have expired")
	errOrganizationClient = transfer.ErrClientUnconfirmed.With(
		"unfinished transfers of your network to mailboxes of this organization hold as many bytes as they may; what arrived is kept, confirm " +
			"or cancel one, then go on")
)

// boundStranger returns how many of the granted bytes a stranger's reservation may take. want bytes are counted already. When these are
// fewer, refusal is transfer.ErrMailboxUnconfirmed or transfer.ErrClientUnconfirmed.
func (s *Service) boundStranger(ctx context.Context, tx *postgres.Store, p postgres.Payer, want,
	granted int64) (fit int64, refusal, err error) {
	l := s.limits
	networks, atMailbox := ratelimit.Bounds(p.Client, l.NetworkShare, l.UnconfirmedBytes)
	_, atOrganization := ratelimit.Bounds(p.Client, l.NetworkShare, l.OrganizationBytes)
	sum, err := tx.Unconfirmed(ctx, p, networks)
	if err != nil {
		return 0, nil, err
	}
	bound := func(room int64, because error) {
		if room < granted {
			granted, refusal = room, because
		}
	}
	all := func(limit, used int64, clients []int64, because error) {
		room := limit - (used - want)
		if len(clients) > 0 {
			room = max(room, min(limit+limit/transfer.KeptBytes-(used-want), limit/transfer.LittleBytes-(clients[0]-want)))
		}
		bound(room, because)
	}
	each := func(most, used []int64, because error) {
		for i, limit := range most {
			if limit > 0 {
				bound(limit-(used[i]-want), because)
			}
		}
	}
	if l.UnconfirmedBytes > 0 {
		all(l.UnconfirmedBytes, sum.Mailbox, sum.MailboxClient, transfer.ErrMailboxUnconfirmed)
	}
	if !transfer.IsHouse(sum.OwnNetworks, ratelimit.NetworkOf(p.Client)) {
		each(atMailbox, sum.MailboxClient, transfer.ErrClientUnconfirmed)
	}
	if !p.Organization.IsZero() && l.OrganizationBytes > 0 {
		all(l.OrganizationBytes, sum.Organization, sum.OrganizationClient, errOrganization)
	}
	each(atOrganization, sum.OrganizationClient, errOrganizationClient)
	return granted, refusal, nil
}

// ChargeMetadata charges bytes of texts and names to the volumes that pay for an open reservation, all or nothing. It refunds a
// negative number. The caller has stored the texts, and calls it last in tx, because it locks volumes.
// Errors: transfer.ErrStorageVolume, transfer.ErrPersonalVolume, transfer.ErrSubscriptionVolume, transfer.ErrMailboxUnconfirmed,
// transfer.ErrClientUnconfirmed; the caller then rolls back.
func (s *Service) ChargeMetadata(ctx context.Context, tx *postgres.Store, p postgres.Payer, bytes int64, month time.Time) error {
	if bytes == 0 {
		return nil
	}
	if bytes < 0 {
		return tx.RefundMetadata(ctx, p, -bytes, month)
	}
	charged, err := tx.ChargeMetadata(ctx, p, bytes, month)
	switch {
	case err != nil:
		return err
	case !charged.Storage:
		return transfer.ErrStorageVolume
	case !charged.Person:
		return transfer.ErrPersonalVolume
	case !charged.Organization && !p.Organization.IsZero():
		return transfer.ErrSubscriptionVolume
	case !p.Creator.IsZero():
		return nil
	}
	_, refusal, err := s.boundStranger(ctx, tx, p, bytes, bytes)
	if err != nil {
		return err
	}
	return refusal
}

// room returns how many of want bytes fit under a limit. A negative limit is none.
func room(limit int64, used *int64, want int64) int64 {
	if limit < 0 || used == nil {
		return want
	}
	return min(want, limit-*used)
}

// moveWindow reserves more volume when less than half of the window is left. A refusal counts once the window is used up.
func (w *writer) moveWindow(ctx context.Context) error {
	ahead := w.ahead()
	missing := w.end - w.written - ahead
	if missing <= 0 || ahead > w.s.limits.Window/2 {
		return nil
	}
	var more grant
	err := w.s.store.InTx(ctx, func(tx *postgres.Store) error {
		ours, err := tx.LockWriter(ctx, w.row, w.lease.epoch)
		if err != nil {
			return storageError("lock object", err)
		}
		if !ours {
			return transfer.ErrOvertaken
		}
		more, err = w.s.reserve(ctx, tx, w.row, min(missing, w.s.limits.Window-ahead), 0, w.month)
		return err
	})
	if transfer.VolumeRefused(err) && ahead > 0 {
		return nil
	}
	if err != nil {
		return err
	}
	w.reserved += more.bytes
	return nil
}
