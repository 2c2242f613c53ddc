// The bounds of new transfers and reservations of strangers.

package service

import (
	"context"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// The buckets of new transfers (contract 4.2). What an owner sends counts in newTransferBucket, which strangers cannot fill. What
// strangers reserve at the owner's mailbox counts in strangersBucket, and in visitorBucket, which limits each client network to
// StrangerLimits.NetworkShare percent of it. The networks around it share larger parts (ratelimit.Around), so that somebody with a whole
// prefix leaves room for others.
func newTransferBucket(l ratelimit.Limit) ratelimit.Bucket {
	return ratelimit.Bucket{Name: "new-transfer", Limit: l, By: ratelimit.ByOwner, Essential: true, Refusal: transfer.ErrNewTransfers}
}

func strangersBucket(l ratelimit.Limit) ratelimit.Bucket {
	return ratelimit.Bucket{Name: "new-transfer-stranger", Limit: l, By: ratelimit.ByOwner, Essential: true, Refusal: transfer.ErrNewTransfers}
}

func visitorBucket(l ratelimit.Limit, percent int) ratelimit.Bucket {
	return ratelimit.Bucket{Name: "new-transfer-visitor", Limit: l.Share(percent), By: ratelimit.ByVisitor, Essential: true,
		Refusal: transfer.ErrClientTransfers}
}

func transferLimit(o transfer.Owner) ratelimit.Limit {
	return ratelimit.Limit{Capacity: o.TransferLimit, PerSecond: o.TransferDrain}
}

// takeNewTransfer takes a token from the owner's own bucket of new transfers. returnTokens returns it.
// Errors: transfer.ErrNewTransfers.
func (s *Service) takeNewTransfer(ctx context.Context, owner id.Person, o transfer.Owner) (returnTokens func(), err error) {
	return s.takeToken(ctx, newTransferBucket(transferLimit(o)), owner.String())
}

// takeStrangersTransfer takes a token from the bucket of the client network, unless it is unknown, and one from the strangers'
// bucket of the mailbox. It takes both or none, in one step; returnTokens returns them.
// Errors: transfer.ErrNewTransfers.
func (s *Service) takeStrangersTransfer(ctx context.Context, owner id.Person, o transfer.Owner,
	client string) (returnTokens func(), err error) {
	parts := s.strangersParts(transferLimit(o), owner, client)
	refused, result, err := s.limiter.TakeAll(ctx, parts...)
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return nil, refused.Bucket.Refused(result)
	}
	return func() { s.returnParts(ctx, parts) }, nil
}

// strangersParts returns the buckets of a new transfer of a stranger.
func (s *Service) strangersParts(l ratelimit.Limit, owner id.Person, client string) []ratelimit.Part {
	parts := []ratelimit.Part{{Bucket: strangersBucket(l), Identifier: owner.String()}}
	if client != "" {
		own := []ratelimit.Part{{Bucket: visitorBucket(l, s.strangers.NetworkShare), Identifier: visitor(owner, client)}}
		for _, wide := range ratelimit.Around(ratelimit.NetworkOf(client), s.strangers.NetworkShare) {
			own = append(own, ratelimit.Part{Bucket: visitorBucket(l, wide.Percent), Identifier: visitor(owner, wide.Network.String())})
		}
		parts = append(own, parts...)
	}
	return parts
}

func (s *Service) returnParts(ctx context.Context, parts []ratelimit.Part) {
	for _, p := range parts {
		s.returnToken(ctx, p.Bucket, p.Identifier)
	}
}

// visitor returns the identifier of a client network at a mailbox.
func visitor(owner id.Person, client string) string { return owner.String() + " " + client }

// takeToken takes a token from a bucket. returnTokens returns it.
// Errors: the bucket's refusal.
func (s *Service) takeToken(ctx context.Context, b ratelimit.Bucket, identifier string) (returnTokens func(), err error) {
	result, err := s.limiter.Take(ctx, b, identifier)
	if err != nil {
		return nil, err
	}
	if !result.Allowed {
		return nil, b.Refused(result)
	}
	return func() { s.returnToken(ctx, b, identifier) }, nil
}

func (s *Service) returnToken(ctx context.Context, b ratelimit.Bucket, identifier string) {
	if err := s.limiter.Return(context.WithoutCancel(ctx), b, identifier); err != nil {
		s.log.Warn("token not returned to its bucket", "bucket", b.Name, "error", err)
	}
}

// returnStrangersTransfers returns the tokens of reservations that ended without a transfer and without bytes.
func (s *Service) returnStrangersTransfers(ctx context.Context, unused []postgres.UnusedReservation) {
	for _, r := range unused {
		limit := ratelimit.Limit{Capacity: r.TransferLimit, PerSecond: r.TransferDrain}
		s.returnParts(ctx, s.strangersParts(limit, r.Owner, r.Client))
	}
}

// insertStrangers stores a stranger's reservation if the mailbox, its organization and the client network may have one more. It charges
// nothing: a request that did would wait for all others at the volumes of the organization. The next one that changes the reservation does.
// Errors: transfer.ErrNotFound, transfer.ErrMailboxBusy, transfer.ErrClientBusy.
func (s *Service) insertStrangers(ctx context.Context, r transfer.Reservation) error {
	l := s.strangers
	added, err := s.store.InsertMailboxReservation(ctx, r, l)
	full := func(n int64, limit int) bool { return limit > 0 && n >= int64(limit) }
	switch {
	case err != nil || added.Stored:
		return err
	case full(added.MailboxClient, l.Share(l.Reservations)):
		return transfer.ErrClientBusy
	case full(added.OrganizationClient, l.Share(l.OrganizationReservations)):
		return transfer.ErrClientBusy.With(
			"your network has as many unfinished transfers to mailboxes of this organization as it may have; confirm or cancel one, then try again")
	case full(added.Mailbox, l.Reservations):
		return transfer.ErrMailboxBusy
	case full(added.Organization, l.OrganizationReservations):
		return transfer.ErrMailboxBusy.With("the mailboxes of this organization have as many unfinished transfers as they take; try again later")
	}
	return transfer.ErrNotFound
}
