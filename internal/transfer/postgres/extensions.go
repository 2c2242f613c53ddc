package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// expiredLink is byLink for a transfer that has expired and that its sender can extend. $5 is the time at or before which it expired
// when its grace is over.
const expiredLink = linked + ` AND t.expires_at <= $4 AND t.expires_at > $5 AND t.sender_managed`

// ExpiredTransfer is a transfer in the grace after its expiry, as the link of one of its deliveries leads to it.
type ExpiredTransfer struct {
	transfer.Transfer
	Recipient transfer.Delivery
	AskedAt   time.Time // when its sender was last asked to extend it; zero: never
}

// ExpiredLink returns the transfer of a link that has expired at most a grace ago.
// Errors: transfer.ErrNotFound.
func (s *Store) ExpiredLink(ctx context.Context, keyHash []byte, sc Scope, graceOver time.Time) (ExpiredTransfer, error) {
	return database.One[ExpiredTransfer](ctx, s.q, "find expired link", transfer.ErrNotFound, `
		SELECT `+transferColumns+`, `+deliveryJSON+` AS recipient, coalesce(t.extension_asked_at, `+zeroTime+`) AS asked_at
		FROM `+expiredLink, keyHash, sc.Host, sc.HostOrganization, sc.Now, graceOver)
}

// AskedSender is the sender whom a recipient asks for an extension.
type AskedSender struct {
	Person                              id.Person
	Name, Email, Locale, TimeZone, Host string
}

// AskExtension records that the sender of an expired transfer is asked to extend it, unless the sender was asked after a time. asked
// is false then, and when the transfer has been extended or has ended since. It locks the transfer.
func (s *Store) AskExtension(ctx context.Context, t id.Transfer, now, graceOver,
	after time.Time) (sender AskedSender, asked bool, err error) {
	sender, err = database.One[AskedSender](ctx, s.q, "ask for an extension", nil, `
		WITH t AS (
			UPDATE transfer.transfers SET extension_asked_at = $2
			WHERE uid = $1 AND ended_at IS NULL AND sender_managed AND expires_at <= $2 AND expires_at > $3 AND (extension_asked_at IS NULL
				OR extension_asked_at <= $4)
			RETURNING sender
		)
		SELECT p.person, coalesce(p.name, '') AS name, p.email, coalesce(p.locale, '') AS locale, coalesce(p.time_zone, '') AS time_zone,
			coalesce(p.host, '') AS host
		FROM t JOIN directory.persons p ON p.person = t.sender`, t, now, graceOver, after)
	return sender, !sender.Person.IsZero(), err
}

// MarkAsked records that the recipient of a delivery has asked for an extension.
func (s *Store) MarkAsked(ctx context.Context, d id.Delivery, now time.Time) error {
	_, err := database.Exec(ctx, s.q, "mark recipient", `UPDATE transfer.deliveries SET asked_at = $2 WHERE uid = $1`, d, now)
	return err
}

// TakeAsked returns the recipients of a locked transfer who have asked for its extension, and forgets that they did.
func (s *Store) TakeAsked(ctx context.Context, t id.Transfer) ([]id.Delivery, error) {
	return database.Scalars[id.Delivery](ctx, s.q, "list who asked", `
		UPDATE transfer.deliveries SET asked_at = NULL WHERE transfer = $1 AND asked_at IS NOT NULL RETURNING uid`, t)
}
