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
