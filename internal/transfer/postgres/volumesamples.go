package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// SampleVolumes stores what up to limit organizations store and have uploaded this month as the sample of the day, beginning behind after.
// It returns the last of them, zero when there are no more. The free organization has no samples.
func (s *Store) SampleVolumes(ctx context.Context, now time.Time, after id.Organization, limit int) (last id.Organization, err error) {
	found, err := database.Scalars[id.Organization](ctx, s.q, "sample volumes", `
		WITH page AS MATERIALIZED (
			SELECT organization, bytes FROM transfer.stored_totals WHERE organization > $1 ORDER BY organization LIMIT $4
		), stored AS (
			INSERT INTO transfer.volume_samples AS s (organization, day, stored, held)
			SELECT page.organization, $2::date, page.bytes, coalesce(v.held, 0)
			FROM page JOIN directory.organizations o ON o.organization = page.organization AND NOT o.free
			LEFT JOIN transfer.volume_totals v ON v.subject = page.organization AND v.month = $3::date
			ORDER BY page.organization
			ON CONFLICT ON CONSTRAINT volume_samples_pkey DO UPDATE SET stored = excluded.stored, held = excluded.held
			WHERE (s.stored, s.held) IS DISTINCT FROM (excluded.stored, excluded.held)
		)
		SELECT organization FROM page ORDER BY organization DESC LIMIT 1`, after, now.UTC(), transfer.Month(now), limit)
	if len(found) > 0 {
		last = found[0]
	}
	return last, err
}

// UsedDays returns the samples of an organization since a day, oldest first.
func (s *Store) UsedDays(ctx context.Context, o id.Organization, since time.Time) ([]transfer.UsedDay, error) {
	return database.All[transfer.UsedDay](ctx, s.q, "list volume samples", `
		SELECT day, stored, held FROM transfer.volume_samples WHERE organization = $1 AND day >= $2::date ORDER BY day`, o, since)
}

// UsedMonths returns the volumes of an organization by month, oldest first. A month in which nothing was uploaded is missing.
func (s *Store) UsedMonths(ctx context.Context, o id.Organization) ([]transfer.UsedMonth, error) {
	return database.All[transfer.UsedMonth](ctx, s.q, "list volumes of organization",
		`SELECT month, held FROM transfer.volume_totals WHERE subject = $1 ORDER BY month`, o)
}

// DeleteVolumeSamples deletes up to limit samples of days before a day, and returns how many.
func (s *Store) DeleteVolumeSamples(ctx context.Context, before time.Time, limit int) (int, error) {
	return database.Exec(ctx, s.q, "delete volume samples", `
		DELETE FROM transfer.volume_samples WHERE ctid = ANY (ARRAY (SELECT ctid FROM transfer.volume_samples
			WHERE day < $1::date LIMIT $2))`, before, limit)
}
