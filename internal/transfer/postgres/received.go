package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
)

// UpdateReceived stores what a person notes about a received, locked transfer. A search finds new notes when reworded is true.
func (s *Store) UpdateReceived(ctx context.Context, t id.Transfer, p id.Person, read bool, notes string, reworded bool) error {
	_, err := database.Exec(ctx, s.q, "store notes", `
		UPDATE transfer.deliveries SET read = $3, notes = nullif($4, '') WHERE transfer = $1 AND person = $2
			AND hidden_at IS NULL`, t, p, read, notes)
	if err != nil || !reworded {
		return err
	}
	return s.writeSearchText(ctx, t)
}

// forever is the expiry of a pinned transfer.
var forever = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Pin keeps a locked transfer from expiring.
func (s *Store) Pin(ctx context.Context, t id.Transfer) error {
	_, err := database.Exec(ctx, s.q, "pin transfer", `
		UPDATE transfer.transfers SET pinned_expiry = expires_at, expires_at = $2 WHERE uid = $1 AND pinned_expiry IS NULL
			AND ended_at IS NULL`, t, forever)
	return err
}

// Unpin lets a locked transfer expire as before it was pinned, but not before a time.
func (s *Store) Unpin(ctx context.Context, t id.Transfer, soonest time.Time) error {
	_, err := database.Exec(ctx, s.q, "unpin transfer", `
		UPDATE transfer.transfers SET expires_at = greatest(pinned_expiry, $2), pinned_expiry = NULL, warned_at = NULL
		WHERE uid = $1 AND pinned_expiry IS NOT NULL AND ended_at IS NULL`, t, soonest)
	return err
}

// ReleasePins unpins up to limit transfers that would have expired without their pin, where the storage volume is used up or the
// organization does not want pins any more. They expire at a time. It skips locked rows, and returns the transfers with their owners.
func (s *Store) ReleasePins(ctx context.Context, now, expiry time.Time, limit int) ([]ReleasedPin, error) {
	return database.All[ReleasedPin](ctx, s.q, "release pins", `
		UPDATE transfer.transfers t SET expires_at = $2, pinned_expiry = NULL, warned_at = NULL FROM (
			SELECT t.uid FROM transfer.transfers t
			LEFT JOIN directory.limits l ON l.organization = t.limits_organization
			LEFT JOIN transfer.stored_totals v ON v.organization = t.limits_organization
			LEFT JOIN transfer.adminunits a ON a.organization = t.limits_organization
			WHERE t.pinned_expiry <= $1 AND t.ended_at IS NULL AND (v.bytes + v.reserved >= l.storage_volume_bytes OR NOT a.pinning_enabled)
			ORDER BY t.pinned_expiry LIMIT $3 FOR UPDATE OF t SKIP LOCKED
		) due WHERE t.uid = due.uid RETURNING t.uid AS transfer, t.owner`, now, expiry, limit)
}

// ReleasedPin is a transfer that is not pinned any more.
type ReleasedPin struct {
	Transfer id.Transfer
	Owner    id.Person
}
