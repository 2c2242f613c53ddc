package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// Access is the access of one caller to a transfer that has not ended. The caller is a person who is a party of the
// transfer, or presents the key of a delivery's link.
type Access struct {
	Transfer       id.Transfer
	Reservation    id.Reservation
	Protection     transfer.Protection
	CreatedAt      time.Time
	AsSender       bool        // the person sent it
	Delivery       id.Delivery // zero: access as sender only
	DeliveryOpened bool        // the delivery was opened before
	Verified       bool        // recipientAuthentication is met or not required

	transfer.Limits // of downloads; they do not bind the sender

	transfer.Gate                 // which objects are not given
	Owner         id.Person       // whose volume the transfer used
	Organization  id.Organization // whose policies it was confirmed under

	ProtectionEpoch int64 // of the transfer; download tokens with another one are of an earlier protection

	Suspensions []uuid.UUID // which end a download by a link: the next ones of the link's persons
}

// Locked reports whether the protection denies the person the content. For links, package service decides.
func (a Access) Locked() bool { return locked(a.AsSender, a.Protection, a.Verified) }

func locked(asSender bool, p transfer.Protection, verified bool) bool {
	return !asSender && (p == transfer.ProtectPassword || p == transfer.ProtectIdentity && !verified)
}

// personAccess selects an Access of person $1. The statement joins seenDelivery.
const personAccess = `'{}'::uuid[] AS suspensions, t.uid AS transfer, t.reservation, t.protection, t.protection_epoch, t.created_at, t.owner,
	t.limits_organization AS organization, ` + gateColumns + `, ` + limitColumns + `,
	coalesce(t.sender_managed AND t.sender = $1 AND t.hidden_at IS NULL, false) AS as_sender, d.uid AS delivery,
	d.accessed_at IS NOT NULL AS delivery_opened, coalesce(d.verified, false) AS verified`

// linkAccess selects an Access by the link of delivery d.
const linkAccess = `ARRAY(SELECT x.next_suspension FROM directory.suspensions x WHERE x.person = ANY (` + linkPersons + `)) AS suspensions,
	t.uid AS transfer, t.reservation, t.protection, t.protection_epoch, t.created_at, t.owner,
	t.limits_organization AS organization, ` + gateColumns + `, ` + limitColumns + `, false AS as_sender, d.uid AS delivery,
	d.accessed_at IS NOT NULL AS delivery_opened, true AS verified`

// linkPersons are the persons whose suspension ends the link of delivery d of transfer t: who sent it, and to whom it was mailed.
const linkPersons = `ARRAY[d.person, CASE WHEN t.sender_managed THEN t.sender END]`

// byLink joins delivery d and transfer t by $1, the hash of the key in a link, before its expiry. $4 is the time.
const byLink = linked + ` AND t.expires_at > $4`

// linked joins delivery d and transfer t, expired or not, by $1, the hash of the key in a link. $2 is the host, $3 the organization
// that owns it. A link works on the home hosts of the transfer's parties and of the organization whose
// limits the transfer uses. If that organization is deleted, the link works on the free organization's host.
const linked = `transfer.deliveries d JOIN transfer.transfers t ON t.uid = d.transfer AND d.key_hash = $1 AND d.hidden_at IS NULL
	AND t.ended_at IS NULL
	AND (SELECT bool_or(x.suspended) FROM directory.suspensions x WHERE x.person = ANY (` + linkPersons + `)) IS NOT TRUE
	AND (t.limits_organization = $3 OR ` + atHome + `
		OR NOT EXISTS (SELECT FROM directory.organizations g WHERE g.organization = t.limits_organization)
			AND EXISTS (SELECT FROM directory.organizations g WHERE g.organization = $3 AND g.free))`

// Access returns the access of a person who is a party of a transfer that has not ended.
// Errors: transfer.ErrNotFound.
func (s *Store) Access(ctx context.Context, t id.Transfer, p id.Person, sc Scope) (Access, error) {
	return database.One[Access](ctx, s.q, "find transfer", transfer.ErrNotFound, `
		SELECT `+personAccess+` FROM transfer.transfers t `+seenDelivery+`
		WHERE t.uid = $3 AND t.ended_at IS NULL AND t.expires_at > $4
			AND (d.uid IS NOT NULL OR t.sender_managed AND t.sender = $1 AND t.hidden_at IS NULL) AND `+reachable, p, sc.Host, t, sc.Now)
}

// LinkedAccess returns the access by a link.
// Errors: transfer.ErrNotFound.
func (s *Store) LinkedAccess(ctx context.Context, keyHash []byte, sc Scope) (Access, error) {
	return database.One[Access](ctx, s.q, "find link", transfer.ErrNotFound,
		`SELECT `+linkAccess+` FROM `+byLink, keyHash, sc.Host, sc.HostOrganization, sc.Now)
}

// Download is one object with the access to its transfer.
type Download struct {
	transfer.Object
	Access
}

// Download returns an object of a transfer that has not ended, for a person who is a party of it.
// Errors: transfer.ErrNotFound.
func (s *Store) Download(ctx context.Context, t id.Transfer, o id.Object, p id.Person, sc Scope) (Download, error) {
	return database.One[Download](ctx, s.q, "find object", transfer.ErrNotFound, `
		SELECT `+objectColumns+`, `+personAccess+`
		FROM transfer.transfers t `+seenDelivery+` JOIN transfer.objects o ON o.reservation = t.reservation
		WHERE t.uid = $3 AND o.uid = $4 AND t.ended_at IS NULL AND t.expires_at > $5
			AND (d.uid IS NOT NULL OR t.sender_managed AND t.sender = $1 AND t.hidden_at IS NULL) AND `+reachable,
		p, sc.Host, t, o, sc.Now)
}

// LinkedDownload returns an object of the transfer of a link.
// Errors: transfer.ErrNotFound.
func (s *Store) LinkedDownload(ctx context.Context, keyHash []byte, o id.Object, sc Scope) (Download, error) {
	return database.One[Download](ctx, s.q, "find object", transfer.ErrNotFound, `
		SELECT `+objectColumns+`, `+linkAccess+`
		FROM `+byLink+` JOIN transfer.objects o ON o.reservation = t.reservation WHERE o.uid = $5`,
		keyHash, sc.Host, sc.HostOrganization, sc.Now, o)
}
