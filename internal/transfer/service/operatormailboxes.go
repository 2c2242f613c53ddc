package service

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// OperatorMailboxes selects mailboxes and groups for an operator. At most one of the first three is given; none: all that have a link.
type OperatorMailboxes struct {
	Link         string // what links begin with
	Person       string // uid or address of the owner
	Organization string // uid or hostname
	After        string // next of the page before; empty: the first page
}

// FindMailboxes lists mailboxes and groups: by link, or those of an organization, groups first. next is empty on the last page.
// Errors: fault.ErrInvalid.
func (s *Service) FindMailboxes(ctx context.Context, in OperatorMailboxes) (list []transfer.ListedMailbox, next string, err error) {
	q := postgres.MailboxSearch{Link: strings.ToLower(strings.TrimSpace(in.Link)), Limit: operatorPage + 1}
	after, key, ok := id.ParsePosition[id.Person](in.After)
	if !ok {
		return nil, "", fault.ErrInvalid.With("after: must be next of an earlier answer")
	}
	q.After, q.AfterKey = after.UUID, key
	if known, err := s.narrowMailboxes(ctx, &q, in); err != nil || !known {
		return nil, "", err
	}
	found, err := s.store.FindMailboxes(ctx, q, s.now())
	if err != nil {
		return nil, "", err
	}
	if len(found) > operatorPage {
		found = found[:operatorPage]
		last := found[operatorPage-1]
		next = id.Position(struct{ uuid.UUID }{last.At}, last.Key)
	}
	for _, m := range found {
		list = append(list, m.ListedMailbox)
	}
	return list, next, nil
}

// narrowMailboxes sets whose mailboxes q selects. It reports whether who is named is known.
// Errors: fault.ErrInvalid.
func (s *Service) narrowMailboxes(ctx context.Context, q *postgres.MailboxSearch, in OperatorMailboxes) (known bool, err error) {
	switch {
	case in.Link != "" && in.Person+in.Organization != "" || in.Person != "" && in.Organization != "":
		return false, fault.ErrInvalid.With("query: give one of link, person and organization")
	case in.Person != "":
		q.Person, err = s.personNamed(ctx, in.Person)
		return !q.Person.IsZero(), err
	case in.Organization != "":
		q.Organization, err = s.organizationNamed(ctx, in.Organization)
		return !q.Organization.IsZero(), err
	}
	if err := text.Line(in.Link, text.MaxName); err != nil {
		return false, fault.ErrInvalid.With("link: " + err.Error())
	}
	return true, nil
}

// MailboxReport is what an operator sees of a mailbox.
type MailboxReport struct {
	transfer.PublicMailbox
	Page         string // URL
	Groups       []transfer.MailboxGroup
	Reservations []OpenReservation // newest first
}

// ReportMailbox returns the mailbox of a person with the open reservations of strangers.
// Errors: transfer.ErrNotFound.
func (s *Service) ReportMailbox(ctx context.Context, p id.Person) (r MailboxReport, err error) {
	if r.PublicMailbox, err = s.PersonMailbox(ctx, p); err != nil {
		return r, err
	}
	r.Page = s.MailboxPage(r.PublicMailbox)
	if r.Groups, err = s.PersonGroups(ctx, p); err != nil {
		return r, err
	}
	r.Reservations, err = s.store.OpenReservations(ctx, p, s.now())
	return r, err
}

// errHasMailbox: a person has one mailbox.
var errHasMailbox = fault.ErrConflict.With("person: has a mailbox already")

// CreateMailbox creates the mailbox of a person who has none, like `consign mailbox create`.
// Errors: fault.ErrConflict, those of PutMailbox.
func (s *Service) CreateMailbox(ctx context.Context, p id.Person, link string) error {
	if _, err := s.PersonMailbox(ctx, p); !errors.Is(err, transfer.ErrNotFound) {
		if err == nil {
			err = errHasMailbox
		}
		return err
	}
	_, _, err := s.SetMailbox(ctx, transfer.Mailbox{Person: p, VanityLink: link})
	return err
}

// EndOpenReservations cancels one open reservation of a stranger on the mailbox of a person, or with the zero uid all, like the owner does.
// Errors: transfer.ErrNotFound.
func (s *Service) EndOpenReservations(ctx context.Context, p id.Person, uid id.Reservation) error {
	if !uid.IsZero() {
		return s.cancelAtMailbox(ctx, token.Caller{}, p, uid)
	}
	if _, err := s.PersonMailbox(ctx, p); err != nil {
		return err
	}
	open, err := s.store.OpenReservations(ctx, p, s.now())
	if err != nil {
		return err
	}
	for _, r := range open {
		if err := s.cancelAtMailbox(ctx, token.Caller{}, p, r.UID); err != nil && !errors.Is(err, transfer.ErrNotFound) {
			return err
		}
	}
	return nil
}
