package postgres

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
)

// DailyBound is how many mails of a day may go to one mailbox or address: in all, and caused by one client network.
type DailyBound struct {
	Limit        int
	NetworkShare int    // percent of it
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

// countDaily counts in the row of the client network if the networks around it, and all, are below their bounds. Others that count for the
// same key wait until the transaction ends.
func (s *Store) countDaily(ctx context.Context, operation, table, column string, key any, day time.Time,
	b DailyBound) (within, last bool, err error) {
	if b.Client == "" {
		b.Client = ratelimit.AddressKey(netip.Addr{})
	}
	networks, most := ratelimit.Bounds(b.Client, b.NetworkShare, int64(b.Limit))
	counted, err := database.OneLocked[struct{ Free int64 }](ctx, s.q, operation, nil, database.Statement{
		SQL:  `SELECT pg_advisory_xact_lock(hashtextextended($1::text || ' ' || $2::text, 0))`,
		Args: []any{"transfer." + table, fmt.Sprint(key)},
	}, `
		WITH room AS (
			SELECT min(n.most - (SELECT coalesce(sum(sent), 0) FROM transfer.`+table+` c WHERE `+column+` = $1 AND day = $2
				AND (n.network IS NULL OR client <<= n.network))) AS free
			FROM unnest(array_append($3::cidr[], NULL), array_append($4::bigint[], $5::bigint)) AS n (network, most)
		), counted AS (
			INSERT INTO transfer.`+table+` AS c (`+column+`, day, client, sent) SELECT $1, $2, $6::cidr, 1 FROM room WHERE free > 0
			ON CONFLICT ON CONSTRAINT `+table+`_pkey DO UPDATE SET sent = c.sent + 1
		)
		SELECT free::bigint FROM room`, key, day, networks, most, b.Limit, b.Client)
	if err != nil {
		return false, false, err
	}
	return counted.Free > 0, counted.Free == 1, nil
}
