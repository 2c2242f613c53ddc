package service

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/audit"
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
		q.Person, err = s.PersonNamed(ctx, in.Person)
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

// SetMailbox creates or replaces the mailbox of m.Person on the person's home host, and reports whether it created it. The
// rules are those for the owner.
// Errors: those of PutMailbox.
func (s *Service) SetMailbox(ctx context.Context, by audit.Actor, m transfer.Mailbox) (_ transfer.PublicMailbox, created bool, err error) {
	owner, err := s.store.Owner(ctx, m.Person, s.anyHost())
	if err != nil {
		return transfer.PublicMailbox{}, false, err
	}
	host, err := s.hosts.Resolve(ctx, owner.Host)
	if err != nil {
		return transfer.PublicMailbox{}, false, err
	}
	by.Client.Host = host
	return s.putMailbox(ctx, by, m)
}

// PersonMailbox returns a person's mailbox on any host.
// Errors: transfer.ErrNotFound.
func (s *Service) PersonMailbox(ctx context.Context, p id.Person) (transfer.PublicMailbox, error) {
	return s.store.PublicMailbox(ctx, transfer.Key{UID: p.String()}, s.anyHost())
}

// PersonGroups returns the groups that list a person's mailbox, by name.
func (s *Service) PersonGroups(ctx context.Context, p id.Person) ([]transfer.MailboxGroup, error) {
	return s.store.GroupsOf(ctx, p)
}

// MailboxPage returns the URL of the page where strangers upload to the mailbox.
func (s *Service) MailboxPage(m transfer.PublicMailbox) string {
	name := m.VanityLink
	if name == "" {
		name = m.Person.String()
	}
	return s.hosts.URL(m.Owner.Host, "/m/"+name)
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
func (s *Service) CreateMailbox(ctx context.Context, by audit.Actor, p id.Person, link string) error {
	if _, err := s.PersonMailbox(ctx, p); !errors.Is(err, transfer.ErrNotFound) {
		if err == nil {
			err = errHasMailbox
		}
		return err
	}
	_, _, err := s.SetMailbox(ctx, by, transfer.Mailbox{Person: p, VanityLink: link})
	return err
}

// EndOpenReservations cancels one open reservation of a stranger on the mailbox of a person, or with the zero uid all, like the owner does.
// Errors: transfer.ErrNotFound.
func (s *Service) EndOpenReservations(ctx context.Context, by audit.Actor, p id.Person, uid id.Reservation) error {
	if !uid.IsZero() {
		return s.cancelAtMailbox(ctx, by, p, uid)
	}
	if _, err := s.PersonMailbox(ctx, p); err != nil {
		return err
	}
	open, err := s.store.OpenReservations(ctx, p, s.now())
	if err != nil {
		return err
	}
	for _, r := range open {
		if err := s.cancelAtMailbox(ctx, by, p, r.UID); err != nil && !errors.Is(err, transfer.ErrNotFound) {
			return err
		}
	}
	return nil
}

// SuspendMailbox makes the mailbox of a person not available: running uploads end, and open reservations are not found until it is
// reactivated. The owner keeps what was delivered. A suspended mailbox stays as it is.
// Errors: transfer.ErrNotFound.
func (s *Service) SuspendMailbox(ctx context.Context, by audit.Actor, p id.Person) error {
	m, err := s.PersonMailbox(ctx, p)
	if err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		ended, suspended, err := tx.SuspendMailbox(ctx, p, s.now())
		if err != nil || !suspended {
			return err
		}
		revoked := make([]token.Revocation, len(ended))
		for i, uid := range ended {
			revoked[i].Ended = uid
		}
		if err := s.revocations.Publish(ctx, tx.Tx(), revoked...); err != nil {
			return err
		}
		return s.record(ctx, tx, by, audit.Entry{Action: "mailbox.suspend", Object: p.String(), Target: p, Organization: m.Owner.Organization})
	})
}

// ReactivateMailbox ends the suspension of the mailbox of a person.
// Errors: transfer.ErrNotFound when there is neither a mailbox nor a suspension.
func (s *Service) ReactivateMailbox(ctx context.Context, by audit.Actor, p id.Person) error {
	return s.store.InTx(ctx, func(tx *postgres.Store) error {
		suspended, err := tx.ReactivateMailbox(ctx, p)
		if err != nil {
			return err
		}
		m, err := s.PersonMailbox(ctx, p)
		if !suspended || err != nil && !errors.Is(err, transfer.ErrNotFound) {
			return err
		}
		return s.record(ctx, tx, by, audit.Entry{Action: "mailbox.reactivate", Object: p.String(), Target: p,
			Organization: m.Owner.Organization})
	})
}
