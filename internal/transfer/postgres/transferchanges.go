package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// TransferTerms are what the sender can change of a delivered transfer.
type TransferTerms struct {
	Subject              string
	Protection           transfer.Protection
	PasswordHash         string // empty: as before; none unless Protection is password
	DeliveryNotification bool
	ExpiresAt            time.Time

	transfer.Limits
	RemindBefore int32     // days; 0: no reminder
	RemindAt     time.Time // zero: none is to come
	Forwarding   bool

	Reprotected bool // protection or password change: download tokens and one-time keys of recipients end
	Rescheduled bool // the expiry changes: people are warned again, a day after the last warning at the earliest
}

// UpdateTransfer stores the terms of a locked transfer that has not ended. For a new subject it rebuilds what a search looks at.
func (s *Store) UpdateTransfer(ctx context.Context, uid id.Transfer, t TransferTerms) error {
	_, err := database.Exec(ctx, s.q, "change transfer", `
		WITH keys AS (
			DELETE FROM transfer.one_time_keys k USING transfer.transfers t
			WHERE $7 AND k.transfer = $1 AND t.uid = $1 AND k.person IS DISTINCT FROM t.sender
		), r AS (
			UPDATE transfer.reservations r SET subject = nullif($2, '') FROM transfer.transfers t
			WHERE t.uid = $1 AND r.uid = t.reservation AND r.subject IS DISTINCT FROM nullif($2, '')
		)
		UPDATE transfer.transfers t SET subject = nullif($2, ''), protection = $3, delivery_notification = $5, expires_at = $6,
			password_hash = CASE WHEN $3 = 'password' THEN coalesce(nullif($4, ''), t.password_hash) END,
			protection_epoch = t.protection_epoch + $7::boolean::int,
			warn_after = CASE WHEN $8 THEN coalesce(t.warned_at + interval '1 day', t.warn_after) ELSE t.warn_after END,
			warned_at = CASE WHEN $8 THEN NULL ELSE t.warned_at END, remind_before = nullif($10, 0), remind_at = $11, forwarding = $12,
			max_downloads = nullif($13, 0), max_total_downloads = nullif($14, 0), delete_after_download = $15,
			search = CASE WHEN t.subject IS NOT DISTINCT FROM nullif($2, '') THEN t.search ELSE lower(normalize(concat_ws(' ', nullif($2, ''),
				t.sender_name, t.sender_email,
				(SELECT left(string_agg(name, ' ' ORDER BY position), $9) FROM transfer.objects o WHERE o.reservation = t.reservation)))) END
		WHERE t.uid = $1 AND t.ended_at IS NULL`,
		uid, t.Subject, string(t.Protection), t.PasswordHash, t.DeliveryNotification, t.ExpiresAt, t.Reprotected, t.Rescheduled, maxSearchText,
		t.RemindBefore, database.Null(t.RemindAt),
		t.Forwarding, t.MaxDownloads, t.MaxTotalDownloads, t.DeleteAfterDownload)
	if err != nil {
		return err
	}
	return s.writeSearchText(ctx, uid)
}

// writeSearchText writes what the index of a search knows of a transfer, whose subject or recipients have changed.
func (s *Store) writeSearchText(ctx context.Context, uid id.Transfer) error {
	_, err := database.Exec(ctx, s.q, "write search text", `SELECT transfer.write_search_texts(ARRAY[$1::uuid])`, uid)
	return err
}

// TextCharge is what the texts of a delivered transfer count more than before, and whose volumes pay for it. The limits are none.
type TextCharge struct {
	Payer
	Bytes     int64
	CreatedAt time.Time // of the reservation: its month is charged
}

// AddMetadata adds bytes to what the texts of a locked transfer's reservation count, to 0 at least.
func (s *Store) AddMetadata(ctx context.Context, r id.Reservation, bytes int64) (TextCharge, error) {
	return database.One[TextCharge](ctx, s.q, "count texts", transfer.ErrNotFound, `
		UPDATE transfer.reservations r SET metadata = greatest(r.metadata + $2, 0)
		FROM (SELECT uid, metadata FROM transfer.reservations WHERE uid = $1) old WHERE r.uid = old.uid
		RETURNING r.uid AS reservation, r.creator, '' AS client, r.owner, r.request, r.organization, r.limits_organization,
			-1 AS upload_limit, -1 AS organization_limit, -1 AS storage_limit, r.metadata - old.metadata AS bytes, r.created_at`, r, bytes)
}
