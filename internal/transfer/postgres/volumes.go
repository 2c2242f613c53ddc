package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
)

// charge is volume that was charged for bytes or reserved for them: to a month of the owner and of the owner's organization,
// and to the storage of the organization whose limits apply.
type charge struct {
	Reservation        id.Reservation // zero: it is confirmed
	Owner              id.Person
	Organization       id.Organization // zero: none
	LimitsOrganization id.Organization
	Month              *time.Time // nil: what is held stays charged to its month
	Held, Reserved     int64
}

// refund undoes charges. Every upload of an organization waits for these rows, so they are locked last in a transaction, and
// always in the same order: stored volumes, then volumes by month; within a month persons before organizations; then strangers' rows.
func (s *Store) refund(ctx context.Context, charges []charge) error {
	if len(charges) == 0 {
		return nil
	}
	held := column(charges, func(c charge) int64 { return c.Held })
	reserved := column(charges, func(c charge) int64 { return c.Reserved })
	_, err := database.Exec(ctx, s.q, "refund stored volumes", `
		WITH t AS (
			SELECT organization, sum(held) AS held, sum(reserved) AS reserved
			FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS c (organization, held, reserved) WHERE held > 0 OR reserved > 0 GROUP BY organization
		), locked AS (
			SELECT v.organization FROM transfer.stored_volumes v JOIN t ON t.organization = v.organization ORDER BY v.organization FOR NO KEY UPDATE OF v
		)
		UPDATE transfer.stored_volumes v SET bytes = greatest(v.bytes - t.held, 0), reserved = greatest(v.reserved - t.reserved, 0)
		FROM t JOIN locked ON locked.organization = t.organization WHERE v.organization = t.organization`,
		column(charges, func(c charge) id.Organization { return c.LimitsOrganization }), held, reserved)
	if err != nil {
		return err
	}
	_, err = database.Exec(ctx, s.q, "refund volumes", `
		WITH c AS (
			SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::date[], $4::bigint[], $5::bigint[], $6::uuid[]) AS c (owner, organization, month, held, reserved, reservation)
		), t AS (
			SELECT subject, month, sum(held) AS held, sum(reserved) AS reserved
			FROM (SELECT owner AS subject, month, held, reserved FROM c UNION ALL SELECT organization, month, held, reserved FROM c) s
			GROUP BY subject, month
		), locked AS (
			SELECT v.subject, v.month FROM transfer.volumes v JOIN t ON t.subject = v.subject AND t.month = v.month
			ORDER BY v.month, v.kind DESC, v.subject FOR NO KEY UPDATE OF v
		), strangers AS (
			UPDATE transfer.stranger_reservations x SET bytes = greatest(x.bytes - b.bytes, 0)
			FROM (SELECT reservation, sum(held + reserved) AS bytes FROM c GROUP BY reservation) b
			WHERE x.reservation = b.reservation AND (SELECT count(*) FROM locked) >= 0
		)
		UPDATE transfer.volumes v SET held = greatest(v.held - t.held, 0), reserved = greatest(v.reserved - t.reserved, 0)
		FROM t JOIN locked ON locked.subject = t.subject AND locked.month = t.month WHERE v.subject = t.subject AND v.month = t.month`,
		column(charges, func(c charge) id.Person { return c.Owner }),
		column(charges, func(c charge) any { return database.Null(c.Organization) }),
		column(charges, func(c charge) *time.Time { return c.Month }), held, reserved,
		column(charges, func(c charge) any { return database.Null(c.Reservation) }))
	return err
}
