package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
)

// DailyBound is how many mails of a day may go to one mailbox or address: in all, and caused by one client network.
type DailyBound struct {
	Limit        int
	NetworkLimit int
	Client       string // client network; empty: unknown, which counts as one network
}

// CountMailboxMail counts a mail about a stranger's delivery to the owner of a mailbox on a day (UTC), and reports whether it is within
// the bound, and whether it is the last one: of all, or of the client network.
func (s *Store) CountMailboxMail(ctx context.Context, owner id.Person, day time.Time, b DailyBound) (within, last bool, err error) {
	return s.countDaily(ctx, "count mailbox mail", "daily_mailbox_mails", "owner", owner, day, b)
}

// CountSenderCode counts a code to an address on a day (UTC) and reports whether it is within the bound.
func (s *Store) CountSenderCode(ctx context.Context, email string, day time.Time, b DailyBound) (bool, error) {
	within, _, err := s.countDaily(ctx, "count sender's code", "daily_sender_codes", "email", email, day, b)
	return within, err
}

// countDaily counts in the row of the client network and, if that is within its limit, in the row of all.
func (s *Store) countDaily(ctx context.Context, operation, table, column string, key any, day time.Time,
	b DailyBound) (within, last bool, err error) {
	if b.Client == "" {
		b.Client = "unknown"
	}
	count := func(client, from, limit string) string {
		return `INSERT INTO transfer.` + table + ` AS c (` + column + `, client, day, sent) SELECT $1, ` + client + `, $2, 1 ` + from +
			` WHERE ` + limit + `::int > 0
			ON CONFLICT ON CONSTRAINT ` + table + `_pkey DO UPDATE SET sent = c.sent + 1 WHERE c.sent < ` + limit
	}
	type counted struct{ Last bool }
	rows, err := database.All[counted](ctx, s.q, operation, `
		WITH own AS (`+count(`$3::text`, ``, `$4`)+` RETURNING c.sent)
		`+count(`''`, `FROM own`, `$5`)+` RETURNING c.sent = $5 OR (SELECT own.sent FROM own) = $4 AS last`,
		key, day, b.Client, b.NetworkLimit, b.Limit)
	if err != nil || len(rows) == 0 {
		return false, false, err
	}
	return true, rows[0].Last, nil
}
