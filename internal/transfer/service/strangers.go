// The bounds of new transfers and reservations of strangers.

package service

import (
	"cmp"
	"context"
	"net/netip"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// The buckets of new transfers (contract 4.2). What an owner sends counts in newTransferBucket, which strangers cannot fill. What
// strangers reserve at the owner's mailbox counts in strangersBucket, and in visitorBucket, which limits each client network to
// StrangerLimits.NetworkShare percent of it.
func newTransferBucket(l ratelimit.Limit) ratelimit.Bucket {
	return ratelimit.Bucket{Name: "new-transfer", Limit: l, By: ratelimit.ByOwner, Essential: true, Refusal: transfer.ErrNewTransfers}
}

// strangersKept is the percentage of strangersBucket above it. Somebody with hundreds of networks that have not asked yet leaves room.
const strangersKept = 300

func strangersBucket(l ratelimit.Limit) ratelimit.Bucket {
	return ratelimit.Bucket{Name: "new-transfer-stranger", Limit: l, Kept: strangersKept, By: ratelimit.ByOwner, Essential: true,
		Refusal: transfer.ErrNewTransfers}
}

func visitorBucket(l ratelimit.Limit, percent int) ratelimit.Bucket {
	return ratelimit.Bucket{Name: "new-transfer-visitor", Limit: l, By: ratelimit.ByVisitor, Essential: true,
		Refusal: transfer.ErrClientTransfers}.Share(percent)
}

func transferLimit(o transfer.Owner) ratelimit.Limit {
	return ratelimit.Limit{Capacity: o.TransferLimit, PerSecond: o.TransferDrain}
}

// ownersParts returns the bucket of a new transfer of an owner.
func ownersParts(o transfer.Owner, owner id.Person) []ratelimit.Part {
	return []ratelimit.Part{{Bucket: newTransferBucket(transferLimit(o)), Identifier: owner.String()}}
}

// strangersParts returns the buckets of a new transfer of a stranger: the client network's, unless it is unknown or of the house of the
// mailbox's owner, and all strangers'.
func (s *Service) strangersParts(l ratelimit.Limit, owner id.Person, house []netip.Prefix, client string) []ratelimit.Part {
	all := ratelimit.Part{Bucket: strangersBucket(l), Identifier: owner.String(), Client: client}
	if client == "" || transfer.IsHouse(house, ratelimit.NetworkOf(client)) {
		return []ratelimit.Part{all}
	}
	own := ratelimit.Part{Bucket: visitorBucket(l, s.strangers.NetworkShare), Identifier: owner.String() + " " + client}
	return []ratelimit.Part{own, all}
}

// take takes a token of each of the buckets, or none. returnTokens returns them.
// Errors: the refusal of a bucket.
func (s *Service) take(ctx context.Context, parts []ratelimit.Part) (returnTokens func(), err error) {
	taken, err := s.limiter.Take(ctx, parts...)
	if err = cmp.Or(err, taken.Err()); err != nil {
		return nil, err
	}
	return func() { s.returnTokens(ctx, parts) }, nil
}

func (s *Service) returnTokens(ctx context.Context, parts []ratelimit.Part) {
	if err := s.limiter.Return(context.WithoutCancel(ctx), parts...); err != nil {
		s.log.Warn("tokens not returned to their buckets", "error", err)
	}
}

// returnStrangersTransfers returns the tokens of reservations that ended without a transfer and without bytes.
func (s *Service) returnStrangersTransfers(ctx context.Context, unused []postgres.UnusedReservation) {
	for _, r := range unused {
		limit := ratelimit.Limit{Capacity: r.TransferLimit, PerSecond: r.TransferDrain}
		s.returnTokens(ctx, s.strangersParts(limit, r.Owner, r.OwnNetworks, r.Client))
	}
}

// insertStrangers stores a stranger's reservation if the mailbox, its organization and the client network may have one more. It charges
// nothing: a request that did would wait for all others at the volumes of the organization. The next one that changes the reservation does.
// Errors: transfer.ErrNotFound, transfer.ErrMailboxBusy, transfer.ErrClientBusy.
func (s *Service) insertStrangers(ctx context.Context, r transfer.Reservation, house []netip.Prefix) error {
	l := s.strangers
	l.House = transfer.IsHouse(house, ratelimit.NetworkOf(r.Client))
	added, err := s.store.InsertMailboxReservation(ctx, r, l)
	switch {
	case err != nil || added.Stored:
		return err
	case added.MailboxClient:
		return transfer.ErrClientBusy
	case added.OrganizationClient:
		return transfer.ErrClientBusy.With(
			"your network has as many unfinished transfers to mailboxes of this organization as it may have; confirm or cancel one, then try again")
	case added.Mailbox:
		return transfer.ErrMailboxBusy
	case added.Organization:
		return transfer.ErrMailboxBusy.With("the mailboxes of this organization have as many unfinished transfers as they take; try again later")
	}
	return transfer.ErrNotFound
}
