// The SQL of uploads: the segment that a request writes, its lease, the volume reserved for it, and its progress.

package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// Upload is a locked object with everything that decides whether a request may write it, or whether its segments are to be sealed.
type Upload struct {
	transfer.Object
	Payer
	Segment        Segment `db:"-"` // that the request writes
	ShaState       []byte
	Head           []byte      // first bytes, while they are too few to detect the type
	SealUntil      time.Time   `db:"-"` // by this machine's clock; zero: nobody seals the object
	Transfer       id.Transfer // set once confirmed
	MIMETypeFilter []string
	Stored         int64
	Suspensions    []uuid.UUID // that end a request that writes the object: the next ones of its persons and its mailbox
}

// LockUpload locks an object, and keeps its reservation from being confirmed until the transaction ends. It locks the
// reservation before the object.
// Errors: transfer.ErrNotFound.
func (s *Store) LockUpload(ctx context.Context, r id.Reservation, clientID string, sc Scope) (Upload, error) {
	return s.lockUpload(ctx, `r.uid = $1 AND o.client_id = $2 AND `+notSuspended, `FOR SHARE OF r FOR UPDATE OF o`, r, clientID, sc)
}

// LockPart is LockUpload for a request that writes one of an object's parts. It shares the object's lock with the requests of other parts,
// which would else wait for each other's commits.
// Errors: transfer.ErrNotFound.
func (s *Store) LockPart(ctx context.Context, r id.Reservation, clientID string, sc Scope) (Upload, error) {
	return s.lockUpload(ctx, `r.uid = $1 AND o.client_id = $2 AND `+notSuspended, `FOR SHARE OF r FOR KEY SHARE OF o`, r, clientID, sc)
}

// LockSealing locks an object, and not its reservation: the expiry passes over locked reservations.
// Errors: transfer.ErrNotFound.
func (s *Store) LockSealing(ctx context.Context, o id.Object, sc Scope) (Upload, error) {
	return s.lockUpload(ctx, `o.uid = $1 AND $2 = ''`, `FOR UPDATE OF o`, o, "", sc)
}

func (s *Store) lockUpload(ctx context.Context, which, lock string, uid any, clientID string, sc Scope) (Upload, error) {
	type leasedUpload struct {
		Upload
		LeaseLeft *time.Duration
		Expires   time.Time
	}
	u, err := database.One[leasedUpload](ctx, s.q, "lock object", transfer.ErrNotFound, `
		SELECT `+objectColumns+`, o.sha_state, o.head, o.seal_until - clock_timestamp() AS lease_left,
			r.expires_at AS expires, r.uid AS reservation, r.creator, coalesce(r.client::text, '') AS client, r.owner, r.organization,
				r.limits_organization, r.request, r.transfer,
			CASE WHEN r.party IS NOT NULL THEN (SELECT i.mime_types FROM transfer.request_items i WHERE i.uid = o.item AND NOT o.partial)
				WHEN l.mime_type_filter AND NOT o.partial THEN m.mime_type_filter END AS mime_type_filter,
			coalesce(p.upload_volume_bytes, CASE WHEN p.personal THEN $5::bigint ELSE -1 END) AS upload_limit,
			coalesce(CASE WHEN p.organization IS NOT NULL THEN l.transfer_volume_bytes END, -1) AS organization_limit,
			coalesce(l.storage_volume_bytes, -1) AS storage_limit, coalesce(sv.bytes, 0) AS stored, ARRAY(
				SELECT x.next_suspension FROM directory.suspensions x WHERE x.person = ANY (ARRAY[r.owner, r.sender])
				UNION ALL SELECT m.next_suspension WHERE m.person IS NOT NULL AND r.party IS NULL) AS suspensions
		FROM transfer.reservations r
		JOIN transfer.objects o ON o.reservation = r.uid
		JOIN directory.persons p ON p.person = r.owner
		JOIN directory.limits l ON l.organization = p.limits_organization
		LEFT JOIN transfer.mailboxes m ON m.person = r.owner AND r.type = 'mailbox'
		LEFT JOIN transfer.stored_totals sv ON sv.organization = r.limits_organization
		WHERE `+which+` AND ($3 = '*' OR p.host = $3) AND r.expires_at > $4
		`+lock, uid, clientID, sc.Host, sc.Now, sc.Defaults.UploadVolume)
	u.SealUntil, u.ExpiresAt = leaseUntil(u.LeaseLeft), u.Expires
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

// charge returns the charge of bytes that u's segment has reserved.
func (u Upload) charge(month *time.Time, reserved int64) charge {
	return charge{Reservation: u.Reservation, Owner: u.Owner, Organization: u.Organization, LimitsOrganization: u.LimitsOrganization,
		Month: month, Reserved: reserved}
}

// ResetSegment resets the segment of a locked object to no bytes, and with it what is known of the object's bytes. It releases the volume
// of the bytes, and that which former writers reserved. With keepBytes it releases the latter only.
func (s *Store) ResetSegment(ctx context.Context, u Upload, keepBytes bool) error {
	charges, err := database.All[charge](ctx, s.q, "reset segment", `
		WITH s AS (
			SELECT reserved, reserved_month FROM transfer.segments WHERE uid = $1
		), uncharged AS (
			DELETE FROM transfer.segment_charges WHERE segment = $1 AND NOT $5 RETURNING month, bytes
		), reset AS (
			UPDATE transfer.segments SET reserved = 0, reserved_month = NULL, held = CASE WHEN $5 THEN held ELSE 0 END WHERE uid = $1
		), unknown AS (
			UPDATE transfer.objects SET held = 0, sha_state = NULL, head = NULL, sha256 = NULL, crc32 = 0, mime_type = NULL,
				seal_epoch = seal_epoch + 1
			WHERE uid = $7 AND NOT $5
		)
		SELECT $6::uuid AS reservation, $2::uuid AS owner, $3::uuid AS organization, $4::uuid AS limits_organization, month, held, reserved
		FROM (SELECT month, bytes AS held, 0 AS reserved FROM uncharged UNION ALL SELECT reserved_month, 0, reserved FROM s
			WHERE reserved > 0) c`,
		u.Segment.UID, u.Owner, database.Null(u.Organization), u.LimitsOrganization, keepBytes, u.Reservation, u.UID)
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

// ReserveVolume reserves want more bytes for the writer of a locked segment: storage first, then this month's volume of the person,
// then of the organization. It raises the epoch by raise, 1 for a new writer. A volume with any room takes all: the caller gives
// back what exceeds its limit, and rolls back when a volume had no room.
func (s *Store) ReserveVolume(ctx context.Context, u Upload, want, raise int64, lease time.Duration, month time.Time) (Window, error) {
	return database.OneLocked[Window](ctx, s.q, "reserve volume", nil, planOnce, `
		WITH storage AS MATERIALIZED (
			SELECT transfer.take_volume($10, '-infinity', 0, $5, 1, $11) AS used
		), person AS (
			INSERT INTO transfer.volumes AS v (subject, month, kind, reserved)
			SELECT $2::uuid, $4::date, 'person', $5::bigint WHERE $6::bigint <> 0 AND (SELECT used FROM storage) IS NOT NULL
			ON CONFLICT ON CONSTRAINT volumes_pkey DO UPDATE SET reserved = v.reserved + excluded.reserved
			WHERE $6 < 0 OR v.held + v.reserved < $6
			RETURNING v.held + v.reserved - $5 AS used
		), organization AS MATERIALIZED (
			SELECT transfer.take_volume($3, $4, 0, $5, 1, $7) AS used WHERE $3::uuid IS NOT NULL AND (SELECT count(*) FROM person) > 0
		), stranger AS (
			UPDATE transfer.stranger_reservations SET bytes = bytes + $5 WHERE reservation = $12 AND (SELECT count(*) FROM organization) >= 0
		), s AS (
			UPDATE transfer.segments SET epoch = epoch + $9, lease_until = clock_timestamp() + $8::interval, reserved = reserved + $5,
				reserved_month = $4
			WHERE uid = $1 RETURNING epoch
		)
		SELECT s.epoch, (SELECT used FROM storage) AS storage, (SELECT used FROM person) AS person, (SELECT used
			FROM organization) AS organization
		FROM s`,
		u.Segment.UID, u.Owner, database.Null(u.Organization), month, want, u.UploadLimit, u.most(u.OrganizationLimit), lease, raise,
		u.LimitsOrganization, u.most(u.StorageLimit), u.Reservation)
}

// ReturnReserved releases bytes that ReserveVolume reserved for the writer of a locked segment.
func (s *Store) ReturnReserved(ctx context.Context, u Upload, bytes int64, month time.Time) error {
	if _, err := database.Exec(ctx, s.q, "lower reservation", `UPDATE transfer.segments SET reserved = reserved - $2 WHERE uid = $1`,
		u.Segment.UID, bytes); err != nil {
		return err
	}
	return s.refund(ctx, []charge{u.charge(&month, bytes)})
}

// LockWriter locks a segment, and before it the object as a deletion does. It reports whether the writer of an epoch still has the lease.
func (s *Store) LockWriter(ctx context.Context, u Upload, epoch int64) (bool, error) {
	n, err := database.Exec(ctx, s.q, "lock writer", `
		WITH o AS (
			SELECT uid FROM transfer.objects WHERE uid = $1 FOR KEY SHARE
		)
		SELECT FROM o JOIN transfer.segments s ON s.uid = $2 AND s.epoch = $3 FOR NO KEY UPDATE OF s`, u.UID, u.Segment.UID, epoch)
	return n == 1, err
}

// Sums are what is known of the bytes of an object from the first one on.
type Sums struct {
	Held     int64  // how many bytes
	ShaState []byte // over them
	SHA256   []byte // once they are all
	CRC32    uint32 // over them
	Head     []byte // the first ones, while they are too few to detect the type
	MIMEType string // once known
}

// Progress is the progress of a writer.
type Progress struct {
	Object   id.Object // of the request
	Segment  id.Segment
	Epoch    int64
	Held     int64         // bytes of the segment that are durable now
	Reserved int64         // volume that is still reserved
	Lease    time.Duration // from now; zero: the writer is done
	Size     int64         // of the object, when its deferred size is known now; -1: no change
	Sums     *Sums         // of the object, when its writer computes them
}

// SaveProgress stores the rows, charge and volumes of a writer's progress in one statement, guarded by the epoch. It reports whether
// the writer still has the lease. It is idempotent, because charges are differences to the row: a writer that got no answer repeats
// it. It locks the object, then the segment, the charge, the stored volume, the person's volume, the organization's, and the stranger's
// row, as refund does. Postgres does not define the order of data-modifying CTEs, so each counts the rows of the one before it, which must
// be complete for that.
func (s *Store) SaveProgress(ctx context.Context, p Progress) (bool, error) {
	lock, sums := "KEY SHARE", Sums{}
	if p.Sums != nil {
		lock, sums = "NO KEY UPDATE", *p.Sums
	}
	n, err := database.Scalar[int](ctx, s.q, "save progress", nil, `
		WITH object AS (
			SELECT uid, reservation FROM transfer.objects WHERE uid = $1 FOR `+lock+`
		), before AS (
			SELECT s.uid, s.held, s.reserved, s.reserved_month, object.reservation
			FROM object JOIN transfer.segments s ON s.uid = $2 AND s.epoch = $3 FOR NO KEY UPDATE OF s
		), o AS (
			UPDATE transfer.segments n SET held = $4, reserved = $5, lease_until = clock_timestamp() + $6::interval,
				size = CASE WHEN $7::bigint < 0 THEN n.size ELSE $7::bigint END
			FROM before WHERE n.uid = before.uid
			RETURNING before.reservation, before.reserved_month AS month, $4 - before.held AS added, before.reserved - $5 AS released
		), sums AS (
			UPDATE transfer.objects n SET held = $8, sha_state = $9, sha256 = $10, head = $11, mime_type = coalesce($12, n.mime_type), crc32 = $13,
				intended_size = CASE WHEN $7::bigint < 0 THEN n.intended_size ELSE $7::bigint END, size_deferred = n.size_deferred AND $7::bigint < 0
			FROM before WHERE n.uid = $1 AND $14
		), r AS (
			SELECT r.owner, r.organization, r.limits_organization, o.month, o.added, o.released FROM transfer.reservations r
				JOIN o ON r.uid = o.reservation
		), charge AS (
			INSERT INTO transfer.segment_charges AS c (segment, month, bytes) SELECT $2, month, added FROM o WHERE added > 0
			ON CONFLICT ON CONSTRAINT segment_charges_pkey DO UPDATE SET bytes = c.bytes + excluded.bytes
			RETURNING c.segment
		), stored AS MATERIALIZED (
			SELECT transfer.change_volume(r.limits_organization, '-infinity', r.added, -r.released) FROM r
			WHERE (r.added > 0 OR r.released <> 0) AND (SELECT count(*) FROM charge) >= 0
		), person AS (
			UPDATE transfer.volumes v SET held = v.held + r.added, reserved = greatest(v.reserved - r.released, 0)
			FROM r WHERE v.subject = r.owner AND v.month = r.month AND (SELECT count(*) FROM stored) >= 0 RETURNING v.subject
		), organization AS MATERIALIZED (
			SELECT transfer.change_volume(r.organization, r.month, r.added, -r.released) FROM r
			WHERE (SELECT count(*) FROM person) >= 0
		), stranger AS (
			UPDATE transfer.stranger_reservations x SET bytes = greatest(x.bytes + o.added - o.released, 0)
			FROM o WHERE x.reservation = o.reservation AND o.added <> o.released AND (SELECT count(*) FROM organization) >= 0
		)
		SELECT count(*) FROM o WHERE (SELECT count(*) FROM organization) >= 0`,
		p.Object, p.Segment, p.Epoch, p.Held, p.Reserved, database.Null(p.Lease), p.Size,
		sums.Held, sums.ShaState, sums.SHA256, sums.Head, database.Null(sums.MIMEType), sums.CRC32, p.Sums != nil)
	return n == 1, err
}

// DeclareSize makes the deferred size of a locked object known. An empty object is complete then and has a sum; its former writer loses the
// lease.
func (s *Store) DeclareSize(ctx context.Context, o id.Object, size int64, sum []byte, mimeType string) error {
	_, err := database.Exec(ctx, s.q, "declare size", `
		WITH s AS (
			UPDATE transfer.segments SET size = $2::bigint, epoch = epoch + CASE WHEN $2::bigint = 0 THEN 1 ELSE 0 END WHERE object = $1
		)
		UPDATE transfer.objects SET intended_size = $2::bigint, size_deferred = false, sha256 = coalesce($3, sha256), mime_type = coalesce($4,
			mime_type)
		WHERE uid = $1`, o, size, sum, database.Null(mimeType))
	return err
}

// ReleaseVolumes releases the volume reserved by writers whose leases ended at least the given time ago, because their server
// crashed. It returns the number of writers, at most 1000.
func (s *Store) ReleaseVolumes(ctx context.Context, after time.Duration) (int, error) {
	charges, err := database.All[charge](ctx, s.q, "release volumes", `
		WITH old AS (
			SELECT s.uid, s.reserved, s.reserved_month, x.reservation
			FROM transfer.segments s JOIN transfer.objects x ON x.uid = s.object
			WHERE s.reserved > 0 AND s.lease_until < clock_timestamp() - $1::interval LIMIT 1000
			FOR KEY SHARE OF x SKIP LOCKED FOR UPDATE OF s SKIP LOCKED
		), o AS (
			UPDATE transfer.segments n SET reserved = 0, reserved_month = NULL, lease_until = NULL, epoch = n.epoch + 1
			FROM old WHERE n.uid = old.uid
			RETURNING old.reservation, old.reserved, old.reserved_month
		)
		SELECT r.uid AS reservation, r.owner, r.organization, r.limits_organization, o.reserved_month AS month, 0 AS held, o.reserved
		FROM o JOIN transfer.reservations r ON r.uid = o.reservation`, after)
	if err != nil {
		return 0, err
	}
	return len(charges), s.refund(ctx, charges)
}
