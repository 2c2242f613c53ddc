package service

import (
	"context"
	"iter"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
)

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
		q.After = next
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
