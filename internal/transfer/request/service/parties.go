// What owners do with parties: ask and change them, accept and return what they have handed in.

package service

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/events"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/request"
	"github.com/consign-dev/consign/internal/transfer/request/postgres"
)

// AddParties asks further people. Those who were asked before are left out.
// Errors: transfer.ErrNotFound, fault.ErrInvalid, transfer.ErrRequestClosed, transfer.ErrTemplate, transfer.ErrRequests,
// transfer.ErrTooManyRecipientsToday.
func (s *Service) AddParties(ctx context.Context, caller token.Caller, uid id.Request, parties []request.Party) (Detail, error) {
	owner, err := s.owner(ctx, caller)
	if err != nil {
		return Detail{}, err
	}
	if parties, err = request.CheckParties(parties); err != nil {
		return Detail{}, err
	}
	var r request.Request
	err = s.inTx(ctx, func(tx stores) error {
		if r, err = tx.LockRequest(ctx, caller.Person, uid); err != nil {
			return err
		}
		switch {
		case r.Template:
			return transfer.ErrTemplate
		case r.State == request.Closed:
			return transfer.ErrRequestClosed
		}
		items, err := tx.Items(ctx, uid)
		if err != nil {
			return err
		}
		if err := s.record(ctx, tx, audit.Of(caller), audit.Entry{Action: "request.ask", Object: uid.String(),
			Details: map[string]string{"parties": strconv.Itoa(len(parties))}}); err != nil {
			return err
		}
		if err := tx.ReopenRequest(ctx, uid); err != nil {
			return err
		}
		r.CompletedAt = nil
		return s.ask(ctx, tx, r, owner, items, parties)
	})
	if err != nil {
		return Detail{}, err
	}
	return s.detail(ctx, r, owner.Host)
}

// ask stores parties of a locked request and mails their invitations.
// Errors: transfer.ErrRequests, transfer.ErrTooManyRecipientsToday.
func (s *Service) ask(ctx context.Context, tx stores, r request.Request, owner transfer.Owner, items []request.Item,
	parties []request.Party) error {
	if len(parties) == 0 {
		return nil
	}
	present, err := tx.CountParties(ctx, r.UID)
	if err != nil {
		return err
	}
	if present+len(parties) > request.MaxParties {
		return transfer.ErrRequests.With(fmt.Sprintf("parties: a request asks at most %d people, and %d are asked", request.MaxParties, present)).
			AtMost(request.MaxParties)
	}
	if parties, err = s.newParties(ctx, tx, r, parties); err != nil {
		return err
	}
	added, err := tx.InsertParties(ctx, parties)
	if err != nil {
		return err
	}
	parties = slices.DeleteFunc(parties, func(p request.Party) bool { return !slices.Contains(added, p.UID) })
	if err := s.countRecipients(ctx, tx, r.Owner, owner.Account, len(parties)); err != nil {
		return err
	}
	return s.mailInvitations(ctx, tx, r, owner, items, parties)
}

// newParties completes parties: uid, key, language and zone, those of their accounts where they have one, and the first reminder.
func (s *Service) newParties(ctx context.Context, tx stores, r request.Request, parties []request.Party) ([]request.Party, error) {
	emails := make([]string, len(parties))
	for i, p := range parties {
		emails[i] = p.Email
	}
	readers, err := tx.transfers.Readers(ctx, emails)
	if err != nil {
		return nil, err
	}
	now := s.Now()
	for i := range parties {
		p := &parties[i]
		p.UID, p.Request, p.KeyVersion, p.CreatedAt, p.Reminders = id.New[id.Party](), r.UID, 1, now, true
		p.KeyHash = seal.Hash(s.partyKeys(p.UID, p.KeyVersion)[0])
		reader := readers[p.Email]
		for _, known := range []string{reader.Locale, r.Locale} {
			if p.Locale == "" {
				p.Locale = known
			}
		}
		if p.TimeZone = r.TimeZone; reader.TimeZone != "" {
			p.TimeZone = reader.TimeZone
		}
		p.RemindAt = next(r, *p, now)
	}
	return parties, nil
}

// countRecipients counts mails as recipients of the owner's transfers today.
// Errors: transfer.ErrTooManyRecipientsToday.
func (s *Service) countRecipients(ctx context.Context, tx stores, owner id.Person, a transfer.Account, n int) error {
	if n == 0 {
		return nil
	}
	now := s.Now()
	limit := s.Recipients.On(now, a)
	within, err := tx.transfers.CountRecipients(ctx, owner, now.UTC().Truncate(day), n, limit)
	if err != nil || within {
		return err
	}
	return transfer.ErrTooManyRecipientsToday.
		With(fmt.Sprintf("parties: you may mail %d people a day", limit)).AtMost(int64(limit)).
		WithRetryAfter(s.Recipients.Wait(now, a, n))
}

// PartyChange is a change of a party by the owner. Nil members stay.
type PartyChange struct {
	Version   int64 // of If-Match; 0: any
	Name      *string
	Locale    *string
	Reminders *bool
}

// PatchParty changes a party.
// Errors: transfer.ErrNotFound, fault.ErrVersion, fault.ErrInvalid.
func (s *Service) PatchParty(ctx context.Context, caller token.Caller, uid id.Request, party id.Party, c PartyChange) (Detail, error) {
	return s.changeParty(ctx, caller, uid, party, c.Version, func(tx stores, r request.Request, p *request.Party) error {
		if c.Name != nil {
			var problems fault.Problems
			request.CheckName(&problems, "name", *c.Name)
			if err := problems.Err(); err != nil {
				return err
			}
			p.Name = *c.Name
		}
		if c.Locale != nil {
			p.Locale = *c.Locale
		}
		if c.Reminders != nil {
			p.Reminders = *c.Reminders
		}
		return tx.UpdateParty(ctx, *p)
	})
}

// changeParty locks a request and one of its parties, lets change change the party, and returns the request.
// Errors: transfer.ErrNotFound, fault.ErrVersion, those of change.
func (s *Service) changeParty(ctx context.Context, caller token.Caller, uid id.Request, party id.Party, version int64,
	change func(tx stores, r request.Request, p *request.Party) error) (Detail, error) {
	owner, err := s.owner(ctx, caller)
	if err != nil {
		return Detail{}, err
	}
	var r request.Request
	err = s.inTx(ctx, func(tx stores) error {
		if r, err = tx.LockRequest(ctx, caller.Person, uid); err != nil {
			return err
		}
		p, err := tx.LockParty(ctx, uid, party)
		if err != nil {
			return err
		}
		if p.Joined && p.OpenedAt == nil {
			return transfer.ErrNotFound
		}
		if version != 0 && version != p.Version {
			return fault.ErrVersion.With(fmt.Sprintf("If-Match: the party is at another version, \"%d\"", p.Version))
		}
		return change(tx, r, &p)
	})
	if err != nil {
		return Detail{}, err
	}
	return s.detail(ctx, r, owner.Host)
}

// Decision is what the owner decides about an item.
type Decision struct {
	Version int64 // of If-Match; 0: any
	State   request.ItemState
	Reason  string
}

// Decide accepts or returns an item that a party has handed in. Of parallel decisions that name the version of the party, one succeeds.
// Errors: transfer.ErrNotFound, fault.ErrVersion, fault.ErrInvalid, transfer.ErrItemState.
func (s *Service) Decide(ctx context.Context, caller token.Caller, uid id.Request, party id.Party, item id.Item,
	d Decision) (Detail, error) {
	var problems fault.Problems
	switch d.State {
	case request.ItemAccepted:
		if d.Reason != "" {
			problems.Add("reason", "is for returned items")
		}
	case request.ItemReturned:
		if err := text.Block(d.Reason, request.MaxReason); d.Reason == "" || err != nil {
			problems.Add("reason", fmt.Sprintf("is required: up to %d bytes that tell the party what to change", request.MaxReason))
		}
	default:
		problems.Add("state", "must be accepted or returned")
	}
	if err := problems.Err(); err != nil {
		return Detail{}, err
	}
	return s.changeParty(ctx, caller, uid, party, d.Version, func(tx stores, r request.Request, p *request.Party) error {
		states, err := tx.ItemsOf(ctx, party)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(states, func(x request.PartyItem) bool { return x.Item == item })
		if at < 0 || states[at].State == d.State {
			return transfer.ErrItemState
		}
		return s.decided(ctx, tx, caller, r, p, item, d)
	})
}

// returnNotice is how long a party is mailed after the last returned item: one mail names all that the owner returns in a row.
const returnNotice = 2 * time.Minute

// decided stores a decision with everything that follows from it.
func (s *Service) decided(ctx context.Context, tx stores, caller token.Caller, r request.Request, p *request.Party, item id.Item,
	d Decision) error {
	now := s.Now()
	if err := tx.PutPartyItems(ctx, p.UID, []id.Item{item}, d.State, d.Reason, caller.Person, now); err != nil {
		return err
	}
	complete, err := tx.PartyComplete(ctx, p.UID)
	if err != nil {
		return err
	}
	before := p.CompletedAt != nil
	p.CompletedAt = nil
	if complete {
		p.CompletedAt, p.RemindAt = &now, nil
	} else if d.State == request.ItemReturned {
		notify := now.Add(returnNotice)
		p.RemindAt, p.NotifyAt = next(r, *p, now), &notify
	}
	if err := tx.UpdateParty(ctx, *p); err != nil {
		return err
	}
	all := false
	if complete {
		all, err = tx.CompleteRequest(ctx, r.UID, now)
	} else {
		err = tx.ReopenRequest(ctx, r.UID)
	}
	if err != nil {
		return err
	}
	if err := s.record(ctx, tx, audit.Of(caller), audit.Entry{Action: "request." + string(d.State), Object: r.UID.String(),
		Details: map[string]string{"party": p.UID.String(), "item": item.String()}}); err != nil {
		return err
	}
	if complete && !before {
		if err := s.mailComplete(ctx, tx, r, *p); err != nil {
			return err
		}
	}
	kind := events.RequestItem
	if d.State == request.ItemReturned {
		kind = events.RequestReturned
	}
	if err := s.tell(ctx, tx, kind, r); err != nil || !all {
		return err
	}
	return s.tell(ctx, tx, events.RequestCompleted, r)
}

// next returns when a party is reminded after a time; nil: never.
func next(r request.Request, p request.Party, after time.Time) *time.Time {
	n, ok := request.Next(r.Due, p.TimeZone, after)
	if !ok {
		return nil
	}
	return &n.At
}

// missingOf returns what parties have not handed in, as MissingItems does.
func missingOf(ctx context.Context, tx stores, parties []request.Party) (map[id.Party]postgres.Missing, error) {
	uids := make([]id.Party, len(parties))
	for i, p := range parties {
		uids[i] = p.UID
	}
	return tx.MissingItems(ctx, uids)
}

// planAll plans the reminders of all parties of a locked request anew.
func (s *Service) planAll(ctx context.Context, tx stores, r request.Request) error {
	parties, err := tx.Parties(ctx, r.UID)
	if err != nil || len(parties) == 0 {
		return err
	}
	missing, err := missingOf(ctx, tx, parties)
	if err != nil {
		return err
	}
	plans := make([]postgres.Plan, len(parties))
	for i, p := range parties {
		plans[i].Party = p.UID
		if missing[p.UID].Required > 0 {
			plans[i].RemindAt = next(r, p, s.Now())
		}
	}
	return tx.PlanReminders(ctx, plans)
}
