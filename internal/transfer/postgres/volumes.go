package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
)

// Payer names the volumes that pay for a reservation, with their limits.
type Payer struct {
	Reservation        id.Reservation
	Creator            id.Person // zero: a stranger
	Client             string    // client network of a stranger; empty: unknown
	Owner              id.Person
	Request            id.Request      // that a party uploads for; zero: none
	Organization       id.Organization // zero: none
	LimitsOrganization id.Organization
	UploadLimit        int64 // bytes a month; negative: none
	OrganizationLimit  int64
	StorageLimit       int64
}

// most returns a limit as transfer.take_volume has it. Strangers charge the row itself, whose lock makes the sums of Unconfirmed exact.
func (p Payer) most(limit int64) any {
	if limit < 0 && p.Creator.IsZero() {
		return nil
	}
	return limit
}

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

// Charged tells which volumes have taken a charge. Of an owner without organization, Organization is false.
type Charged struct{ Storage, Person, Organization bool }

// ChargeMetadata charges texts and names of an open reservation: to the storage first, then to the month's volume of the person, then
// of the organization. A volume takes all or nothing. The caller rolls back when one has no room.
// Each part counts the rows of the one before, so that it locks the rows in the order of refund.
func (s *Store) ChargeMetadata(ctx context.Context, p Payer, bytes int64, month time.Time) (Charged, error) {
	return database.OneLocked[Charged](ctx, s.q, "charge metadata", nil, planOnce, `
		WITH storage AS MATERIALIZED (
			SELECT transfer.take_volume($4, '-infinity', $6, 0, $6, $9) AS used
		), person AS (
			INSERT INTO transfer.volumes AS v (subject, month, kind, held)
			SELECT $2::uuid, $5::date, 'person', $6 WHERE ($7::bigint < 0 OR $6 <= $7) AND (SELECT used FROM storage) IS NOT NULL
			ON CONFLICT ON CONSTRAINT volumes_pkey DO UPDATE SET held = v.held + excluded.held
			WHERE $7 < 0 OR v.held + v.reserved + $6 <= $7
			RETURNING v.subject
		), organization AS MATERIALIZED (
			SELECT transfer.take_volume($3, $5, $6, 0, $6, $8) AS used WHERE $3 IS NOT NULL AND (SELECT count(*) FROM person) > 0
		), stranger AS (
			UPDATE transfer.stranger_reservations SET bytes = bytes + $6 WHERE reservation = $1 AND (SELECT count(*) FROM organization) >= 0
		)
		SELECT (SELECT used FROM storage) IS NOT NULL AS storage, EXISTS (SELECT FROM person) AS person,
			(SELECT used FROM organization) IS NOT NULL AS organization`,
		p.Reservation, p.Owner, database.Null(p.Organization), p.LimitsOrganization, month, bytes, p.UploadLimit, p.most(p.OrganizationLimit),
		p.most(p.StorageLimit))
}

// SetMetadata stores what the texts of a locked reservation are charged from now on.
func (s *Store) SetMetadata(ctx context.Context, r id.Reservation, bytes int64) error {
	_, err := database.Exec(ctx, s.q, "store charged metadata", `UPDATE transfer.reservations SET metadata = $2 WHERE uid = $1`, r, bytes)
	return err
}

// RefundMetadata undoes ChargeMetadata.
func (s *Store) RefundMetadata(ctx context.Context, p Payer, bytes int64, month time.Time) error {
	return s.refund(ctx, []charge{{Reservation: p.Reservation, Owner: p.Owner, Organization: p.Organization,
		LimitsOrganization: p.LimitsOrganization, Month: &month, Held: bytes}})
}

// DeleteVolumes deletes up to limit volumes of months before a day, and those stored of organizations that are gone. It returns how many
// volumes of months it has deleted. Giving back to a month that is deleted changes nothing.
func (s *Store) DeleteVolumes(ctx context.Context, before time.Time, limit int) (int, error) {
	return database.Exec(ctx, s.q, "delete volumes", `
		WITH gone AS (
			DELETE FROM transfer.stored_volumes v WHERE bytes = 0 AND reserved = 0
				AND NOT EXISTS (SELECT FROM directory.organizations o WHERE o.organization = v.organization)
		)
		DELETE FROM transfer.volumes WHERE ctid = ANY (ARRAY (SELECT ctid FROM transfer.volumes WHERE month < $1 LIMIT $2))`, before, limit)
}

// SettleVolumes ends the advances of up to limit volumes that are charged no more: of months before this one, and of organizations that are
// gone. It returns how many volumes.
func (s *Store) SettleVolumes(ctx context.Context, month time.Time, limit int) (int, error) {
	return database.Exec(ctx, s.q, "settle volumes", `
		SELECT transfer.settle_volume(subject, month) FROM (
			SELECT DISTINCT a.month, a.subject FROM transfer.volume_advances a
			WHERE a.month < $1 AND (a.month > '-infinity' OR NOT EXISTS (SELECT FROM directory.organizations o WHERE o.organization = a.subject))
			ORDER BY a.month, a.subject LIMIT $2
		) a`, month, limit)
}

// refund undoes charges. Every upload of an organization waits for these rows, so they are locked last in a transaction, and
// always in the same order: stored volumes, then volumes by month; within a month persons before organizations; then strangers' rows.
func (s *Store) refund(ctx context.Context, charges []charge) error {
	if len(charges) == 0 {
		return nil
	}
	_, err := database.Exec(ctx, s.q, "refund volumes", `
		WITH c AS (
			SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::date[], $5::bigint[], $6::bigint[], $7::uuid[])
				AS c (owner, organization, limits_organization, month, held, reserved, reservation)
		), t AS (
			SELECT subject, month, sum(held)::bigint AS held, sum(reserved)::bigint AS reserved FROM (
				SELECT limits_organization AS subject, '-infinity'::date AS month, false AS person, held, reserved FROM c WHERE held > 0 OR reserved > 0
				UNION ALL SELECT owner, month, true, held, reserved FROM c
				UNION ALL SELECT organization, month, false, held, reserved FROM c
			) s GROUP BY subject, month, person ORDER BY month, person DESC, subject
		), changed AS MATERIALIZED (
			SELECT transfer.change_volume(subject, month, -held, -reserved) FROM t
		), strangers AS (
			UPDATE transfer.stranger_reservations x SET bytes = greatest(x.bytes - b.bytes, 0)
			FROM (SELECT reservation, sum(held + reserved) AS bytes FROM c GROUP BY reservation) b
			WHERE x.reservation = b.reservation AND (SELECT count(*) FROM changed) >= 0
		)
		SELECT FROM changed`,
		column(charges, func(c charge) id.Person { return c.Owner }),
		column(charges, func(c charge) any { return database.Null(c.Organization) }),
		column(charges, func(c charge) id.Organization { return c.LimitsOrganization }),
		column(charges, func(c charge) *time.Time { return c.Month }),
		column(charges, func(c charge) int64 { return c.Held }),
		column(charges, func(c charge) int64 { return c.Reserved }),
		column(charges, func(c charge) any { return database.Null(c.Reservation) }))
	return err
}
