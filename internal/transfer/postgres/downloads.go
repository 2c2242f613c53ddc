package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// CountDownload counts a download of an object.
func (s *Store) CountDownload(ctx context.Context, o id.Object) error {
	_, err := database.Exec(ctx, s.q, "count download", `UPDATE transfer.objects SET downloads = downloads + 1 WHERE uid = $1`, o)
	return err
}

// CountDownloads counts a download of each of some objects, in the order of their uids.
func (s *Store) CountDownloads(ctx context.Context, objects []id.Object) error {
	_, err := database.Exec(ctx, s.q, "count downloads", `
		WITH o AS (SELECT uid FROM transfer.objects WHERE uid = ANY ($1) ORDER BY uid FOR NO KEY UPDATE)
		UPDATE transfer.objects SET downloads = downloads + 1 FROM o WHERE objects.uid = o.uid`, objects)
	return err
}

// CountArchive counts a download of all objects of a transfer at once.
func (s *Store) CountArchive(ctx context.Context, t id.Transfer) error {
	_, err := database.Exec(ctx, s.q, "count download", `UPDATE transfer.transfers SET archives = archives + 1 WHERE uid = $1`, t)
	return err
}

// CountDelivery counts a download by the recipient of a delivery. It is a statement of its own, so that it locks no other row.
func (s *Store) CountDelivery(ctx context.Context, d id.Delivery, now time.Time) error {
	_, err := database.Exec(ctx, s.q, "count download", `UPDATE transfer.deliveries SET downloads = downloads + 1, downloaded_at = $2 WHERE uid = $1`, d, now)
	return err
}

// FirstAccess is the first access to a transfer: its recipient, and how to notify its sender.
type FirstAccess struct {
	SeenTransfer // as the sender sees it
	Recipient    transfer.Delivery
	SenderEmail  string // of the sender's account, else of the transfer
	SenderLang   string // of the same
	SenderZone   string // of the sender's account
	SenderHost   string // home host of the sender's account; empty without one
}

// RecordAccess records that a delivery was opened. first is false, and the result zero, when any recipient has opened the transfer
// before. The transfer is locked before the delivery.
func (s *Store) RecordAccess(ctx context.Context, d id.Delivery, now time.Time) (a FirstAccess, first bool, err error) {
	a, err = database.One[FirstAccess](ctx, s.q, "record access", nil, `
		WITH opened AS (
			SELECT t.uid FROM transfer.transfers t WHERE t.uid = (SELECT transfer FROM transfer.deliveries WHERE uid = $1 AND accessed_at IS NULL)
			FOR NO KEY UPDATE
		), d AS (
			UPDATE transfer.deliveries d SET accessed_at = $2 FROM opened WHERE d.uid = $1 AND d.transfer = opened.uid AND d.accessed_at IS NULL
			RETURNING d.uid, d.transfer, d.person, d.name, d.email, d.destination_type
		), t AS (
			UPDATE transfer.transfers t SET state = 'accessed', accessed_at = $2 FROM d
			WHERE t.uid = d.transfer AND t.state = 'delivered'
			RETURNING t.*
		)
		SELECT `+transferColumns+`, `+noticeColumns+`, t.sender_managed AS as_sender, d.uid AS delivery, `+deliveryJSON+` AS recipient,
			coalesce(p.email, t.sender_email, '') AS sender_email, coalesce(p.time_zone, '') AS sender_zone,
			coalesce(p.host, '') AS sender_host, coalesce(CASE WHEN p.email IS NULL THEN t.sender_locale ELSE p.locale END, '') AS sender_lang
		FROM t JOIN d ON d.transfer = t.uid
		LEFT JOIN directory.persons p ON p.person = t.sender AND t.sender_managed`, d, now)
	return a, !a.UID.IsZero(), err
}

// MarkUndelivered records that a delivery's mail failed permanently. notify is false, and the result zero, unless the transfer's
// sender has an account that can be notified.
func (s *Store) MarkUndelivered(ctx context.Context, d id.Delivery, now time.Time) (a FirstAccess, notify bool, err error) {
	a, err = database.One[FirstAccess](ctx, s.q, "mark undelivered", nil, `
		WITH d AS (
			UPDATE transfer.deliveries SET undelivered_at = $2 WHERE uid = $1 AND undelivered_at IS NULL RETURNING transfer
		)
		SELECT `+transferColumns+`, `+noticeColumns+`, true AS as_sender, NULL::uuid AS delivery, '{}'::json AS recipient,
			p.email AS sender_email, p.locale AS sender_lang, p.time_zone AS sender_zone,
			coalesce(p.host, '') AS sender_host
		FROM d JOIN transfer.transfers t ON t.uid = d.transfer
		JOIN directory.persons p ON p.person = t.sender AND t.sender_managed AND p.email IS NOT NULL`, d, now)
	return a, !a.UID.IsZero(), err
}

// pattern returns a LIKE pattern that finds s anywhere, "" for "".
func pattern(s string) string {
	if s == "" {
		return ""
	}
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s) + "%"
}
