// The lists and the search of a person's transfers.

package service

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// SeenTransfer is a transfer as the caller may see it.
type SeenTransfer struct {
	transfer.Transfer
	Objects []transfer.Object // empty while Locked or Brief
	Locked  bool              // protected, and the caller is not the sender: the content is hidden
	Brief   bool              // the objects are left out
	Managed bool              // the caller is the sender, who sees and may change more
	Notify  bool              // the sender wants a notification of the first access
	Reached bool              // the caller is a recipient
	Read    bool              // by the caller, as a recipient
	Notes   string            // of the caller

	DownloadAnyway bool // the caller owns it and may download held objects

	withheld bool // it has expired for a recipient: content and names are hidden, as if erased
}

// TransferQuery selects a part of the caller's transfers.
type TransferQuery struct {
	Received, Sent bool
	Oldest         bool // oldest first
	Filter         transfer.Filter
	Search         string
	After          string // next of the previous answer; empty: from the first
	Limit          int    // 1 to transfer.MaxPage
}

// Limits of lists.
const (
	listedObjects = 100      // objects up to which a transfer in a list shows them
	contentBatch  = 64 << 10 // bytes of texts of the transfers in one batch, unless a single one has more

	// searchCandidates is how many received and how many sent transfers a search reads before it answers. They stay well
	// within the statement timeout.
	searchCandidates = 10_000
	searchPatience   = 2 * time.Second
)

// errSearch ends a search that takes too long, so that it does not hold a connection that others need.
var errSearch = fault.ErrUnavailable.With("the search took too long; try again, or search for more characters").WithRetryAfter(
	searchPatience)

// Transfers streams the caller's transfers, newest first. next is empty on the last page. A page of a search may have fewer transfers
// than the limit, or none, and a next: the search has not read all transfers yet. Contents are read in batches.
// Errors: fault.ErrInvalid, fault.ErrUnavailable when a search takes longer than two seconds.
func (s *Service) Transfers(ctx context.Context, caller token.Caller,
	q TransferQuery) (list iter.Seq2[SeenTransfer, error], next string, err error) {
	page := postgres.Page{Received: q.Received, Sent: q.Sent, Oldest: q.Oldest, Filter: q.Filter, Search: q.Search,
		Candidates: searchCandidates, Limit: q.Limit}
	var problems fault.Problems
	transfer.CheckLine(&problems, "search", q.Search, text.MaxName)
	var ok bool
	if page.After.UID, page.After.At, ok = id.ParseTimePosition[id.Transfer](q.After); !ok {
		problems.Add("after", id.NotNext)
	}
	if err := problems.Err(); err != nil {
		return nil, "", err
	}
	rows, end, err := s.listed(ctx, caller, page)
	if err != nil {
		return nil, "", err
	}
	if end != (postgres.Position{}) {
		next = id.TimePosition(end.UID, end.At)
	}
	return s.seen(ctx, rows), next, nil
}

// listed reads a page. A search has searchPatience.
func (s *Service) listed(ctx context.Context, caller token.Caller, page postgres.Page) ([]postgres.SeenTransfer, postgres.Position, error) {
	if page.Search == "" && page.Filter == transfer.FilterNone {
		return s.store.Transfers(ctx, caller.Person, page, s.scope(caller))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, searchPatience, errSearch)
	defer cancel()
	rows, end, err := s.store.Transfers(ctx, caller.Person, page, s.scope(caller))
	if err != nil && errors.Is(context.Cause(ctx), errSearch) {
		s.slowSearches.Add(1)
		return nil, end, errSearch.Because(err)
	}
	return rows, end, err
}

// SlowSearches counts the searches that this process has given up.
func (s *Service) SlowSearches() int64 { return s.slowSearches.Load() }

// seen streams rows with their contents, in batches. A batch ends with the row that reaches objectsBatch objects or contentBatch bytes.
func (s *Service) seen(ctx context.Context, rows []postgres.SeenTransfer) iter.Seq2[SeenTransfer, error] {
	return func(yield func(SeenTransfer, error) bool) {
		for rest := rows; len(rest) > 0; {
			n := 0
			for objects, bytes := int32(0), 0; n < len(rest) && objects < objectsBatch && bytes < contentBatch; n++ {
				bytes += rest[n].LeftOut
				if rest[n].ObjectCount <= listedObjects {
					objects += rest[n].ObjectCount
				}
			}
			list, err := s.fill(ctx, rest[:n], listedObjects)
			if err != nil {
				yield(SeenTransfer{}, err)
				return
			}
			for _, t := range list {
				if !yield(t, nil) {
					return
				}
			}
			rest = rest[n:]
		}
	}
}

// fill adds recipients, contents that the query left out, and objects of transfers that have at most maxObjects. It hides
// what the caller may not see.
func (s *Service) fill(ctx context.Context, rows []postgres.SeenTransfer, maxObjects int32) ([]SeenTransfer, error) {
	out := make([]SeenTransfer, len(rows))
	var all, shown []id.Transfer
	for i, r := range rows {
		out[i] = s.asSeen(r, maxObjects)
		all = append(all, r.UID)
		if !out[i].Locked && !out[i].Brief && r.ObjectCount > 0 {
			shown = append(shown, r.UID)
		}
	}
	if err := s.fillContents(ctx, out, rows); err != nil {
		return nil, err
	}
	deliveries, err := s.store.DeliveriesOfTransfers(ctx, all)
	if err != nil {
		return nil, err
	}
	var objects map[id.Transfer][]transfer.Object
	if len(shown) > 0 {
		if objects, err = s.store.ObjectsOfTransfers(ctx, shown); err != nil {
			return nil, err
		}
	}
	for i, r := range rows {
		out[i].Objects = objects[r.UID]
		for j := range out[i].Objects {
			out[i].Objects[j].Downloads += r.Archives
			r.Mark(&out[i].Objects[j])
			if out[i].withheld {
				withholdNames(&out[i].Objects[j])
			}
		}
		for _, d := range deliveries[r.UID] {
			if d.Destination == transfer.ToLink || d.Destination == transfer.Bcc && !r.AsSender {
				continue
			}
			if !r.AsSender { // only the sender may see it
				d.Undelivered, d.AccessedAt, d.RemindedAt, d.Downloads, d.DownloadedAt = false, time.Time{}, time.Time{}, 0, time.Time{}
			}
			out[i].Recipients = append(out[i].Recipients, d)
		}
		if out[i].Locked {
			hide(&out[i].Transfer)
		}
	}
	return out, nil
}

// asSeen returns a transfer as its party sees it now, without recipients and objects. From its expiry on, its sender sees until when it
// can be extended, and recipients see no content (contract 4.22).
func (s *Service) asSeen(r postgres.SeenTransfer, maxObjects int32) SeenTransfer {
	t := SeenTransfer{Transfer: r.Transfer, Locked: r.Locked(), Brief: r.ObjectCount > maxObjects, Managed: r.AsSender, Notify: r.Notify,
		Reached: !r.Delivery.IsZero(), Read: r.Read, Notes: r.Notes}
	if r.State.Ended() || s.now().Before(r.ExpiresAt) {
		return t
	}
	t.State = transfer.Expired
	if r.AsSender {
		t.ExtendableUntil = r.KeptUntil(s.expiryGrace)
		return t
	}
	t.withheld = true
	t.Subject, t.Message, t.Fields = "", "", nil
	return t
}

// withholdNames clears of an object what the end of its transfer erases.
func withholdNames(o *transfer.Object) { o.Name, o.MIMEType, o.SHA256 = "", "", nil }

// fillContents adds the contents that the query left out.
func (s *Service) fillContents(ctx context.Context, out []SeenTransfer, rows []postgres.SeenTransfer) error {
	places := map[id.Transfer]int{}
	for i, r := range rows {
		if r.LeftOut > 0 && !out[i].Locked && !out[i].withheld {
			places[r.UID] = i
		}
	}
	if len(places) == 0 {
		return nil
	}
	contents, err := s.store.Contents(ctx, slices.Collect(maps.Keys(places)))
	for _, c := range contents {
		t := &out[places[c.UID]]
		t.Fields = c.Fields
		if c.Message != nil {
			t.Message = *c.Message
		}
	}
	return err
}

// hide clears what a protection hides.
func hide(t *transfer.Transfer) {
	t.Subject, t.Message, t.Fields, t.Answers = "", "", nil, nil
	t.ObjectCount, t.TotalBytes, t.MalwareStatus = 0, 0, ""
}

// senderLink returns the link of a transfer that its sender has made, "" for others and once it has ended.
func (s *Service) senderLink(ctx context.Context, row postgres.SeenTransfer, state transfer.State) (string, error) {
	if !row.AsSender || state.Ended() {
		return "", nil
	}
	link, err := s.store.SenderLink(ctx, row.UID)
	return s.storedLink(link), err
}

// TransferLink returns the link that the caller has made of an own transfer.
// Errors: transfer.ErrNotFound, also when it has no link.
func (s *Service) TransferLink(ctx context.Context, caller token.Caller, uid id.Transfer) (string, error) {
	t, _, err := s.Transfer(ctx, caller, uid)
	if err == nil && t.Link == "" {
		err = transfer.ErrNotFound
	}
	return t.Link, err
}

// Transfer returns one of the caller's transfers, for its sender with the link, because the answer to the confirm may have
// been lost. It has no objects while it is locked. The first view of a transfer without files is its first access.
// Errors: transfer.ErrNotFound.
func (s *Service) Transfer(ctx context.Context, caller token.Caller, uid id.Transfer) (SeenTransfer, Objects, error) {
	seen, err := s.withoutObjects(ctx, caller, uid)
	if err != nil {
		return SeenTransfer{}, nil, err
	}
	if seen.Locked {
		return seen, func(func(transfer.Object, error) bool) {}, nil
	}
	first, last, err := s.store.ObjectsAfter(ctx, seen.Reservation, 0, objectsBatch)
	if err == nil && len(first) == 0 && seen.ObjectCount > 0 && !seen.State.Ended() { // it has ended since its row was read
		seen, err = s.withoutObjects(ctx, caller, uid)
	}
	if err != nil {
		return SeenTransfer{}, nil, err
	}
	return seen, s.deliveredAfter(ctx, seen, first, last, len(first) == objectsBatch), nil
}

// withoutObjects is Transfer without the objects.
func (s *Service) withoutObjects(ctx context.Context, caller token.Caller, uid id.Transfer) (SeenTransfer, error) {
	row, err := s.store.TransferOf(ctx, uid, caller.Person, s.scope(caller))
	if err != nil {
		return SeenTransfer{}, err
	}
	list, err := s.fill(ctx, []postgres.SeenTransfer{row}, 0)
	if err != nil {
		return SeenTransfer{}, err
	}
	seen := list[0]
	if !row.AsSender && row.ObjectCount == 0 && seen.State == transfer.Delivered && !seen.Locked {
		if err := s.recordAccess(ctx, caller, row.Delivery); err != nil {
			return SeenTransfer{}, err
		}
	}
	if seen.Link, err = s.senderLink(ctx, row, seen.State); err != nil {
		return SeenTransfer{}, err
	}
	seen.DownloadAnyway = seen.MalwareStatus != "" && downloadsAnyway(caller, seen.Owner, seen.Gate)
	return seen, s.addAnswers(ctx, &seen.Transfer)
}

// addAnswers adds the answers to the questions of the mailbox, as it asks them now.
func (s *Service) addAnswers(ctx context.Context, t *transfer.Transfer) error {
	if t.Kind != transfer.KindMailbox || len(t.Fields) == 0 {
		return nil
	}
	form, err := s.store.Form(ctx, t.Owner)
	t.Answers = transfer.Answers(form.FieldsSchema, form.UISchema, t.Fields)
	return err
}

// DeleteTransfer hides a transfer from its recipient, or revokes it for its sender. A transfer that has expired is erased and hidden from
// its sender. When no party can reach it any more, the same transaction erases it.
// Errors: transfer.ErrNotFound.
func (s *Service) DeleteTransfer(ctx context.Context, caller token.Caller, uid id.Transfer) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		t, err := tx.LockTransferOf(ctx, uid, caller.Person, s.scope(caller))
		if err != nil {
			return err
		}
		expired := !s.now().Before(t.ExpiresAt)
		if t.AsSender && !t.State.Ended() && !expired {
			return s.revoke(ctx, tx, t, audit.Entry{Actor: audit.Of(caller)})
		}
		if t.AsSender {
			if err := tx.HideTransfer(ctx, uid, s.now()); err != nil {
				return err
			}
		}
		seen, err := tx.DeliveriesTo(ctx, uid, caller.Person)
		if err != nil {
			return err
		}
		if len(seen) == 0 && !t.AsSender { // a parallel request has hidden it
			return transfer.ErrNotFound
		}
		for _, d := range seen { // its link would be dead; lock order: mail before delivery, as MailFailed
			if err := s.mailer.Cancel(ctx, tx.Tx(), deliveryReference+d.String()); err != nil {
				return err
			}
		}
		if err := tx.HideDeliveries(ctx, uid, caller.Person, s.now()); err != nil {
			return err
		}
		if t.AsSender { // nobody can extend it any more
			err = s.endTransfers(ctx, tx, []id.Transfer{uid}, transfer.Expired, transfer.ErasedByDeletion)
		} else {
			err = s.revokeUnreachable(ctx, tx, []id.Transfer{uid}, transfer.ErasedByDeletion)
		}
		if err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Of(caller), audit.Entry{Action: "transfer.hide", Object: uid.String()})
	})
}
