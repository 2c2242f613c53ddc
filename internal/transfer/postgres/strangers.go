package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
)

// OpenStrangers counts the open reservations of strangers at a mailbox.
type OpenStrangers struct {
	All    int
	Client int // of one client network
}

// LockStrangers takes the advisory lock for strangers' reservations at a mailbox until the transaction ends. It returns how many
// are open.
func (s *Store) LockStrangers(ctx context.Context, owner id.Person, client string, now time.Time) (OpenStrangers, error) {
	if _, err := database.Exec(ctx, s.q, "lock strangers",
		`SELECT pg_advisory_xact_lock(hashtextextended('transfer.strangers ' || $1::text, 0))`, owner); err != nil {
		return OpenStrangers{}, err
	}
	return database.One[OpenStrangers](ctx, s.q, "count strangers' reservations", nil, `
		SELECT count(*) AS all, count(*) FILTER (WHERE client = $2) AS client FROM transfer.reservations
		WHERE state = 'open' AND owner = $1 AND type = 'mailbox' AND expires_at > $3`, owner, client, now)
}

// UnusedReservation is a stranger's open reservation without bytes, with the limits of its owner's bucket of new transfers.
type UnusedReservation struct {
	Owner         id.Person
	Client        string
	TransferLimit int
	TransferDrain float64
}

// UnusedReservations returns those of locked reservations that are a stranger's and hold no bytes.
func (s *Store) UnusedReservations(ctx context.Context, uids []id.Reservation) ([]UnusedReservation, error) {
	return database.All[UnusedReservation](ctx, s.q, "list unused reservations", `
		SELECT r.owner, coalesce(r.client, '') AS client, l.new_transfer_limit AS transfer_limit, l.new_transfer_drain_rate AS transfer_drain
		FROM transfer.reservations r
		JOIN directory.persons p ON p.person = r.owner
		JOIN directory.limits l ON l.organization = p.limits_organization
		WHERE r.uid = ANY ($1) AND r.state = 'open' AND r.type = 'mailbox'
			AND NOT EXISTS (SELECT FROM transfer.objects o WHERE o.reservation = r.uid AND o.held > 0)`, uids)
}
