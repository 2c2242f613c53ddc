package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// Linked is a transfer, without objects, as the link of one of its deliveries leads to it.
type Linked struct {
	transfer.Transfer
	Recipient      transfer.Delivery
	DeliveryOpened bool // the delivery was opened before
	PasswordHash   []byte

	ProtectionEpoch int64 // as of Access

	Locale       string // of the recipient's account; empty: there is none
	TimeZone     string
	SenderLocale string // of the owner of the volume that it used, where known
	SenderZone   string
}

// Access is the access that the link gives. The recipient is not verified.
func (l Linked) Access() Access {
	return Access{
		Transfer: l.UID, Reservation: l.Reservation, Protection: l.Protection, CreatedAt: l.CreatedAt,
		Gate: l.Gate, Owner: l.Owner,
		Delivery: l.Recipient.UID, DeliveryOpened: l.DeliveryOpened, ProtectionEpoch: l.ProtectionEpoch,
	}
}

// Linked returns the transfer of a link by the hash of its key, and the link's delivery.
// Errors: transfer.ErrNotFound.
func (s *Store) Linked(ctx context.Context, keyHash []byte, sc Scope) (Linked, error) {
	return database.One[Linked](ctx, s.q, "find link", transfer.ErrNotFound, `
		SELECT `+transferColumns+`, `+deliveryJSON+
		` AS recipient, d.accessed_at IS NOT NULL AS delivery_opened, t.password_hash, t.protection_epoch,
			coalesce(p.locale, '') AS locale, coalesce(p.time_zone, '') AS time_zone,
			coalesce(w.locale, '') AS sender_locale, coalesce(w.time_zone, '') AS sender_zone
		FROM `+byLink+`
		LEFT JOIN directory.persons p ON p.person = d.person
		LEFT JOIN directory.persons w ON w.person = t.owner`, keyHash, sc.Host, sc.HostOrganization, sc.Now)
}

// RecipientVerified reports whether a person is the recipient of a delivery: the mailbox's owner, or a holder of the verified
// address that it is for. For the link of a drop, every recipient of the transfer counts.
func (s *Store) RecipientVerified(ctx context.Context, d id.Delivery, p id.Person) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "verify recipient", nil, `
		SELECT EXISTS (
			SELECT FROM transfer.deliveries d
			JOIN transfer.transfers t ON t.uid = d.transfer
			JOIN transfer.deliveries x ON x.uid = d.uid OR d.destination_type = 'link' AND x.transfer = d.transfer
			WHERE d.uid = $1 AND (t.type = 'mailbox' AND x.person = $2
				OR EXISTS (SELECT FROM directory.addresses a WHERE a.person = $2 AND a.address = lower(x.email) AND a.verified)))`, d, p)
}

// SetCode stores the hash of a delivery's new code, unless that day (UTC) has had limit codes. It reports whether it did.
func (s *Store) SetCode(ctx context.Context, d id.Delivery, hash []byte, expires, day time.Time, limit int) (bool, error) {
	n, err := database.Exec(ctx, s.q, "set access code", `
		UPDATE transfer.deliveries SET code_hash = $2, code_expires_at = $3, code_tries = 0, code_day = $4::date,
			code_count = CASE WHEN code_day = $4::date THEN code_count + 1 ELSE 1 END
		WHERE uid = $1 AND (code_day IS DISTINCT FROM $4::date OR code_count < $5)`, d, hash, expires, day, limit)
	return n == 1, err
}

// TryCode counts a try at a delivery's code and reports whether the code was right and no more than the given number of tries
// were made. The right code is consumed: of parallel tries with it one succeeds.
func (s *Store) TryCode(ctx context.Context, d id.Delivery, hash []byte, now time.Time, tries int) (bool, error) {
	n, err := database.Exec(ctx, s.q, "try access code", `
		WITH tried AS (
			UPDATE transfer.deliveries SET code_tries = code_tries + 1, code_hash = CASE WHEN code_hash = $2 THEN NULL ELSE code_hash END
			WHERE uid = $1 AND code_hash IS NOT NULL AND code_expires_at > $3 AND code_tries < $4
			RETURNING uid, code_hash
		)
		SELECT FROM tried WHERE code_hash IS NULL`, d, hash, now, tries)
	return n == 1, err
}
