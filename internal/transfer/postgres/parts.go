package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// HeldPart is a part of a planned object of which there is a row.
type HeldPart struct {
	Number int
	Held   int64
}

// Parts returns the parts of an object that have begun, in their order. A complete object has none.
func (s *Store) Parts(ctx context.Context, o id.Object) ([]HeldPart, error) {
	return database.All[HeldPart](ctx, s.q, "list parts", `SELECT number, held FROM transfer.object_parts WHERE object = $1 AND held > 0 ORDER BY number`, o)
}

// PlanParts makes an object one of parts, if the caller still has the writer lease of the epoch. It ends the lease.
func (s *Store) PlanParts(ctx context.Context, o id.Object, epoch, partSize int64) (bool, error) {
	n, err := database.Exec(ctx, s.q, "plan parts", `
		UPDATE transfer.objects SET part_size = $3, lease_until = NULL WHERE uid = $1 AND writer_epoch = $2 AND held = 0 AND part_size IS NULL`, o, epoch, partSize)
	return n == 1, err
}

// LockPart returns a part of a locked object as an upload: its offset, length, bytes held and lease are those of the part. It makes the
// row when the part begins.
func (s *Store) LockPart(ctx context.Context, u Upload, number int) (Upload, error) {
	row, err := database.One[struct {
		Held, Reserved int64
		LeaseLeft      *time.Duration
	}](ctx, s.q, "lock part", nil, `
		INSERT INTO transfer.object_parts AS p (object, number) VALUES ($1, $2)
		ON CONFLICT ON CONSTRAINT object_parts_pkey DO UPDATE SET number = excluded.number
		RETURNING held, reserved, lease_until - clock_timestamp() AS lease_left`, u.UID, number)
	u.Part, u.Begin = number, int64(number-1)*u.PartSize
	u.IntendedSize, u.Held, u.Reserved, u.LeaseUntil = u.PartLength(number), row.Held, row.Reserved, leaseUntil(row.LeaseLeft)
	u.SHA256, u.ShaState, u.Head, u.CRC32, u.MIMEType = nil, nil, nil, 0, ""
	return u, err
}

// ReleasePart releases the volume that the former writer of a locked part has reserved.
func (s *Store) ReleasePart(ctx context.Context, u Upload) error {
	charges, err := database.All[charge](ctx, s.q, "release part", `
		UPDATE transfer.object_parts n SET reserved = 0, reserved_month = NULL FROM transfer.object_parts p
		WHERE p.object = $1 AND p.number = $2 AND n.object = p.object AND n.number = p.number
		RETURNING $3::uuid AS reservation, $4::uuid AS owner, $5::uuid AS organization, $6::uuid AS limits_organization, p.reserved_month AS month, 0 AS held, p.reserved`,
		u.UID, u.Part, u.Reservation, u.Owner, database.Null(u.Organization), u.LimitsOrganization)
	if err != nil {
		return err
	}
	return s.refund(ctx, charges)
}

// SavePart stores the progress of a part's writer like SaveProgress. It locks the object first, as a deletion does.
func (s *Store) SavePart(ctx context.Context, p Progress, number int) (bool, error) {
	n, err := database.Scalar[int](ctx, s.q, "save part", nil, `
		WITH object AS (
			SELECT uid, reservation FROM transfer.objects WHERE uid = $1 FOR KEY SHARE
		), before AS (
			SELECT p.object, p.number, p.held, p.reserved, p.reserved_month, object.reservation FROM object JOIN transfer.object_parts p ON p.object = object.uid
			WHERE p.number = $2 AND p.writer_epoch = $3 FOR NO KEY UPDATE OF p
		), o AS (
			UPDATE transfer.object_parts n SET held = $4, reserved = $5, lease_until = clock_timestamp() + $6::interval
			FROM before WHERE n.object = before.object AND n.number = before.number
			RETURNING before.reservation, before.reserved_month AS month, $4 - before.held AS added, before.reserved - $5 AS released
`+chargeProgress+`
		SELECT count(*) FROM o`,
		p.Object, number, p.Epoch, p.Held, p.Reserved, database.Null(p.Lease))
	return n == 1, err
}

// LockParts locks an object for one whose part becomes complete: of the last two parts, the second sees the first.
func (s *Store) LockParts(ctx context.Context, o id.Object) error {
	_, err := database.Exec(ctx, s.q, "lock object", `SELECT FROM transfer.objects WHERE uid = $1 FOR NO KEY UPDATE`, o)
	return err
}

// PartsHeld reports whether all parts of an object are held, and not joined yet.
func (s *Store) PartsHeld(ctx context.Context, o id.Object) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "sum parts", transfer.ErrNotFound, `SELECT `+inParts("o")+` = o.intended_size FROM transfer.objects o WHERE o.uid = $1`, o)
}

// SaveJoined stores the progress of who joins the parts of an object, guarded by the epoch: Held, the sums over these bytes, and the
// lease. Volumes are charged already. With SHA256 the object is complete, and its parts have no rows any more.
func (s *Store) SaveJoined(ctx context.Context, p Progress) (bool, error) {
	n, err := database.Scalar[int](ctx, s.q, "save joined bytes", nil, `
		WITH o AS (
			UPDATE transfer.objects SET held = $3, sha_state = $4, sha256 = $5, head = $6, mime_type = coalesce($7, mime_type), crc32 = $8,
				lease_until = clock_timestamp() + $9::interval
			WHERE uid = $1 AND writer_epoch = $2 RETURNING uid, sha256
		), gone AS (
			DELETE FROM transfer.object_parts p USING o WHERE p.object = o.uid AND o.sha256 IS NOT NULL
		)
		SELECT count(*) FROM o`,
		p.Object, p.Epoch, p.Held, p.ShaState, p.SHA256, p.Head, database.Null(p.MIMEType), p.CRC32, database.Null(p.Lease))
	return n == 1, err
}

// ReleaseParts is ReleaseVolumes for the writers of parts.
func (s *Store) ReleaseParts(ctx context.Context, after time.Duration) (int, error) {
	charges, err := database.All[charge](ctx, s.q, "release volumes of parts", `
		WITH old AS (
			SELECT p.object, p.number, p.reserved, p.reserved_month, x.reservation
			FROM transfer.object_parts p JOIN transfer.objects x ON x.uid = p.object
			WHERE p.reserved > 0 AND p.lease_until < clock_timestamp() - $1::interval LIMIT 1000
			FOR KEY SHARE OF x SKIP LOCKED FOR UPDATE OF p SKIP LOCKED
		), o AS (
			UPDATE transfer.object_parts n SET reserved = 0, reserved_month = NULL, lease_until = NULL, writer_epoch = n.writer_epoch + 1
			FROM old WHERE n.object = old.object AND n.number = old.number
			RETURNING old.reservation, old.reserved, old.reserved_month
		)
		SELECT r.uid AS reservation, r.owner, r.organization, r.limits_organization, o.reserved_month AS month, 0 AS held, o.reserved
		FROM o JOIN transfer.reservations r ON r.uid = o.reservation`, after)
	if err != nil {
		return 0, err
	}
	return len(charges), s.refund(ctx, charges)
}
