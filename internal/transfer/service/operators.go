package service

import (
	"context"
	"iter"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

// The methods of this file serve `consign mailbox …`, `consign person export` and GET /profile/export.

// SetMailbox creates or replaces the mailbox of m.Person on the person's home host, and reports whether it created it. The
// rules are those for the owner.
// Errors: those of PutMailbox.
func (s *Service) SetMailbox(ctx context.Context, m transfer.Mailbox) (_ transfer.PublicMailbox, created bool, err error) {
	owner, err := s.store.Owner(ctx, m.Person, s.anyHost())
	if err != nil {
		return transfer.PublicMailbox{}, false, err
	}
	host, err := s.hosts.Resolve(ctx, owner.Host)
	if err != nil {
		return transfer.PublicMailbox{}, false, err
	}
	return s.putMailbox(ctx, token.Caller{Client: token.Client{Host: host}}, m)
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

// PersonTransfers streams all transfers that a person sent and received, newest first, as the person sees them. It reads
// them in batches.
// Errors: transfer.ErrNotFound.
func (s *Service) PersonTransfers(ctx context.Context, p id.Person) iter.Seq2[SeenTransfer, error] {
	return func(yield func(SeenTransfer, error) bool) {
		if err := s.eachTransfer(ctx, p, func(t SeenTransfer) bool { return yield(t, nil) }); err != nil {
			yield(SeenTransfer{}, err)
		}
	}
}

// eachTransfer calls visit for each transfer of a person until visit returns false.
func (s *Service) eachTransfer(ctx context.Context, p id.Person, visit func(SeenTransfer) bool) error {
	owner, err := s.store.Owner(ctx, p, s.anyHost())
	if err != nil {
		return err
	}
	host, err := s.hosts.Resolve(ctx, owner.Host)
	if err != nil {
		return err
	}
	c := token.Caller{Person: p, Client: token.Client{Host: host}}
	for q := (TransferQuery{Received: true, Sent: true, Limit: transfer.MaxPage}); ; {
		page, next, err := s.Transfers(ctx, c, q)
		if err != nil {
			return err
		}
		for t, err := range page {
			if err == nil && t.Brief && !t.Locked {
				t, err = s.withObjects(ctx, t)
			}
			if err != nil {
				return err
			}
			if !visit(t) {
				return nil
			}
		}
		if next == "" {
			return nil
		}
		q.Cursor = next
	}
}

// withObjects returns t with the objects that lists leave out.
func (s *Service) withObjects(ctx context.Context, t SeenTransfer) (SeenTransfer, error) {
	for o, err := range s.attached(ctx, t.Reservation) { // the names are empty if the transfer has ended
		if err != nil {
			return t, err
		}
		o.Downloads += t.Archives
		if t.withheld {
			withholdNames(&o)
		}
		t.Objects = append(t.Objects, o)
	}
	t.Brief = false
	return t, nil
}
