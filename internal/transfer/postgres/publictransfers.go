package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// Linked is a transfer as the link of one of its deliveries leads to it.
type Linked struct {
	Opening
	Transfer     transfer.Transfer // without objects
	Recipient    transfer.Delivery
	PasswordHash []byte
	Locale       string // of the recipient's account; empty: there is none
	TimeZone     string
	SenderLocale string // of whose volume it used, where known
	SenderZone   string
}

// Linked returns the transfer that the hashed key of a link leads to, and the delivery that the link is of. ErrNotFound.
func (s *Store) Linked(ctx context.Context, keyHash []byte, sc Scope) (Linked, error) {
	type linkedRow struct {
		transferRow
		PasswordHash           *string
		Delivery               id.Delivery
		OpenedAt               *time.Time
		Person                 id.Person
		RecipientName          *string
		RecipientEmail         *string
		DestinationType        string
		Locale, TimeZone       *string
		OwnerLocale, OwnerZone *string
	}
	r, err := one[linkedRow](s.q.Query(ctx, `SELECT `+transferColumns+`, t.password_hash, d.uid AS delivery, d.accessed_at AS opened_at, d.person,
			d.name AS recipient_name, d.email AS recipient_email, d.destination_type, p.locale, p.time_zone,
			w.locale AS owner_locale, w.time_zone AS owner_zone
		FROM `+byLink+`
		LEFT JOIN directory.persons p ON p.person = d.person
		LEFT JOIN directory.persons w ON w.person = t.owner`, keyHash, sc.Host, sc.HostOrganization, sc.Now))
	if err != nil {
		return Linked{}, fmt.Errorf("find link: %w", err)
	}
	return Linked{
		Opening: Opening{
			Transfer: r.UID, Reservation: r.Reservation, Protection: transfer.Protection(r.Protection), CreatedAt: r.CreatedAt,
			Delivery: r.Delivery, DeliveryOpened: r.OpenedAt != nil,
		},
		Transfer: r.transfer(), PasswordHash: []byte(or(r.PasswordHash)),
		Recipient: transfer.Delivery{UID: r.Delivery, Person: r.Person, Name: or(r.RecipientName), Email: or(r.RecipientEmail),
			Destination: transfer.Destination(r.DestinationType)},
		Locale: or(r.Locale), TimeZone: or(r.TimeZone), SenderLocale: or(r.OwnerLocale), SenderZone: or(r.OwnerZone),
	}, nil
}

// RecipientProven reports whether a person is the recipient of a delivery: the mailbox's owner, or holder of the verified
// address it is for. A link that names nobody is every recipient's.
func (s *Store) RecipientProven(ctx context.Context, d id.Delivery, p id.Person) (bool, error) {
	var proven bool
	err := s.q.QueryRow(ctx, `
		SELECT EXISTS (
			SELECT FROM transfer.deliveries d
			JOIN transfer.transfers t ON t.uid = d.transfer
			JOIN transfer.deliveries x ON x.uid = d.uid OR d.destination_type = 'link' AND x.transfer = d.transfer
			WHERE d.uid = $1 AND (t.type = 'mailbox' AND x.person = $2
				OR EXISTS (SELECT FROM directory.addresses a WHERE a.person = $2 AND a.address = lower(x.email) AND a.verified)))`, d, p).Scan(&proven)
	if err != nil {
		return false, fmt.Errorf("prove recipient: %w", err)
	}
	return proven, nil
}

// SetCode gives a delivery a new code, by its hash, as long as fewer than limit were set on that day (UTC). It reports
// whether it did.
func (s *Store) SetCode(ctx context.Context, d id.Delivery, hash []byte, expires, day time.Time, limit int) (bool, error) {
	tag, err := s.q.Exec(ctx, `
		UPDATE transfer.deliveries SET code_hash = $2, code_expires_at = $3, code_tries = 0, code_day = $4::date,
			code_count = CASE WHEN code_day = $4::date THEN code_count + 1 ELSE 1 END
		WHERE uid = $1 AND (code_day IS DISTINCT FROM $4::date OR code_count < $5)`, d, hash, expires, day, limit)
	if err != nil {
		return false, fmt.Errorf("set access code: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// TryCode counts a try at a delivery's code, of which there are so many, and reports whether it was right. The right one
// uses the code up: of parallel tries with it one succeeds.
func (s *Store) TryCode(ctx context.Context, d id.Delivery, hash []byte, now time.Time, tries int) (bool, error) {
	tag, err := s.q.Exec(ctx, `
		WITH tried AS (
			UPDATE transfer.deliveries SET code_tries = code_tries + 1, code_hash = CASE WHEN code_hash = $2 THEN NULL ELSE code_hash END
			WHERE uid = $1 AND code_hash IS NOT NULL AND code_expires_at > $3 AND code_tries < $4
			RETURNING uid, code_hash
		)
		SELECT FROM tried WHERE code_hash IS NULL`, d, hash, now, tries)
	if err != nil {
		return false, fmt.Errorf("try access code: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}
