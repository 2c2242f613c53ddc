package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// NewTransfer is what a confirm adds to a reservation to make it a transfer.
type NewTransfer struct {
	UID           id.Transfer
	Reservation   id.Reservation
	Sender        transfer.Sender
	SenderManaged bool
	CreatedAt     time.Time
	ExpiresAt     time.Time
	Unmailed      bool // the owner of the mailbox is not mailed
	Answers       string
	Deliveries    []NewDelivery
}

// NewDelivery is one delivery with the hash of the key in its link.
type NewDelivery struct {
	transfer.Delivery
	KeyHash []byte
}

// How many characters of the objects' names and of the answers a search sees.
const (
	maxSearchText    = 64 << 10
	maxSearchAnswers = 16 << 10
)

// InsertTransfer makes the transfer of a locked, complete reservation and closes the reservation, which then counts no longer among
// those of strangers.
// Errors: transfer.ErrConfirmed when the reservation is a transfer already.
func (s *Store) InsertTransfer(ctx context.Context, n NewTransfer) error {
	if _, err := database.Exec(ctx, s.q, "store transfer", `
		WITH closed AS (
			UPDATE transfer.reservations SET state = 'confirmed', transfer = $1, client = NULL WHERE uid = $2 AND state = 'open'
			RETURNING uid, type, owner, limits_organization, subject, message, locale, delivery_notification, priority, protection, password_hash,
				fields
		), counted AS (
			DELETE FROM transfer.stranger_reservations s USING closed WHERE s.reservation = closed.uid
		), sums AS (
			SELECT count(*) AS n, coalesce(sum(held), 0) AS bytes, left(string_agg(name, ' ' ORDER BY position), $9) AS names
			FROM transfer.objects WHERE reservation = $2
		)
		INSERT INTO transfer.transfers (uid, reservation, type, owner, sender, sender_managed, limits_organization, subject, message, sender_name,
			sender_email, sender_locale, delivery_notification, priority, protection, password_hash, fields, search, object_count,
			total_bytes, created_at, expires_at, sender_verified, unmailed)
		SELECT $1, c.uid, c.type, c.owner, $3, $4, c.limits_organization, c.subject, c.message, $5::text, $6::text, c.locale,
			c.delivery_notification,
			c.priority, c.protection, c.password_hash, c.fields, lower(normalize(concat_ws(' ', c.subject, $5::text, $6::text, sums.names,
				nullif(left($12, $13), '')))), sums.n, sums.bytes, $7, $8, $10, $11
		FROM closed c, sums`,
		n.UID, n.Reservation, database.Null(n.Sender.Person), n.SenderManaged, database.Null(n.Sender.Name), database.Null(n.Sender.Email),
		n.CreatedAt, n.ExpiresAt, maxSearchText, n.Sender.Verified, n.Unmailed, n.Answers, maxSearchAnswers); err != nil {
		return err
	}
	return s.insertDeliveries(ctx, n.UID, n.CreatedAt, n.CreatedAt, n.Deliveries)
}

// insertDeliveries adds deliveries to a transfer, after those it has. created is the time of the transfer.
func (s *Store) insertDeliveries(ctx context.Context, t id.Transfer, created, mailed time.Time, list []NewDelivery) error {
	_, err := database.Exec(ctx, s.q, "store deliveries", `
		INSERT INTO transfer.deliveries (uid, transfer, position, destination_type, person, name, email, key_hash, created_at, mailed_at)
		SELECT d.uid, $1, d.nr + (SELECT coalesce(max(position), 0) FROM transfer.deliveries WHERE transfer = $1), d.kind, d.person,
			nullif(d.name, ''), nullif(d.email, ''), d.hash, $2, $9
		FROM unnest($3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::bytea[]) WITH ORDINALITY AS d (uid, person, name, email,
			kind, hash, nr)`,
		t, created,
		column(list, func(d NewDelivery) id.Delivery { return d.UID }),
		column(list, func(d NewDelivery) any { return database.Null(d.Person) }),
		column(list, func(d NewDelivery) string { return d.Name }),
		column(list, func(d NewDelivery) string { return d.Email }),
		column(list, func(d NewDelivery) string { return string(d.Destination) }),
		column(list, func(d NewDelivery) []byte { return d.KeyHash }), mailed)
	return err
}

// TransferOfReservation returns the transfer of a confirmed reservation as its sender sees it, without objects.
// Errors: transfer.ErrNotFound.
func (s *Store) TransferOfReservation(ctx context.Context, r id.Reservation) (SeenTransfer, error) {
	t, err := database.One[transfer.Transfer](ctx, s.q, "find transfer", transfer.ErrNotFound,
		`SELECT `+transferColumns+` FROM transfer.transfers t WHERE t.reservation = $1`, r)
	return SeenTransfer{Transfer: t, AsSender: true}, err
}

// CountRecipients adds n recipients to a person's count of a day (UTC), and reports whether the sum is within limit. Otherwise it
// changes nothing.
func (s *Store) CountRecipients(ctx context.Context, p id.Person, day time.Time, n, limit int) (bool, error) {
	counted, err := database.Exec(ctx, s.q, "count recipients", `
		INSERT INTO transfer.daily_recipients AS c (person, day, recipients) SELECT $1, $2, $3::integer WHERE $3 <= $4::integer
		ON CONFLICT ON CONSTRAINT daily_recipients_pkey DO UPDATE SET recipients = c.recipients + $3
			WHERE c.recipients + $3 <= $4`, p, day, n, limit)
	return counted == 1, err
}

// CountUploadConfirmation counts a mail to an uploader's address on a day and reports whether it is within limit.
func (s *Store) CountUploadConfirmation(ctx context.Context, email string, day time.Time, limit int) (bool, error) {
	n, err := database.Exec(ctx, s.q, "count upload confirmation", `
		INSERT INTO transfer.upload_confirmations AS c (email, day, sent) SELECT $1, $2, 1 WHERE $3 > 0
		ON CONFLICT ON CONSTRAINT upload_confirmations_pkey DO UPDATE SET sent = c.sent + 1 WHERE c.sent < $3`, email, day, limit)
	return n == 1, err
}
