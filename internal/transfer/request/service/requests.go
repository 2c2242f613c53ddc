// What owners do with their requests: make, list, read, change, close and delete them.

package service

import (
	"context"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/request"
	"github.com/consign-dev/consign/internal/transfer/request/postgres"
)

// Detail is a request with everything that its owner sees.
type Detail struct {
	request.Request
	Items   []request.Item
	Parties []PartyDetail
	Link    string // public; empty: none
}

// PartyDetail is a party as the owner sees it.
type PartyDetail struct {
	request.Party
	Link  string                        // empty: the party joined by the public link, and only it has the link
	Items map[id.Item]request.PartyItem // that are not open
	Files map[id.Item][]postgres.File   // handed in, of the last time
}

// Create makes a request, asks its parties, and returns it.
// Errors: transfer.ErrNotFound, transfer.ErrServiceDisabled, transfer.ErrRoleMissing, fault.ErrInvalid, transfer.ErrRequests,
// transfer.ErrTemplate, transfer.ErrTooManyRecipientsToday.
func (s *Service) Create(ctx context.Context, caller token.Caller, r request.Request, items []request.Item,
	parties []request.Party) (Detail, error) {
	owner, err := s.owner(ctx, caller)
	if err != nil {
		return Detail{}, err
	}
	if err := owner.MayKeep(); err != nil {
		return Detail{}, err
	}
	r.UID, r.Owner, r.State, r.Version, r.CreatedAt = id.New[id.Request](), caller.Person, request.Open, 1, s.Now()
	if r.TimeZone == "" {
		r.TimeZone = request.Location(owner.TimeZone).String()
	}
	if r.Locale == "" {
		r.Locale = owner.Locale
	}
	if err := s.check(&r, owner, items, time.Time{}); err != nil {
		return Detail{}, err
	}
	for i := range items {
		items[i].UID = id.New[id.Item]()
	}
	if len(parties) > 0 {
		if r.Template {
			return Detail{}, transfer.ErrTemplate.With("parties: a template asks nobody")
		}
		if parties, err = request.CheckParties(parties); err != nil {
			return Detail{}, err
		}
	}
	err = s.inTx(ctx, func(tx stores) error {
		n, err := tx.LockOwner(ctx, caller.Person, request.MaxOpen)
		if err != nil {
			return err
		}
		if n >= request.MaxOpen {
			return transfer.ErrRequests.With(fmt.Sprintf("you have %d open requests and templates; close or delete some", n)).AtMost(request.MaxOpen)
		}
		if err := tx.InsertRequest(ctx, r, s.publicHash(r)); err != nil {
			return err
		}
		if err := tx.PutItems(ctx, r.UID, items); err != nil {
			return err
		}
		if err := s.record(ctx, tx, audit.Of(caller), audit.Entry{Action: "request.create", Object: r.UID.String(),
			Organization: owner.Organization}); err != nil {
			return err
		}
		return s.ask(ctx, tx, r, owner, items, parties)
	})
	if err != nil {
		return Detail{}, err
	}
	return s.detail(ctx, r, owner.Host)
}

// check checks a request and its items. A due time that is not before has to be in the future.
// Errors: fault.ErrInvalid.
func (s *Service) check(r *request.Request, owner transfer.Owner, items []request.Item, before time.Time) error {
	if err := r.Check(); err != nil {
		return err
	}
	if r.Due != nil && !r.Due.Equal(before) && !r.Due.After(s.Now()) {
		return fault.ErrInvalid.With("due: must be in the future")
	}
	return request.CheckItems(items, owner.MaxFileSizeMB)
}

// publicHash returns the hash of the key in the public link, nil without one.
func (s *Service) publicHash(r request.Request) []byte {
	if !r.Public || r.Template {
		return nil
	}
	return seal.Hash(s.publicKeys(r.UID)[0])
}

// List lists the caller's requests, newest first, after a position.
// Errors: transfer.ErrNotFound.
func (s *Service) List(ctx context.Context, caller token.Caller, l postgres.List) ([]request.Summary, error) {
	if _, err := s.owner(ctx, caller); err != nil {
		return nil, err
	}
	l.Owner = caller.Person
	return s.Store.Requests(ctx, l)
}

// Request returns one request of the caller.
// Errors: transfer.ErrNotFound.
func (s *Service) Request(ctx context.Context, caller token.Caller, uid id.Request) (Detail, error) {
	owner, err := s.owner(ctx, caller)
	if err != nil {
		return Detail{}, err
	}
	r, err := s.Store.Request(ctx, caller.Person, uid)
	if err != nil {
		return Detail{}, err
	}
	return s.detail(ctx, r, owner.Host)
}

// CheckOwner implements transfer/service.Requests.
func (s *Service) CheckOwner(ctx context.Context, caller token.Caller, uid id.Request) error {
	if _, err := s.owner(ctx, caller); err != nil {
		return err
	}
	_, err := s.Store.Request(ctx, caller.Person, uid)
	return err
}

// detail reads what belongs to a request, in four statements.
func (s *Service) detail(ctx context.Context, r request.Request, host string) (Detail, error) {
	d := Detail{Request: r}
	if r.Public && !r.Template {
		d.Link = s.Hosts.URL(host, "/q/"+s.publicKeys(r.UID)[0])
	}
	var err error
	if d.Items, err = s.Store.Items(ctx, r.UID); err != nil {
		return d, err
	}
	parties, err := s.Store.Parties(ctx, r.UID)
	if err != nil || len(parties) == 0 {
		return d, err
	}
	states, err := s.Store.PartyItems(ctx, r.UID)
	if err != nil {
		return d, err
	}
	files, err := s.Store.HandedIn(ctx, r.UID, id.Party{})
	if err != nil {
		return d, err
	}
	at := make(map[id.Party]int, len(parties))
	for i, p := range parties {
		at[p.UID] = i
		one := PartyDetail{Party: p, Items: map[id.Item]request.PartyItem{}, Files: map[id.Item][]postgres.File{}}
		if !p.Joined {
			one.Link = s.link(host, p)
		}
		d.Parties = append(d.Parties, one)
	}
	for _, x := range states {
		if i, ok := at[x.Party]; ok {
			d.Parties[i].Items[x.Item] = x
		}
	}
	for _, f := range files {
		if i, ok := at[f.Party]; ok {
			d.Parties[i].Files[f.Item] = append(d.Parties[i].Files[f.Item], f)
		}
	}
	return d, nil
}

// Change is a change of a request by its owner.
type Change struct {
	Version int64                                                                  // of If-Match; 0: any
	Apply   func(r *request.Request, items []request.Item) ([]request.Item, error) // returns the items, nil for no change of them
}

// Patch changes a request. A new due time plans the reminders anew, and prolongs or shortens what parties have uploaded.
// Errors: transfer.ErrNotFound, fault.ErrVersion, fault.ErrInvalid, transfer.ErrItemUsed.
func (s *Service) Patch(ctx context.Context, caller token.Caller, uid id.Request, c Change) (Detail, error) {
	owner, err := s.owner(ctx, caller)
	if err != nil {
		return Detail{}, err
	}
	var r request.Request
	err = s.inTx(ctx, func(tx stores) error {
		if r, err = tx.LockRequest(ctx, caller.Person, uid); err != nil {
			return err
		}
		if c.Version != 0 && c.Version != r.Version {
			return fault.ErrVersion.With(fmt.Sprintf("If-Match: the request is at another version, \"%d\"", r.Version))
		}
		var due time.Time
		if r.Due != nil {
			due = *r.Due
		}
		state := r.State
		items, err := tx.Items(ctx, uid)
		if err != nil {
			return err
		}
		changed, err := c.Apply(&r, items)
		if err != nil {
			return err
		}
		if changed != nil {
			items = changed
			for i := range items {
				if items[i].UID.IsZero() {
					items[i].UID = id.New[id.Item]()
				}
			}
		}
		if err := s.check(&r, owner, items, due); err != nil {
			return err
		}
		if now := s.Now(); r.State == request.Closed && state == request.Open {
			r.ClosedAt = &now
		} else if r.State == request.Open {
			r.ClosedAt = nil
		}
		if changed != nil {
			if err := tx.PutItems(ctx, uid, items); err != nil {
				return err
			}
		}
		if err := tx.UpdateRequest(ctx, r, s.publicHash(r), s.Now()); err != nil {
			return err
		}
		r.Version++
		if err := s.planAll(ctx, tx, r); err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Of(caller), audit.Entry{Action: "request.change", Object: uid.String(),
			Details: map[string]string{"state": string(r.State)}})
	})
	if err != nil {
		return Detail{}, err
	}
	if r.Due != nil {
		if err := s.Store.ProlongReservations(ctx, uid, id.Party{}, r.Expires(s.Now())); err != nil {
			return Detail{}, err
		}
	}
	return s.detail(ctx, r, owner.Host)
}

// Delete deletes a request. What was handed in stays in the owner's inbox; what was not is deleted.
// Errors: transfer.ErrNotFound.
func (s *Service) Delete(ctx context.Context, caller token.Caller, uid id.Request) error {
	if _, err := s.owner(ctx, caller); err != nil {
		return err
	}
	err := s.inTx(ctx, func(tx stores) error {
		if _, err := tx.LockRequest(ctx, caller.Person, uid); err != nil {
			return err
		}
		if err := tx.DeleteRequest(ctx, uid); err != nil {
			return err
		}
		return s.record(ctx, tx, audit.Of(caller), audit.Entry{Action: "request.delete", Object: uid.String()})
	})
	if err != nil {
		return err
	}
	return s.Store.EndReservations(ctx, uid)
}

// DeletePersonData implements transfer/service.Requests.
func (s *Service) DeletePersonData(ctx context.Context, p id.Person) error {
	for {
		n, err := s.Store.DeletePersonRequests(ctx, p, batch)
		if err != nil || n == 0 {
			return err
		}
	}
}

// OfPerson returns all requests of a person with their items and parties, for an export of the person's data.
func (s *Service) OfPerson(ctx context.Context, p id.Person) func(yield func(Detail, error) bool) {
	return func(yield func(Detail, error) bool) {
		for _, which := range []postgres.List{{State: request.Open}, {State: request.Closed}, {State: request.Open, Template: true}} {
			which.Owner, which.Limit = p, request.MaxPage
			for {
				page, err := s.Store.Requests(ctx, which)
				if err != nil {
					yield(Detail{}, err)
					return
				}
				for _, r := range page {
					d, err := s.detail(ctx, r.Request, "")
					if !yield(d, err) || err != nil {
						return
					}
					which.Before, which.BeforeID = r.CreatedAt, r.UID
				}
				if len(page) < which.Limit {
					break
				}
			}
		}
	}
}
