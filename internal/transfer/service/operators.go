package service

import (
	"context"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

// The methods of this file are for `consign mailbox …`.

// SetMailbox creates or replaces the mailbox of m.Person for an operator, at the person's home host, and reports which. The same holds
// for it as for the owner's own: see PutMailbox for the errors.
func (s *Service) SetMailbox(ctx context.Context, m transfer.Mailbox) (_ transfer.PublicMailbox, created bool, err error) {
	owner, err := s.Store.Owner(ctx, m.Person, s.anywhere())
	if err != nil {
		return transfer.PublicMailbox{}, false, err
	}
	host, err := s.Hosts.Resolve(ctx, owner.Host)
	if err != nil {
		return transfer.PublicMailbox{}, false, err
	}
	return s.putMailbox(ctx, token.Caller{Client: token.Client{Host: host}}, m)
}

// PersonMailbox returns a person's mailbox, wherever that is at home. ErrNotFound.
func (s *Service) PersonMailbox(ctx context.Context, p id.Person) (transfer.PublicMailbox, error) {
	return s.Store.PublicMailbox(ctx, transfer.Key{UID: p.String()}, s.anywhere())
}

// MailboxPage is the address of the page where strangers hand files to the mailbox.
func (s *Service) MailboxPage(m transfer.PublicMailbox) string {
	name := m.VanityLink
	if name == "" {
		name = m.Person.String()
	}
	return s.Hosts.URL(m.Owner.Host, "/m/"+name)
}

// PersonTransfers returns everything that a person has sent and received, newest first, as the person itself sees it, for an export.
// ErrNotFound.
func (s *Service) PersonTransfers(ctx context.Context, p id.Person) ([]SeenTransfer, error) {
	owner, err := s.Store.Owner(ctx, p, s.anywhere())
	if err != nil {
		return nil, err
	}
	host, err := s.Hosts.Resolve(ctx, owner.Host)
	if err != nil {
		return nil, err
	}
	c := token.Caller{Person: p, Client: token.Client{Host: host}}
	var all []SeenTransfer
	for q := (TransferQuery{Received: true, Sent: true, Limit: MaxPage}); ; {
		page, next, err := s.Transfers(ctx, c, q)
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			if t.Brief { // the list leaves out the objects
				if t, err = s.Transfer(ctx, c, t.UID); err != nil {
					return nil, err
				}
			}
			all = append(all, t)
		}
		if next == "" {
			return all, nil
		}
		q.Cursor = next
	}
}
