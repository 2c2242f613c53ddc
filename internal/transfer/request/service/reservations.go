// What the reservations of parties ask in the transactions of transfer/service: which files they take, and when they are handed in.

package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	transferpostgres "github.com/consign-dev/consign/internal/transfer/postgres"
	"github.com/consign-dev/consign/internal/transfer/request"
	"github.com/consign-dev/consign/internal/transfer/request/postgres"
)

// Announce implements transfer/service.Requests.
func (s *Service) Announce(ctx context.Context, tx *transferpostgres.Store, r transfer.Reservation, fresh []transfer.Object) error {
	if r.Party.IsZero() {
		if slices.ContainsFunc(fresh, func(o transfer.Object) bool { return !o.Item.IsZero() }) {
			return fault.ErrInvalid.With("item: is for the files of a request")
		}
		return nil
	}
	store := s.Store.Within(tx.Tx())
	q, err := store.ShareRequest(ctx, r.Request)
	if err != nil {
		return err
	}
	if q.State == request.Closed {
		return transfer.ErrRequestClosed
	}
	items, err := store.Items(ctx, r.Request)
	if err != nil {
		return err
	}
	states, err := store.ItemsOf(ctx, r.Party)
	if err != nil {
		return err
	}
	counts, err := store.CountFiles(ctx, r.UID)
	if err != nil {
		return err
	}
	for i := range fresh {
		o := &fresh[i]
		at := slices.IndexFunc(items, func(it request.Item) bool { return it.UID == o.Item })
		switch {
		case o.Partial && o.Item.IsZero():
			continue // the final upload names the item
		case at < 0:
			return fault.ErrInvalid.With("item: must be the uid of an item of the request")
		}
		if err := takes(items[at], states, o, counts[o.Item]); err != nil {
			return err
		}
		if !o.Partial {
			counts[o.Item]++
		}
	}
	return nil
}

// takes checks whether an item takes one more file.
// Errors: transfer.ErrItemTaken, transfer.ErrTooManyFiles, transfer.ErrFileTooLarge, transfer.ErrMIMEType.
func takes(it request.Item, states []request.PartyItem, o *transfer.Object, files int) error {
	for _, x := range states {
		if x.Item == it.UID && !x.State.Takes() {
			return transfer.ErrItemTaken.With("item: was handed in; it takes files again when it is returned")
		}
	}
	limit := it.MaxFileSizeMB * transfer.MB
	if o.Deferred {
		o.IntendedSize = min(o.IntendedSize, limit)
	}
	switch {
	case !o.Partial && files >= int(it.MaxFiles):
		return transfer.ErrTooManyFiles.With(fmt.Sprintf("objects: the item takes %d files", it.MaxFiles)).AtMost(int64(it.MaxFiles))
	case o.IntendedSize > limit:
		return transfer.ErrFileTooLarge.With(fmt.Sprintf("intendedSize: must be at most %d MB", it.MaxFileSizeMB)).
			AtMost(it.MaxFileSizeMB * transfer.MB)
	case !o.Partial && !it.MIMETypes.AllowsName(o.Name):
		return it.MIMETypes.Rejection("name")
	}
	return nil
}

// HandIn implements transfer/service.Requests. The time of Postgres, read once all locks are held, decides whether it is late. The receipt,
// the state of the party, the transfer and the mails say this time.
func (s *Service) HandIn(ctx context.Context, tx *transferpostgres.Store, r transfer.Reservation) (h request.HandIn, err error) {
	store := s.Store.Within(tx.Tx())
	q, err := store.ShareRequest(ctx, r.Request)
	if err != nil {
		return h, err
	}
	p, err := store.LockParty(ctx, r.Request, r.Party)
	if err != nil {
		return h, err
	}
	items, err := store.SavedItems(ctx, r.UID)
	if err != nil {
		return h, err
	}
	if h.Received, err = s.clock(ctx, store); err != nil {
		return h, err
	}
	if p.HandedInAt != nil && !h.Received.After(*p.HandedInAt) {
		h.Received = p.HandedInAt.Add(time.Millisecond) // a clock was set back; the files of the last time are found by their time
	}
	switch {
	case q.State == request.Closed:
		return h, transfer.ErrRequestClosed
	case q.Passed(h.Received) && q.Late == request.LateRefuse:
		return h, transfer.ErrLate
	case len(items) == 0:
		return h, transfer.ErrUnconfirmable.With("objects: at least one file is required")
	}
	if q.Due != nil {
		h.Due = *q.Due
	}
	return h, s.handedIn(ctx, store, q, p, items, h.Received)
}

// handedIn stores that a locked party has handed in items. When nothing required is missing any more, reminders end, also those in the
// queue.
func (s *Service) handedIn(ctx context.Context, tx *postgres.Store, q request.Request, p request.Party, items []id.Item,
	at time.Time) error {
	if err := tx.PutPartyItems(ctx, p.UID, items, request.ItemUploaded, "", id.Person{}, at); err != nil {
		return err
	}
	missing, err := tx.MissingItems(ctx, []id.Party{p.UID})
	if err != nil {
		return err
	}
	p.HandedInAt, p.Late, p.CompletedAt = &at, q.Passed(at), nil
	if missing[p.UID].Required == 0 {
		p.RemindAt = nil
	}
	if missing[p.UID].Returned == 0 {
		p.NotifyAt = nil
	}
	if err := tx.UpdateParty(ctx, p); err != nil {
		return err
	}
	return s.Mailer.Cancel(ctx, tx.Tx(), reminderReference(p.UID)) // those that remain are queued anew, with what is missing then
}
