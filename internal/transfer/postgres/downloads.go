package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// CountDownload counts that an object was downloaded.
func (s *Store) CountDownload(ctx context.Context, o id.Object) error {
	if _, err := s.q.Exec(ctx, `UPDATE transfer.objects SET downloads = downloads + 1 WHERE uid = $1`, o); err != nil {
		return fmt.Errorf("count download: %w", err)
	}
	return nil
}

// CountArchive counts that all objects of a transfer were downloaded at once.
func (s *Store) CountArchive(ctx context.Context, t id.Transfer) error {
	if _, err := s.q.Exec(ctx, `UPDATE transfer.transfers SET archives = archives + 1 WHERE uid = $1`, t); err != nil {
		return fmt.Errorf("count download: %w", err)
	}
	return nil
}

// FirstAccess is who opened a transfer first, and whom it matters to.
type FirstAccess struct {
	Transfer    SeenTransfer
	Recipient   transfer.Delivery
	SenderZone  string // of the sender with an account
	SenderName  string
	SenderLang  string
	SenderEmail string // where the sender with an account reads mail
}

// RecordAccess notes that a delivery was opened. first is false when the transfer had been opened before, by anybody;
// only otherwise the answer is filled in. The transfer is locked before the delivery.
func (s *Store) RecordAccess(ctx context.Context, d id.Delivery, now time.Time) (_ FirstAccess, first bool, err error) {
	type accessRow struct {
		transferRow
		Delivery        id.Delivery
		Person          id.Person
		RecipientName   *string
		RecipientEmail  *string
		DestinationType string
		SenderTimeZone  *string
		DirectoryLocale *string
		DirectoryEmail  *string
	}
	rows, err := all[accessRow](s.q.Query(ctx, `
		WITH opened AS (
			SELECT t.uid FROM transfer.transfers t WHERE t.uid = (SELECT transfer FROM transfer.deliveries WHERE uid = $1 AND accessed_at IS NULL)
			FOR NO KEY UPDATE
		), d AS (
			UPDATE transfer.deliveries d SET accessed_at = $2 FROM opened WHERE d.uid = $1 AND d.transfer = opened.uid AND d.accessed_at IS NULL
			RETURNING d.uid, d.transfer, d.person, d.name, d.email, d.destination_type
		), t AS (
			UPDATE transfer.transfers t SET state = 'accessed', accessed_at = $2 FROM d
			WHERE t.uid = d.transfer AND t.state = 'delivered'
			RETURNING `+transferColumns+`
		)
		SELECT `+transferColumns+`, d.uid AS delivery, d.person, d.name AS recipient_name, d.email AS recipient_email, d.destination_type,
			p.time_zone AS sender_time_zone, p.locale AS directory_locale, p.email AS directory_email
		FROM t JOIN d ON d.transfer = t.uid
		LEFT JOIN directory.persons p ON p.person = t.sender AND t.sender_managed`, d, now))
	if err != nil {
		return FirstAccess{}, false, fmt.Errorf("record access: %w", err)
	}
	if len(rows) == 0 {
		return FirstAccess{}, false, nil
	}
	r := rows[0]
	a := FirstAccess{
		Transfer:   seenRow{transferRow: r.transferRow, AsSender: r.SenderManaged, Delivery: r.Delivery}.seen(),
		Recipient:  transfer.Delivery{UID: r.Delivery, Person: r.Person, Name: or(r.RecipientName), Email: or(r.RecipientEmail), Destination: transfer.Destination(r.DestinationType)},
		SenderName: or(r.SenderName), SenderZone: or(r.SenderTimeZone), SenderLang: or(r.SenderLocale), SenderEmail: or(r.SenderEmail),
	}
	if r.DirectoryEmail != nil {
		a.SenderEmail, a.SenderLang = *r.DirectoryEmail, or(r.DirectoryLocale)
	}
	return a, true, nil
}

// MarkUndelivered notes that a delivery's mail failed for good. told is true when the transfer's sender has an account
// and is to be told; only then the answer is filled in.
func (s *Store) MarkUndelivered(ctx context.Context, d id.Delivery, now time.Time) (_ FirstAccess, told bool, err error) {
	type undeliveredRow struct {
		transferRow
		SenderAccount           string
		AccountLocale, TimeZone string
	}
	rows, err := all[undeliveredRow](s.q.Query(ctx, `
		WITH d AS (
			UPDATE transfer.deliveries SET undelivered_at = $2 WHERE uid = $1 AND undelivered_at IS NULL RETURNING transfer
		)
		SELECT `+transferColumns+`, p.email AS sender_account, p.locale AS account_locale, p.time_zone
		FROM d JOIN transfer.transfers t ON t.uid = d.transfer
		JOIN directory.persons p ON p.person = t.sender AND t.sender_managed AND p.email IS NOT NULL`, d, now))
	if err != nil || len(rows) == 0 {
		return FirstAccess{}, false, err
	}
	r := rows[0]
	return FirstAccess{
		Transfer: seenRow{transferRow: r.transferRow, AsSender: true}.seen(), SenderName: or(r.SenderName),
		SenderEmail: r.SenderAccount, SenderLang: r.AccountLocale, SenderZone: r.TimeZone,
	}, true, nil
}

// pattern makes a LIKE pattern that finds s anywhere; empty for an empty s.
func pattern(s string) string {
	if s == "" {
		return ""
	}
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s) + "%"
}
