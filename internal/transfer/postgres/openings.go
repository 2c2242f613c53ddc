package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// Opening is a transfer that has not ended, as somebody found the way to it: a person who is a party of it, or whoever
// holds the key of a delivery.
type Opening struct {
	Transfer       id.Transfer
	Reservation    id.Reservation
	Protection     transfer.Protection
	CreatedAt      time.Time
	AsSender       bool        // the person sent it
	Delivery       id.Delivery // zero: the sender's way
	DeliveryOpened bool        // it had been opened before
	Proven         bool        // the person holds the address of the delivery, as recipientAuthentication asks
}

// Locked reports whether a protection keeps the person from the content. Who came by a link is asked elsewhere.
func (o Opening) Locked() bool { return locked(o.AsSender, o.Protection, o.Proven) }

func locked(asSender bool, p transfer.Protection, proven bool) bool {
	return !asSender && (p == transfer.ProtectPassword || p == transfer.ProtectIdentity && !proven)
}

// openingColumns are an Opening by a person's way, with $1 the person and seenDelivery joined.
const openingColumns = `t.uid AS transfer, t.reservation, t.protection, t.created_at,
	coalesce(t.sender_managed AND t.sender = $1 AND t.hidden_at IS NULL, false) AS as_sender, d.uid AS delivery, d.accessed_at AS opened_at,
	coalesce(d.proven, false) AS proven`

// linkedColumns are an Opening by the way of delivery d's link.
const linkedColumns = `t.uid AS transfer, t.reservation, t.protection, t.created_at, false AS as_sender, d.uid AS delivery, d.accessed_at AS opened_at,
	true AS proven`

// byLink finds delivery d and transfer t by the hash $1 of the key in a link, on a host that is home to a party of the
// transfer or to the organization whose limits it uses, which is where the link leads. $2 is the host, $3 the
// organization that owns it, $4 the time. The links of an organization that is gone work on the free one's host.
const byLink = `transfer.deliveries d JOIN transfer.transfers t ON t.uid = d.transfer AND d.key_hash = $1 AND d.hidden_at IS NULL
	AND t.ended_at IS NULL AND t.expires_at > $4
	AND (t.limits_organization = $3 OR ` + atHome + `
		OR NOT EXISTS (SELECT FROM directory.organizations g WHERE g.organization = t.limits_organization)
			AND EXISTS (SELECT FROM directory.organizations g WHERE g.organization = $3 AND g.free))`

type openingRow struct {
	Transfer    id.Transfer
	Reservation id.Reservation
	Protection  string
	CreatedAt   time.Time
	AsSender    bool
	Delivery    id.Delivery
	OpenedAt    *time.Time
	Proven      bool
}

func (r openingRow) opening() Opening {
	return Opening{
		Transfer: r.Transfer, Reservation: r.Reservation, Protection: transfer.Protection(r.Protection), CreatedAt: r.CreatedAt,
		AsSender: r.AsSender, Delivery: r.Delivery, DeliveryOpened: r.OpenedAt != nil, Proven: r.Proven,
	}
}

// Opening finds a transfer that has not ended for a person who is a party of it. ErrNotFound.
func (s *Store) Opening(ctx context.Context, t id.Transfer, p id.Person, sc Scope) (Opening, error) {
	row, err := one[openingRow](s.q.Query(ctx, `SELECT `+openingColumns+` FROM transfer.transfers t `+seenDelivery+`
		WHERE t.uid = $3 AND t.ended_at IS NULL AND t.expires_at > $4
			AND (d.uid IS NOT NULL OR t.sender_managed AND t.sender = $1 AND t.hidden_at IS NULL) AND `+reachable, p, sc.Host, t, sc.Now))
	if err != nil {
		return Opening{}, fmt.Errorf("find transfer: %w", err)
	}
	return row.opening(), nil
}

// LinkedOpening finds the transfer that the hashed key of a link leads to. ErrNotFound.
func (s *Store) LinkedOpening(ctx context.Context, keyHash []byte, sc Scope) (Opening, error) {
	row, err := one[openingRow](s.q.Query(ctx, `SELECT `+linkedColumns+` FROM `+byLink, keyHash, sc.Host, sc.HostOrganization, sc.Now))
	if err != nil {
		return Opening{}, fmt.Errorf("find link: %w", err)
	}
	return row.opening(), nil
}

// Download is one object of an Opening.
type Download struct {
	transfer.Object
	Opening
}

type downloadRow struct {
	objectRow
	openingRow
}

func (r downloadRow) download() Download {
	return Download{Object: r.object(), Opening: r.opening()}
}

// Download finds an object of a transfer that has not ended, for a person who is a party of it. ErrNotFound.
func (s *Store) Download(ctx context.Context, t id.Transfer, o id.Object, p id.Person, sc Scope) (Download, error) {
	row, err := one[downloadRow](s.q.Query(ctx, `SELECT `+objectColumns+`, `+openingColumns+`
		FROM transfer.transfers t `+seenDelivery+` JOIN transfer.objects o ON o.reservation = t.reservation
		WHERE t.uid = $3 AND o.uid = $4 AND t.ended_at IS NULL AND t.expires_at > $5
			AND (d.uid IS NOT NULL OR t.sender_managed AND t.sender = $1 AND t.hidden_at IS NULL) AND `+reachable,
		p, sc.Host, t, o, sc.Now))
	if err != nil {
		return Download{}, fmt.Errorf("find object: %w", err)
	}
	return row.download(), nil
}

// LinkedDownload finds an object of the transfer that the hashed key of a link leads to. ErrNotFound.
func (s *Store) LinkedDownload(ctx context.Context, keyHash []byte, o id.Object, sc Scope) (Download, error) {
	row, err := one[downloadRow](s.q.Query(ctx, `SELECT `+objectColumns+`, `+linkedColumns+`
		FROM `+byLink+` JOIN transfer.objects o ON o.reservation = t.reservation WHERE o.uid = $5`,
		keyHash, sc.Host, sc.HostOrganization, sc.Now, o))
	if err != nil {
		return Download{}, fmt.Errorf("find object: %w", err)
	}
	return row.download(), nil
}
