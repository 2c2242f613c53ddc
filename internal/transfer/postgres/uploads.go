package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// Upload is an object locked for a new writer, with everything that decides whether it may write.
type Upload struct {
	transfer.Object
	Payer
	Part           int   `db:"-"` // number of the part of a planned object whose row this is; 0: the object's own
	Begin          int64 `db:"-"` // offset of the part in the object
	ShaState       []byte
	Head           []byte      // first bytes, while they are too few to detect the type
	LeaseUntil     time.Time   `db:"-"` // of the former writer, by this machine's clock; zero: nobody writes
	Reserved       int64       // volume that the former writer left reserved
	Transfer       id.Transfer // set once confirmed
	MIMETypeFilter []string
	Stored         int64
}

// LockUpload locks an object, and keeps its reservation from being confirmed until the transaction ends. It locks the
// reservation before the object.
// Errors: transfer.ErrNotFound.
func (s *Store) LockUpload(ctx context.Context, r id.Reservation, clientID string, sc Scope) (Upload, error) {
	type leasedUpload struct {
		Upload
		LeaseLeft *time.Duration
		Expires   time.Time
	}
	u, err := database.One[leasedUpload](ctx, s.q, "lock object", transfer.ErrNotFound, `
		SELECT `+objectColumns+`, o.sha_state, o.head, o.lease_until - clock_timestamp() AS lease_left, o.reserved,
			r.expires_at AS expires, r.uid AS reservation, r.creator, coalesce(r.client, '') AS client, r.owner, r.organization, r.limits_organization, r.transfer,
			CASE WHEN l.mime_type_filter AND NOT o.partial THEN m.mime_type_filter END AS mime_type_filter,
			coalesce(p.upload_volume_bytes, CASE WHEN p.organization IS NULL THEN $5::bigint ELSE -1 END) AS upload_limit,
			coalesce(CASE WHEN p.organization IS NOT NULL THEN l.transfer_volume_bytes END, -1) AS organization_limit,
			coalesce(l.storage_volume_bytes, -1) AS storage_limit, coalesce(sv.bytes, 0) AS stored
		FROM transfer.reservations r
		JOIN transfer.objects o ON o.reservation = r.uid
		JOIN directory.persons p ON p.person = r.owner
		JOIN directory.limits l ON l.organization = p.limits_organization
		LEFT JOIN transfer.mailboxes m ON m.person = r.owner AND r.type = 'mailbox'
		LEFT JOIN transfer.stored_volumes sv ON sv.organization = r.limits_organization
		WHERE r.uid = $1 AND o.client_id = $2 AND ($3 = '*' OR p.host = $3) AND r.expires_at > $4
		FOR SHARE OF r FOR UPDATE OF o`, r, clientID, sc.Host, sc.Now, sc.Defaults.UploadVolume)
	u.LeaseUntil, u.ExpiresAt = leaseUntil(u.LeaseLeft), u.Expires
	return u.Upload, err
}

// leaseUntil returns when a lease ends by this machine's clock. Rows store it by the clock of Postgres, because the clocks of
// replicas may differ.
func leaseUntil(left *time.Duration) time.Time {
	if left == nil {
		return time.Time{}
	}
	return time.Now().Add(*left)
}

// ResetObject resets an object to no bytes and without a plan. It releases the volume of its bytes and the volume that its former writers
// reserved. With keepBytes it releases the latter only. The caller has locked the object.
func (s *Store) ResetObject(ctx context.Context, u Upload, keepBytes bool) error {
	charges, err := database.All[charge](ctx, s.q, "reset object", `
		WITH o AS (
			SELECT reserved, reserved_month FROM transfer.objects WHERE uid = $1
		), uncharged AS (
			DELETE FROM transfer.object_charges WHERE object = $1 AND NOT $5 RETURNING month, bytes
		), reset AS (
			UPDATE transfer.objects SET reserved = 0, reserved_month = NULL,
				held = CASE WHEN $5 THEN held ELSE 0 END,
				sha_state = CASE WHEN $5 THEN sha_state END,
				head = CASE WHEN $5 THEN head END,
				sha256 = CASE WHEN $5 THEN sha256 END,
				crc32 = CASE WHEN $5 THEN crc32 ELSE 0 END,
				mime_type = CASE WHEN $5 THEN mime_type END,
				part_size = CASE WHEN $5 THEN part_size END,
				writer_epoch = writer_epoch + CASE WHEN part_size IS NULL OR $5 THEN 0 ELSE 1 END
			WHERE uid = $1
		), parts AS (
			DELETE FROM transfer.object_parts WHERE object = $1 AND NOT $5 RETURNING reserved, reserved_month
		)
		SELECT $6::uuid AS reservation, $2::uuid AS owner, $3::uuid AS organization, $4::uuid AS limits_organization, month, held, reserved
		FROM (SELECT month, bytes AS held, 0 AS reserved FROM uncharged UNION ALL SELECT reserved_month, 0, reserved FROM o WHERE reserved > 0
			UNION ALL SELECT reserved_month, 0, reserved FROM parts WHERE reserved > 0) c`,
		u.UID, u.Owner, database.Null(u.Organization), u.LimitsOrganization, keepBytes, u.Reservation)
	if err != nil {
		return err
	}
	return s.refund(ctx, charges)
}

// Window is the outcome of ReserveVolume: the writer's epoch, and what each volume held before, reservations included. Nil: the volume
// has no room, or for Organization there is no organization.
type Window struct {
	Epoch                         int64
	Storage, Person, Organization *int64
}

// ReserveVolume reserves want more bytes for the writer of a locked object: storage first, then this month's volume of the person,
// then of the organization. It raises the epoch by raise, 1 for a new writer. A volume with any room takes all: the caller gives
// back what exceeds its limit, and rolls back when a volume had no room.
func (s *Store) ReserveVolume(ctx context.Context, u Upload, want, raise int64, lease time.Duration, month time.Time) (Window, error) {
	return database.OneLocked[Window](ctx, s.q, "reserve volume", nil, planOnce, `
		WITH storage AS (
			INSERT INTO transfer.stored_volumes AS v (organization, bytes, reserved) SELECT $10::uuid, 0, $5::bigint WHERE $11::bigint <> 0
			ON CONFLICT ON CONSTRAINT stored_volumes_pkey DO UPDATE SET reserved = v.reserved + excluded.reserved
			WHERE $11 < 0 OR v.bytes + v.reserved < $11
			RETURNING v.bytes + v.reserved - $5 AS used
		), person AS (
			INSERT INTO transfer.volumes AS v (subject, month, kind, reserved)
			SELECT $2::uuid, $4::date, 'person', $5::bigint WHERE $6::bigint <> 0 AND (SELECT count(*) FROM storage) > 0
			ON CONFLICT ON CONSTRAINT volumes_pkey DO UPDATE SET reserved = v.reserved + excluded.reserved
			WHERE $6 < 0 OR v.held + v.reserved < $6
			RETURNING v.held + v.reserved - $5 AS used
		), organization AS (
			INSERT INTO transfer.volumes AS v (subject, month, kind, reserved)
			SELECT $3::uuid, $4::date, 'organization', $5::bigint WHERE $3::uuid IS NOT NULL AND $7::bigint <> 0 AND (SELECT count(*) FROM person) > 0
			ON CONFLICT ON CONSTRAINT volumes_pkey DO UPDATE SET reserved = v.reserved + excluded.reserved
			WHERE $7 < 0 OR v.held + v.reserved < $7
			RETURNING v.held + v.reserved - $5 AS used
		), stranger AS (
			UPDATE transfer.stranger_reservations SET bytes = bytes + $5 WHERE reservation = $12 AND (SELECT count(*) FROM organization) >= 0
		), o AS (
			UPDATE `+u.row()+` SET writer_epoch = writer_epoch + $9, lease_until = clock_timestamp() + $8::interval,
				reserved = reserved + $5, reserved_month = $4
			WHERE `+u.is("$1", "$13")+` RETURNING writer_epoch
		)
		SELECT o.writer_epoch AS epoch, (SELECT used FROM storage) AS storage, (SELECT used FROM person) AS person,
			(SELECT used FROM organization) AS organization
		FROM o`,
		u.UID, u.Owner, database.Null(u.Organization), month, want, u.UploadLimit, u.OrganizationLimit, lease, raise, u.LimitsOrganization, u.StorageLimit, u.Reservation, u.Part)
}

// ReturnReserved releases bytes that ReserveVolume reserved for the writer of a locked object.
func (s *Store) ReturnReserved(ctx context.Context, u Upload, bytes int64, month time.Time) error {
	if _, err := database.Exec(ctx, s.q, "lower reservation", `UPDATE `+u.row()+` SET reserved = reserved - $2 WHERE `+u.is("$1", "$3"), u.UID, bytes, u.Part); err != nil {
		return err
	}
	return s.refund(ctx, []charge{{Reservation: u.Reservation, Owner: u.Owner, Organization: u.Organization, LimitsOrganization: u.LimitsOrganization, Month: &month, Reserved: bytes}})
}

// row is the table with the row that an upload advances, and is finds it: that of the object, or of a part of it.
func (u Upload) row() string {
	if u.Part > 0 {
		return "transfer.object_parts"
	}
	return "transfer.objects"
}

func (u Upload) is(object, part string) string {
	if u.Part > 0 {
		return "object = " + object + " AND number = " + part
	}
	return "uid = " + object + " AND " + part + "::int = 0"
}

// LockWriter locks an object, or its part, and reports whether the writer of an epoch still has the lease.
func (s *Store) LockWriter(ctx context.Context, u Upload, epoch int64) (bool, error) {
	if u.Part > 0 { // the object first, as a deletion does
		if _, err := database.Exec(ctx, s.q, "lock object", `SELECT FROM transfer.objects WHERE uid = $1 FOR KEY SHARE`, u.UID); err != nil {
			return false, err
		}
	}
	n, err := database.Exec(ctx, s.q, "lock writer", `SELECT FROM `+u.row()+` WHERE `+u.is("$1", "$3")+` AND writer_epoch = $2 FOR NO KEY UPDATE`, u.UID, epoch, u.Part)
	return n == 1, err
}

// chargeProgress ends a statement whose CTE o has the progress of a writer of object $1: the reservation, the month, the bytes added to
// those held, and the reserved bytes released. It locks the charge, then the stored volume, then the person's volume, then the
// organization's, then the stranger's row, as refund does. Postgres does not define the order of data-modifying CTEs, so each part counts
// the rows of the part before it, which must be complete for that.
const chargeProgress = `
		), r AS (
			SELECT r.owner, r.organization, r.limits_organization, o.month, o.added, o.released FROM transfer.reservations r JOIN o ON r.uid = o.reservation
		), charge AS (
			INSERT INTO transfer.object_charges AS c (object, month, bytes) SELECT $1, month, added FROM o WHERE added > 0
			ON CONFLICT ON CONSTRAINT object_charges_pkey DO UPDATE SET bytes = c.bytes + excluded.bytes
			RETURNING c.object
		), stored AS (
			INSERT INTO transfer.stored_volumes AS v (organization, bytes) SELECT r.limits_organization, r.added FROM r WHERE (r.added > 0 OR r.released <> 0) AND (SELECT count(*) FROM charge) >= 0
			ON CONFLICT ON CONSTRAINT stored_volumes_pkey DO UPDATE SET bytes = v.bytes + excluded.bytes,
				reserved = greatest(v.reserved - (SELECT released FROM r), 0)
			RETURNING v.organization
		), person AS (
			UPDATE transfer.volumes v SET held = v.held + r.added, reserved = greatest(v.reserved - r.released, 0)
			FROM r WHERE v.subject = r.owner AND v.month = r.month AND (SELECT count(*) FROM stored) >= 0 RETURNING v.subject
		), organization AS (
			UPDATE transfer.volumes v SET held = v.held + r.added, reserved = greatest(v.reserved - r.released, 0)
			FROM r WHERE v.subject = r.organization AND v.month = r.month AND (SELECT count(*) FROM person) >= 0 RETURNING v.subject
		), stranger AS (
			UPDATE transfer.stranger_reservations x SET bytes = greatest(x.bytes + o.added - o.released, 0)
			FROM o WHERE x.reservation = o.reservation AND o.added <> o.released AND (SELECT count(*) FROM organization) >= 0
		)`

// Progress is the progress of a writer.
type Progress struct {
	Object   id.Object
	Epoch    int64
	Held     int64         // bytes of the object that are durable now
	Reserved int64         // volume that is still reserved
	ShaState []byte        // over Held bytes
	SHA256   []byte        // once complete
	CRC32    uint32        // over Held bytes
	Head     []byte        // first bytes, while they are too few to detect the type
	MIMEType string        // once known
	Lease    time.Duration // from now; zero: the writer is done
	Size     int64         // of the object, when its deferred size is known now; -1: no change
}

// SaveProgress stores the row, charge and volumes of a writer's progress in one statement, guarded by the epoch. It reports whether
// the writer still has the lease. It is idempotent, because charges are differences to the row: a writer that got no answer repeats
// it.
func (s *Store) SaveProgress(ctx context.Context, p Progress) (bool, error) {
	n, err := database.Scalar[int](ctx, s.q, "save progress", nil, `
		WITH before AS (
			SELECT uid, held, reserved, reserved_month FROM transfer.objects WHERE uid = $1 AND writer_epoch = $2 FOR NO KEY UPDATE
		), o AS (
			UPDATE transfer.objects n SET held = $3, sha_state = $4, sha256 = $5, head = $9, mime_type = coalesce($6, n.mime_type),
				lease_until = clock_timestamp() + $7::interval, reserved = $8, crc32 = $10,
				intended_size = CASE WHEN $11::bigint < 0 THEN n.intended_size ELSE $11::bigint END, size_deferred = n.size_deferred AND $11::bigint < 0
			FROM before WHERE n.uid = before.uid
			RETURNING n.reservation, before.reserved_month AS month, $3 - before.held AS added, before.reserved - $8 AS released
`+chargeProgress+`
		SELECT count(*) FROM o`,
		p.Object, p.Epoch, p.Held, p.ShaState, p.SHA256, database.Null(p.MIMEType), database.Null(p.Lease), p.Reserved, p.Head, p.CRC32, p.Size)
	return n == 1, err
}

// TakeLease makes the caller the writer of a locked object, without volume, and returns its epoch.
func (s *Store) TakeLease(ctx context.Context, u Upload, lease time.Duration) (int64, error) {
	return database.Scalar[int64](ctx, s.q, "take lease", nil, `
		UPDATE transfer.objects SET writer_epoch = writer_epoch + 1, lease_until = clock_timestamp() + $2::interval WHERE uid = $1 RETURNING writer_epoch`, u.UID, lease)
}

// DeclareSize makes the deferred size of a locked object known. An empty object is complete then and has a sum; its former writer loses the
// lease.
func (s *Store) DeclareSize(ctx context.Context, o id.Object, size int64, sum []byte, mimeType string) error {
	_, err := database.Exec(ctx, s.q, "declare size", `
		UPDATE transfer.objects SET intended_size = $2::bigint, size_deferred = false, sha256 = coalesce($3, sha256), mime_type = coalesce($4, mime_type),
			writer_epoch = writer_epoch + CASE WHEN $2::bigint = 0 THEN 1 ELSE 0 END
		WHERE uid = $1`, o, size, sum, database.Null(mimeType))
	return err
}

// ReleaseVolumes releases the volume reserved by writers whose leases ended at least the given time ago, because their server
// crashed. It returns the number of writers, at most 1000.
func (s *Store) ReleaseVolumes(ctx context.Context, after time.Duration) (int, error) {
	charges, err := database.All[charge](ctx, s.q, "release volumes", `
		WITH o AS (
			UPDATE transfer.objects n SET reserved = 0, reserved_month = NULL, lease_until = NULL, writer_epoch = n.writer_epoch + 1
			FROM (SELECT uid, reserved, reserved_month FROM transfer.objects WHERE reserved > 0 AND lease_until < clock_timestamp() - $1::interval LIMIT 1000 FOR UPDATE SKIP LOCKED) old
			WHERE n.uid = old.uid
			RETURNING n.reservation, old.reserved, old.reserved_month
		)
		SELECT r.uid AS reservation, r.owner, r.organization, r.limits_organization, o.reserved_month AS month, 0 AS held, o.reserved
		FROM o JOIN transfer.reservations r ON r.uid = o.reservation`, after)
	if err != nil {
		return 0, err
	}
	return len(charges), s.refund(ctx, charges)
}
