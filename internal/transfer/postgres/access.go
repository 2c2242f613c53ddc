package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// Access is the access to a transfer that has not ended: of a person who is a party of it, or of whoever has the key of a
// delivery's link.
type Access struct {
	Transfer       id.Transfer
	Reservation    id.Reservation
	Protection     transfer.Protection
	CreatedAt      time.Time
	AsSender       bool        // the person sent it
	Delivery       id.Delivery // zero: as the sender alone
	DeliveryOpened bool        // the delivery was opened before
	Proven         bool        // the person holds the address of the delivery, as recipientAuthentication requires
}

// Locked reports whether the protection keeps the person from the content. For links, package service decides.
func (a Access) Locked() bool { return locked(a.AsSender, a.Protection, a.Proven) }

func locked(asSender bool, p transfer.Protection, proven bool) bool {
	return !asSender && (p == transfer.ProtectPassword || p == transfer.ProtectIdentity && !proven)
}

// personAccess are an Access of person $1, with seenDelivery joined.
const personAccess = `t.uid AS transfer, t.reservation, t.protection, t.created_at,
	coalesce(t.sender_managed AND t.sender = $1 AND t.hidden_at IS NULL, false) AS as_sender, d.uid AS delivery,
	d.accessed_at IS NOT NULL AS delivery_opened, coalesce(d.proven, false) AS proven`

// linkAccess are an Access by the link of delivery d.
const linkAccess = `t.uid AS transfer, t.reservation, t.protection, t.created_at, false AS as_sender, d.uid AS delivery,
	d.accessed_at IS NOT NULL AS delivery_opened, true AS proven`

// byLink finds delivery d and transfer t by the hash $1 of the key in a link, on the home host of a party of the transfer or of
// the organization whose limits it uses: links lead there. $2 is the host, $3 the organization that owns it, $4 the time. The
// links of a deleted organization work on the free one's host.
const byLink = `transfer.deliveries d JOIN transfer.transfers t ON t.uid = d.transfer AND d.key_hash = $1 AND d.hidden_at IS NULL
	AND t.ended_at IS NULL AND t.expires_at > $4
	AND (t.limits_organization = $3 OR ` + atHome + `
		OR NOT EXISTS (SELECT FROM directory.organizations g WHERE g.organization = t.limits_organization)
			AND EXISTS (SELECT FROM directory.organizations g WHERE g.organization = $3 AND g.free))`

// Access finds a transfer that has not ended, for a person who is a party of it. Errors: transfer.ErrNotFound.
func (s *Store) Access(ctx context.Context, t id.Transfer, p id.Person, sc Scope) (Access, error) {
	return database.One[Access](ctx, s.q, "find transfer", transfer.ErrNotFound, `
		SELECT `+personAccess+` FROM transfer.transfers t `+seenDelivery+`
		WHERE t.uid = $3 AND t.ended_at IS NULL AND t.expires_at > $4
			AND (d.uid IS NOT NULL OR t.sender_managed AND t.sender = $1 AND t.hidden_at IS NULL) AND `+reachable, p, sc.Host, t, sc.Now)
}

// LinkedAccess finds the transfer of a link by the hash of its key. Errors: transfer.ErrNotFound.
func (s *Store) LinkedAccess(ctx context.Context, keyHash []byte, sc Scope) (Access, error) {
	return database.One[Access](ctx, s.q, "find link", transfer.ErrNotFound,
		`SELECT `+linkAccess+` FROM `+byLink, keyHash, sc.Host, sc.HostOrganization, sc.Now)
}

// Download is one object with the access to its transfer.
type Download struct {
	transfer.Object
	Access
}

// Download finds an object of a transfer that has not ended, for a person who is a party of it. Errors: transfer.ErrNotFound.
func (s *Store) Download(ctx context.Context, t id.Transfer, o id.Object, p id.Person, sc Scope) (Download, error) {
	return database.One[Download](ctx, s.q, "find object", transfer.ErrNotFound, `
		SELECT `+objectColumns+`, `+personAccess+`
		FROM transfer.transfers t `+seenDelivery+` JOIN transfer.objects o ON o.reservation = t.reservation
		WHERE t.uid = $3 AND o.uid = $4 AND t.ended_at IS NULL AND t.expires_at > $5
			AND (d.uid IS NOT NULL OR t.sender_managed AND t.sender = $1 AND t.hidden_at IS NULL) AND `+reachable,
		p, sc.Host, t, o, sc.Now)
}

// LinkedDownload finds an object of the transfer of a link by the hash of its key. Errors: transfer.ErrNotFound.
func (s *Store) LinkedDownload(ctx context.Context, keyHash []byte, o id.Object, sc Scope) (Download, error) {
	return database.One[Download](ctx, s.q, "find object", transfer.ErrNotFound, `
		SELECT `+objectColumns+`, `+linkAccess+`
		FROM `+byLink+` JOIN transfer.objects o ON o.reservation = t.reservation WHERE o.uid = $5`,
		keyHash, sc.Host, sc.HostOrganization, sc.Now, o)
}
