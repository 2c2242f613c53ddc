// What the holder of a link can do: see what is asked, open a reservation to upload, hand in, and ask for a link at a public one.

package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/mail"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	transferpostgres "github.com/consign-dev/consign/internal/transfer/postgres"
	"github.com/consign-dev/consign/internal/transfer/request"
	"github.com/consign-dev/consign/internal/transfer/request/postgres"
)

// View is a request as the holder of a link sees it.
type View struct {
	request.Request
	Owner  transfer.Owner
	Items  []request.Item
	Party  *request.Party                // nil: the link is public
	States map[id.Item]request.PartyItem // that are not open
	Files  map[id.Item][]postgres.File   // saved; else handed in the last time
	Handed []postgres.Received           // oldest first
	Now    time.Time                     // the clock that decides what is late
}

// opened is what a link leads to.
type opened struct {
	request request.Request
	party   *request.Party // nil: the link is public
	owner   transfer.Owner
}

// open finds what a link leads to, at the home host of the owner.
// Errors: transfer.ErrNotFound, also when the owner is suspended.
func (s *Service) open(ctx context.Context, caller token.Caller, key string) (o opened, err error) {
	hash := seal.Hash(key)
	p, err := s.Store.PartyByKey(ctx, hash)
	switch {
	case err == nil:
		o.party = &p
		o.request, err = s.Store.AnyRequest(ctx, p.Request)
	case errors.Is(err, transfer.ErrNotFound):
		o.request, err = s.Store.RequestByKey(ctx, hash)
	}
	if err != nil {
		return o, err
	}
	o.owner, err = s.Transfers.Owner(ctx, o.request.Owner, s.scope(caller.Client))
	if err == nil && o.owner.Suspended {
		err = transfer.ErrNotFound
	}
	return o, err
}

// View returns a request by a link.
// Errors: transfer.ErrNotFound.
func (s *Service) View(ctx context.Context, caller token.Caller, key string) (View, error) {
	o, err := s.open(ctx, caller, key)
	if err != nil {
		return View{}, err
	}
	v := View{Request: o.request, Owner: o.owner, Party: o.party}
	if v.Now, err = s.clock(ctx, s.Store); err != nil {
		return v, err
	}
	if v.Items, err = s.Store.Items(ctx, o.request.UID); err != nil || o.party == nil {
		return v, err
	}
	states, err := s.Store.ItemsOf(ctx, o.party.UID)
	if err != nil {
		return v, err
	}
	v.States, v.Files = map[id.Item]request.PartyItem{}, map[id.Item][]postgres.File{}
	for _, x := range states {
		v.States[x.Item] = x
	}
	if v.Handed, err = s.Store.HandIns(ctx, *o.party); err != nil {
		return v, err
	}
	files, err := s.Store.HandedIn(ctx, o.request.UID, o.party.UID)
	if err != nil {
		return v, err
	}
	reservation, err := s.Store.OpenReservation(ctx, o.party.UID, s.Now())
	if err != nil {
		return v, err
	}
	var saved []postgres.File
	if !reservation.IsZero() {
		if saved, err = s.Store.Saved(ctx, reservation); err != nil {
			return v, err
		}
	}
	for _, f := range append(files, saved...) {
		v.Files[f.Item] = append(v.Files[f.Item], f)
	}
	return v, nil
}

// Opened is a party's reservation with a token for it.
type Opened struct {
	Reservation id.Reservation
	Token       string
	ExpiresAt   time.Time // of the token
}

// Open gives the holder of a party's link a token for its open reservation, which is made when there is none. The owner learns when a party
// opens its link for the first time.
// Errors: transfer.ErrNotFound, also for a public link, transfer.ErrRequestClosed, transfer.ErrLate, those of
// transfer.PublicMailbox.Unavailable.
func (s *Service) Open(ctx context.Context, caller token.Caller, key string) (Opened, error) {
	o, err := s.open(ctx, caller, key)
	if err != nil {
		return Opened{}, err
	}
	if o.party == nil {
		return Opened{}, transfer.ErrNotFound
	}
	if _, err := (transfer.PublicMailbox{Owner: o.owner}).Unavailable(); err != nil {
		return Opened{}, err
	}
	var reservation id.Reservation
	now := s.Now()
	err = s.inTx(ctx, func(tx stores) error {
		r, err := tx.ShareRequest(ctx, o.request.UID)
		if err != nil {
			return err
		}
		if err := s.takesFiles(ctx, tx.Store, r); err != nil {
			return err
		}
		p, err := tx.LockParty(ctx, r.UID, o.party.UID)
		if err != nil {
			return err
		}
		if reservation, err = tx.OpenReservation(ctx, p.UID, now); err != nil {
			return err
		}
		if reservation.IsZero() {
			if reservation, err = s.reserve(ctx, tx, r, p, o.owner); err != nil {
				return err
			}
		}
		if p.OpenedAt != nil {
			return nil
		}
		p.OpenedAt = &now
		if err := tx.UpdateParty(ctx, p); err != nil {
			return err
		}
		if err := s.record(ctx, tx, audit.Of(caller), audit.Entry{Action: "request.open", Object: r.UID.String(), Target: r.Owner,
			Details: map[string]string{"party": p.UID.String()}}); err != nil {
			return err
		}
		return s.tell(ctx, tx, events.RequestOpened, r)
	})
	if err != nil {
		return Opened{}, err
	}
	if o.request.Due == nil { // the lifetime counts from the last opening
		if err := s.Store.ProlongReservations(ctx, o.request.UID, o.party.UID, o.request.Expires(now)); err != nil {
			return Opened{}, err
		}
	}
	c := token.Claims{Reservation: reservation, IssuedAt: now, ExpiresAt: now.Add(request.TokenLifetime)}
	raw, err := s.Issuer.Issue(ctx, token.KindReservation, c)
	return Opened{Reservation: reservation, Token: raw, ExpiresAt: c.ExpiresAt}, err
}

// takesFiles refuses files of a request that takes none.
// Errors: transfer.ErrRequestClosed, transfer.ErrLate.
func (s *Service) takesFiles(ctx context.Context, tx *postgres.Store, r request.Request) error {
	if r.State == request.Closed {
		return transfer.ErrRequestClosed
	}
	now, err := s.clock(ctx, tx)
	if err == nil && r.Passed(now) && r.Late == request.LateRefuse {
		err = transfer.ErrLate
	}
	return err
}

// reserve makes a reservation of a locked party. Its bytes are bounded by what the items take.
func (s *Service) reserve(ctx context.Context, tx stores, r request.Request, p request.Party,
	owner transfer.Owner) (id.Reservation, error) {
	items, err := tx.Items(ctx, r.UID)
	if err != nil {
		return id.Reservation{}, err
	}
	out := transfer.Reservation{
		UID: id.New[id.Reservation](), Kind: transfer.KindMailbox, Owner: r.Owner, Request: r.UID, Party: p.UID,
		Organization: owner.Organization, LimitsOrganization: owner.LimitsOrganization, Locale: p.Locale, Subject: r.Title,
		AnonSender: p.Called(), AnonEmail: p.Email, TTL: owner.DefaultTTL, Protection: transfer.PublicMailbox{Owner: owner}.Protection(),
		CreatedAt: s.Now(), ExpiresAt: r.Expires(s.Now()),
	}
	for _, days := range owner.AvailableTTL { // as long as possible: the owner works through what parties hand in
		out.TTL = max(out.TTL, days)
	}
	for _, it := range items {
		out.MaxFiles += it.MaxFiles
		out.MaxFileSizeMB = max(out.MaxFileSizeMB, it.MaxFileSizeMB)
	}
	out.MaxFiles = min(out.MaxFiles, owner.MaxFiles, s.Strangers.MaxFiles)
	return out.UID, tx.InsertReservation(ctx, out)
}

// Handed is the outcome of a hand-in.
type Handed struct {
	Transfer    id.Transfer
	Reservation id.Reservation
	At          time.Time
	Due         *time.Time
	Late        bool
}

// HandInByKey hands in what a party has uploaded. Unless partly, every required item needs a file. Of parallel calls one succeeds.
// Errors: transfer.ErrNotFound, also for a public link, transfer.ErrUnconfirmable, those of transfer/service.Confirm.
func (s *Service) HandInByKey(ctx context.Context, caller token.Caller, key string, partly bool) (Handed, error) {
	v, err := s.View(ctx, caller, key)
	if err != nil {
		return Handed{}, err
	}
	if v.Party == nil {
		return Handed{}, transfer.ErrNotFound
	}
	reservation, err := s.Store.OpenReservation(ctx, v.Party.UID, s.Now())
	if err != nil {
		return Handed{}, err
	}
	if reservation.IsZero() {
		return Handed{}, transfer.ErrUnconfirmable.With("objects: at least one file is required")
	}
	if !partly {
		if err := v.missing(); err != nil {
			return Handed{}, err
		}
	}
	caller.Kind, caller.Reservation = token.KindReservation, reservation
	t, err := s.Confirm(ctx, caller, reservation)
	if err != nil {
		return Handed{}, err
	}
	return Handed{Transfer: t.UID, Reservation: reservation, At: t.CreatedAt, Due: v.Due, Late: v.Passed(t.CreatedAt)}, nil
}

// LastHandIn implements transfer/service.Requests.
func (s *Service) LastHandIn(ctx context.Context, caller token.Caller, key string) (id.Transfer, error) {
	o, err := s.open(ctx, caller, key)
	if err != nil {
		return id.Transfer{}, err
	}
	if o.party == nil {
		return id.Transfer{}, transfer.ErrNotFound
	}
	handed, err := s.Store.HandIns(ctx, *o.party)
	if err != nil || len(handed) == 0 {
		return id.Transfer{}, cmp.Or(err, error(transfer.ErrNotFound))
	}
	return handed[len(handed)-1].Transfer, nil
}

// missing returns an error that names the required items without a file.
// Errors: transfer.ErrUnconfirmable.
func (v View) missing() error {
	var details []string
	for _, it := range v.Items {
		state, handed := v.States[it.UID]
		if it.Required && (!handed || state.State.Takes()) && !v.saved(it.UID) && len(details) < fault.MaxProblems {
			details = append(details, fmt.Sprintf("items: %s is missing", it.Name))
		}
	}
	if len(details) > 0 {
		return transfer.ErrUnconfirmable.With(details...)
	}
	return nil
}

// saved reports whether there is a file of an item that was not handed in yet.
func (v View) saved(item id.Item) bool {
	for _, f := range v.Files[item] {
		if f.Transfer.IsZero() {
			return true
		}
	}
	return false
}

// Join mails a link to an address, whose holder becomes a party of the request when opening it. An address that is asked already gets its
// link again.
// Errors: transfer.ErrNotFound, transfer.ErrRequestClosed, transfer.ErrLate, fault.ErrInvalid, transfer.ErrRequests,
// transfer.ErrTooManyLinks.
func (s *Service) Join(ctx context.Context, caller token.Caller, key, client string, in request.Party) error {
	o, err := s.open(ctx, caller, key)
	if err != nil {
		return err
	}
	if o.party != nil {
		return transfer.ErrNotFound
	}
	list, err := request.CheckParties([]request.Party{in})
	if err != nil {
		return fault.ErrInvalid.With(strings.ReplaceAll(strings.Join(details(err), "; "), "parties[0].", ""))
	}
	return s.inTx(ctx, func(tx stores) error {
		r, err := tx.LockRequest(ctx, o.request.Owner, o.request.UID)
		if err != nil {
			return err
		}
		if err := s.takesFiles(ctx, tx.Store, r); err != nil {
			return err
		}
		today := s.Now().UTC().Truncate(day)
		within, err := tx.transfers.CountSenderCode(ctx, list[0].Email, today,
			transferpostgres.DailyBound{Limit: s.Links, NetworkShare: s.Strangers.NetworkShare, Client: client})
		if err != nil {
			return err
		}
		if !within {
			return transfer.ErrTooManyLinks.WithRetryAfter(today.Add(day).Sub(s.Now()))
		}
		p, err := tx.PartyByEmail(ctx, r.UID, list[0].Email)
		if errors.Is(err, transfer.ErrNotFound) {
			p, err = s.joined(ctx, tx, r, list)
		}
		if err != nil {
			return err
		}
		m := s.requestMail(mail.RequestLink, r, o.owner, p, nil)
		m.Data["owner"] = o.owner.Email // no name: anybody can cause this mail, so it has no text that somebody chose
		m.ReplyToName, m.ToName = "", ""
		delete(m.Data, "title")
		_, err = s.Mailer.Queue(ctx, tx.Tx(), m)
		return err
	})
}

// joined stores the party that a stranger wants to be.
// Errors: transfer.ErrRequests.
func (s *Service) joined(ctx context.Context, tx stores, r request.Request, list []request.Party) (request.Party, error) {
	n, err := tx.CountParties(ctx, r.UID)
	if err != nil {
		return request.Party{}, err
	}
	if n >= request.MaxParties {
		return request.Party{}, transfer.ErrRequests.With("the request asks as many people as it may").AtMost(request.MaxParties)
	}
	if list, err = s.newParties(ctx, tx, r, list); err != nil {
		return request.Party{}, err
	}
	list[0].Joined = true
	_, err = tx.InsertParties(ctx, list)
	return list[0], err
}

// details returns the details of a fault.
func details(err error) []string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Details
	}
	return []string{err.Error()}
}
