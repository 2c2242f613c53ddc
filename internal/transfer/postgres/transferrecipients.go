package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// AddDeliveries adds recipients to a locked transfer, after those it has. With them a drop is a p2p transfer.
func (s *Store) AddDeliveries(ctx context.Context, t transfer.Transfer, list []NewDelivery, now time.Time) error {
	if err := s.insertDeliveries(ctx, t.UID, t.CreatedAt, now, list); err != nil {
		return err
	}
	_, err := database.Exec(ctx, s.q, "make p2p", `UPDATE transfer.transfers SET type = 'p2p' WHERE uid = $1 AND type = 'drop'`, t.UID)
	return err
}

// DeleteDelivery deletes a recipient of a locked transfer, with the recipient's one-time keys, and returns it.
// Errors: transfer.ErrNotFound.
func (s *Store) DeleteDelivery(ctx context.Context, t id.Transfer, d id.Delivery) (transfer.Delivery, error) {
	gone, err := database.One[transfer.Delivery](ctx, s.q, "remove recipient", transfer.ErrNotFound, `
		WITH d AS (
			DELETE FROM transfer.deliveries WHERE transfer = $1 AND uid = $2 AND destination_type <> 'link' RETURNING *
		), k AS (
			DELETE FROM transfer.one_time_keys k USING d WHERE k.transfer = $1 AND k.person = d.person
		)
		SELECT `+deliveryColumns+` FROM d`, t, d)
	if err != nil {
		return gone, err
	}
	return gone, s.writeSearchText(ctx, t)
}

// Remail records that the link of a delivery is mailed again, unless it was mailed after a time. newLink gives it the next version of
// its key, whose hash SetKey stores. It returns the delivery's version of the key, 0 when it was mailed after that time or is hidden by
// its recipient.
func (s *Store) Remail(ctx context.Context, t id.Transfer, d id.Delivery, newLink bool, now, after time.Time) (int32, error) {
	return database.Scalar[int32](ctx, s.q, "mail link again", nil, `
		UPDATE transfer.deliveries SET mailed_at = $4, undelivered_at = NULL, key_version = key_version + $3::boolean::int
		WHERE transfer = $1 AND uid = $2 AND coalesce(mailed_at, created_at) <= $5 AND hidden_at IS NULL
		RETURNING key_version`, t, d, newLink, now, after)
}

// SetKey stores the hash of the key in a delivery's link, and deletes the one-time keys of the link before.
func (s *Store) SetKey(ctx context.Context, d id.Delivery, hash []byte) error {
	_, err := database.Exec(ctx, s.q, "replace link", `
		WITH k AS (DELETE FROM transfer.one_time_keys WHERE delivery = $1)
		UPDATE transfer.deliveries SET key_hash = $2 WHERE uid = $1`, d, hash)
	return err
}

// MarkRecipientsReminded marks those recipients of locked transfers as reminded who have downloaded nothing, have not hidden the transfer
// and were not reminded after a time. It returns them.
func (s *Store) MarkRecipientsReminded(ctx context.Context, uids []id.Transfer, now, after time.Time) ([]id.Delivery, error) {
	return database.Scalars[id.Delivery](ctx, s.q, "mark recipients as reminded", `
		UPDATE transfer.deliveries SET reminded_at = $2
		WHERE transfer = ANY ($1) AND email IS NOT NULL AND accessed_at IS NULL AND hidden_at IS NULL AND (reminded_at IS NULL
			OR reminded_at <= $3)
		RETURNING uid`, uids, now, after)
}

// TakeReminders returns up to limit transfers whose recipients are to be reminded now, once each. It locks them and skips locked rows.
func (s *Store) TakeReminders(ctx context.Context, now time.Time, limit int) ([]id.Transfer, error) {
	return database.Scalars[id.Transfer](ctx, s.q, "list transfers", `
		UPDATE transfer.transfers t SET remind_at = NULL FROM (
			SELECT uid FROM transfer.transfers WHERE remind_at <= $1 AND ended_at IS NULL ORDER BY remind_at LIMIT $2 FOR UPDATE SKIP LOCKED
		) due WHERE t.uid = due.uid RETURNING t.uid`, now, limit)
}
