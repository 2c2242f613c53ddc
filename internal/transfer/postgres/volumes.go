package postgres

import (
	"context"
	"slices"
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
		WITH storage AS (
			INSERT INTO transfer.stored_volumes AS v (organization, bytes) SELECT $4::uuid, $6::bigint WHERE $9::bigint < 0 OR $6 <= $9
			ON CONFLICT ON CONSTRAINT stored_volumes_pkey DO UPDATE SET bytes = v.bytes + excluded.bytes
			WHERE $9 < 0 OR v.bytes + v.reserved + $6 <= $9
			RETURNING v.organization
		), person AS (
			INSERT INTO transfer.volumes AS v (subject, month, kind, held)
			SELECT $2::uuid, $5::date, 'person', $6 WHERE ($7::bigint < 0 OR $6 <= $7) AND (SELECT count(*) FROM storage) > 0
			ON CONFLICT ON CONSTRAINT volumes_pkey DO UPDATE SET held = v.held + excluded.held
			WHERE $7 < 0 OR v.held + v.reserved + $6 <= $7
			RETURNING v.subject
		), organization AS (
			INSERT INTO transfer.volumes AS v (subject, month, kind, held)
			SELECT $3::uuid, $5::date, 'organization', $6 WHERE $3 IS NOT NULL AND ($8::bigint < 0 OR $6 <= $8) AND (SELECT count(*) FROM person) > 0
			ON CONFLICT ON CONSTRAINT volumes_pkey DO UPDATE SET held = v.held + excluded.held
			WHERE $8 < 0 OR v.held + v.reserved + $6 <= $8
			RETURNING v.subject
		), stranger AS (
			UPDATE transfer.stranger_reservations SET bytes = bytes + $6 WHERE reservation = $1 AND (SELECT count(*) FROM organization) >= 0
		)
		SELECT EXISTS (SELECT FROM storage) AS storage, EXISTS (SELECT FROM person) AS person, EXISTS (SELECT FROM organization) AS organization`,
		p.Reservation, p.Owner, database.Null(p.Organization), p.LimitsOrganization, month, bytes, p.UploadLimit, p.OrganizationLimit,
		p.StorageLimit)
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
			FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS c (organization, held, reserved) WHERE held > 0
				OR reserved > 0 GROUP BY organization
		), locked AS (
			SELECT v.organization FROM transfer.stored_volumes v JOIN t ON t.organization = v.organization
				ORDER BY v.organization FOR NO KEY UPDATE OF v
		)
		UPDATE transfer.stored_volumes v SET bytes = greatest(v.bytes - t.held, 0), reserved = greatest(v.reserved - t.reserved, 0)
		FROM t JOIN locked ON locked.organization = t.organization WHERE v.organization = t.organization`,
		column(charges, func(c charge) id.Organization { return c.LimitsOrganization }), held, reserved)
	if err != nil || !slices.ContainsFunc(charges, func(c charge) bool { return c.Month != nil || !c.Reservation.IsZero() }) {
		return err
	}
	_, err = database.Exec(ctx, s.q, "refund volumes", `
		WITH c AS (
			SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::date[], $4::bigint[], $5::bigint[], $6::uuid[]) AS c (owner, organization, month, held,
				reserved, reservation)
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
