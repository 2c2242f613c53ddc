package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// NewTransfer is what a confirm adds to the reservation it turns into a transfer.
type NewTransfer struct {
	UID           id.Transfer
	Reservation   id.Reservation
	Sender        transfer.Sender
	SenderManaged bool
	CreatedAt     time.Time
	ExpiresAt     time.Time
	Deliveries    []NewDelivery
}

// NewDelivery is one addressee together with the hash of the key in its link.
type NewDelivery struct {
	transfer.Delivery
	KeyHash []byte
}

// maxSearchText bounds how much of the objects' names a search looks at.
const maxSearchText = 64 << 10

// InsertTransfer makes the transfer of a locked, complete reservation and closes the reservation. ErrConfirmed when it
// has become one already.
func (s *Store) InsertTransfer(ctx context.Context, n NewTransfer) error {
	_, err := s.q.Exec(ctx, `
		WITH closed AS (
			UPDATE transfer.reservations SET state = 'confirmed', transfer = $1 WHERE uid = $2 AND state = 'open'
			RETURNING uid, type, owner, limits_organization, subject, message, locale, delivery_notification, priority, protection, password_hash, fields
		), sums AS (
			SELECT count(*) AS n, coalesce(sum(held), 0) AS bytes, left(string_agg(name, ' ' ORDER BY position), $9) AS names
			FROM transfer.objects WHERE reservation = $2
		)
		INSERT INTO transfer.transfers (uid, reservation, type, owner, sender, sender_managed, limits_organization, subject, message, sender_name,
			sender_email, sender_locale, delivery_notification, priority, protection, password_hash, fields, search, object_count,
			total_bytes, created_at, expires_at)
		SELECT $1, c.uid, c.type, c.owner, $3, $4, c.limits_organization, c.subject, c.message, $5::text, $6::text, c.locale, c.delivery_notification,
			c.priority, c.protection, c.password_hash, c.fields, lower(normalize(concat_ws(' ', c.subject, $5::text, $6::text, sums.names))), sums.n, sums.bytes, $7, $8
		FROM closed c, sums`,
		n.UID, n.Reservation, opt(n.Sender.Person), n.SenderManaged, text(n.Sender.Name), text(n.Sender.Email), n.CreatedAt, n.ExpiresAt, maxSearchText)
	if database.Constraint(err) == "transfers_reservation_key" {
		return transfer.ErrConfirmed
	}
	if err != nil {
		return fmt.Errorf("store transfer: %w", err)
	}
	return s.insertDeliveries(ctx, n)
}

func (s *Store) insertDeliveries(ctx context.Context, n NewTransfer) error {
	count := len(n.Deliveries)
	uids, persons := make([]uuid.UUID, count), make([]*uuid.UUID, count)
	names, emails := make([]*string, count), make([]*string, count)
	kinds, hashes := make([]string, count), make([][]byte, count)
	for i, d := range n.Deliveries {
		uids[i], persons[i], names[i], emails[i], kinds[i], hashes[i] = d.UID.UUID, opt(d.Person), text(d.Name), text(d.Email), string(d.Destination), d.KeyHash
	}
	_, err := s.q.Exec(ctx, `
		INSERT INTO transfer.deliveries (uid, transfer, position, destination_type, person, name, email, key_hash, created_at)
		SELECT d.uid, $1, d.nr, d.kind, d.person, d.name, d.email, d.hash, $2
		FROM unnest($3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::bytea[]) WITH ORDINALITY AS d (uid, person, name, email, kind, hash, nr)`,
		n.UID, n.CreatedAt, uids, persons, names, emails, kinds, hashes)
	if err != nil {
		return fmt.Errorf("store deliveries: %w", err)
	}
	return nil
}

// TransferOfReservation returns the transfer that a reservation became, as its sender sees it, without objects. ErrNotFound.
func (s *Store) TransferOfReservation(ctx context.Context, r id.Reservation) (SeenTransfer, error) {
	row, err := one[transferRow](s.q.Query(ctx, `SELECT `+transferColumns+` FROM transfer.transfers t WHERE t.reservation = $1`, r))
	if err != nil {
		return SeenTransfer{}, fmt.Errorf("find transfer: %w", err)
	}
	return SeenTransfer{Transfer: row.transfer(), AsSender: true}, nil
}

// CountUploadConfirmation counts a mail to an uploader's address on a day and reports whether it is within limit.
func (s *Store) CountUploadConfirmation(ctx context.Context, email string, day time.Time, limit int) (bool, error) {
	tag, err := s.q.Exec(ctx, `
		INSERT INTO transfer.upload_confirmations AS c (email, day, sent) SELECT $1, $2, 1 WHERE $3 > 0
		ON CONFLICT ON CONSTRAINT upload_confirmations_pkey DO UPDATE SET sent = c.sent + 1 WHERE c.sent < $3`, email, day, limit)
	if err != nil {
		return false, fmt.Errorf("count upload confirmation: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}
