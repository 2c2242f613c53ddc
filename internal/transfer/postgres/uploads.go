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
	Reservation        id.Reservation
	ShaState           []byte
	Head               []byte    // first bytes, while they are too few to tell the type by
	LeaseUntil         time.Time `db:"-"` // of the former writer, by this machine's clock; zero: nobody writes
	Reserved           int64     // volume that the former writer left reserved
	Creator            id.Person
	Owner              id.Person
	Organization       id.Organization
	LimitsOrganization id.Organization
	Transfer           id.Transfer // set once confirmed
	MIMETypeFilter     []string
	UploadLimit        int64 // bytes a month; negative: none
	OrganizationLimit  int64
	StorageLimit       int64
	Stored             int64
}

// LockUpload locks an object, and keeps its reservation from being confirmed until the transaction ends. It locks the
// reservation before the object. Errors: transfer.ErrNotFound.
func (s *Store) LockUpload(ctx context.Context, r id.Reservation, clientID string, sc Scope) (Upload, error) {
	type leasedUpload struct {
		Upload
		LeaseLeft *time.Duration
	}
	u, err := database.One[leasedUpload](ctx, s.q, "lock object", transfer.ErrNotFound, `
		SELECT `+objectColumns+`, o.sha_state, o.head, o.lease_until - clock_timestamp() AS lease_left, o.reserved,
			r.uid AS reservation, r.creator, r.owner, r.organization, r.limits_organization, r.transfer,
			CASE WHEN l.mime_type_filter THEN m.mime_type_filter END AS mime_type_filter,
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
	u.LeaseUntil = leaseUntil(u.LeaseLeft)
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

// ResetObject resets an object to no bytes, and gives back the volume it used and the volume its former writer reserved. With
// keepBytes it gives back the latter only. The caller has locked the object.
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
				mime_type = CASE WHEN $5 THEN mime_type END
			WHERE uid = $1
		)
		SELECT $2::uuid AS owner, $3::uuid AS organization, $4::uuid AS limits_organization, month, held, reserved
		FROM (SELECT month, bytes AS held, 0 AS reserved FROM uncharged UNION ALL SELECT reserved_month, 0, reserved FROM o WHERE reserved > 0) c`,
		u.UID, u.Owner, database.Null(u.Organization), u.LimitsOrganization, keepBytes)
	if err != nil {
		return err
	}
	return s.giveBack(ctx, charges)
}

// WriterLease is a writer's lease of an object: only the writer of the highest epoch may save progress.
type WriterLease struct {
	Epoch              int64
	PersonAdmitted     bool // the owner's volume had room
	SubscriptionAdmits bool // the organization's volume had room, or there is no organization
}

// BeginUpload raises the epoch of a locked object and reserves want bytes of this month's volume. It locks the person's volume, then
// the organization's, whose part counts the rows of the person's part. The caller rolls back when a volume had no room.
func (s *Store) BeginUpload(ctx context.Context, u Upload, want int64, lease time.Duration, month time.Time) (WriterLease, error) {
	return database.One[WriterLease](ctx, s.q, "begin upload", nil, `
		WITH person AS (
			INSERT INTO transfer.volumes AS v (subject, month, kind, reserved)
			SELECT $2::uuid, $4::date, 'person', $5::bigint WHERE $6::bigint <> 0
			ON CONFLICT ON CONSTRAINT volumes_pkey DO UPDATE SET reserved = v.reserved + excluded.reserved
			WHERE $6 < 0 OR v.held + v.reserved < $6
			RETURNING v.subject
		), organization AS (
			INSERT INTO transfer.volumes AS v (subject, month, kind, reserved)
			SELECT $3::uuid, $4::date, 'organization', $5::bigint WHERE $3::uuid IS NOT NULL AND $7::bigint <> 0 AND (SELECT count(*) FROM person) > 0
			ON CONFLICT ON CONSTRAINT volumes_pkey DO UPDATE SET reserved = v.reserved + excluded.reserved
			WHERE $7 < 0 OR v.held + v.reserved < $7
			RETURNING v.subject
		), o AS (
			UPDATE transfer.objects SET writer_epoch = writer_epoch + 1, lease_until = clock_timestamp() + $8::interval, reserved = $5, reserved_month = $4
			WHERE uid = $1 RETURNING writer_epoch
		)
		SELECT o.writer_epoch AS epoch, EXISTS (SELECT FROM person) AS person_admitted,
			$3::uuid IS NULL OR EXISTS (SELECT FROM organization) AS subscription_admits
		FROM o`,
		u.UID, u.Owner, database.Null(u.Organization), month, want, u.UploadLimit, u.OrganizationLimit, lease)
}

// Progress is the progress of a writer.
type Progress struct {
	Object   id.Object
	Epoch    int64
	Held     int64         // bytes of the object that are durable now
	Reserved int64         // volume that is still reserved
	ShaState []byte        // over Held bytes
	SHA256   []byte        // once complete
	CRC32    uint32        // over Held bytes
	Head     []byte        // first bytes, while they are too few to tell the type by
	MIMEType string        // once known
	Lease    time.Duration // from now; zero: the writer is done
}

// SaveProgress stores the row, charge and volumes of a writer's progress in one statement, guarded by the epoch. It reports whether
// the writer still has the lease. It is idempotent, because charges are differences to the row: a writer that got no answer repeats
// it. It locks the stored volume, then the person's volume, then the organization's, as giveBack does. Postgres does not define the
// order of data-modifying CTEs, so each part counts the rows of the part before it, which must be complete for that.
func (s *Store) SaveProgress(ctx context.Context, p Progress) (bool, error) {
	n, err := database.Scalar[int](ctx, s.q, "save progress", nil, `
		WITH before AS (
			SELECT uid, held, reserved, reserved_month FROM transfer.objects WHERE uid = $1 AND writer_epoch = $2 FOR NO KEY UPDATE
		), o AS (
			UPDATE transfer.objects n SET held = $3, sha_state = $4, sha256 = $5, head = $9, mime_type = coalesce($6, n.mime_type),
				lease_until = clock_timestamp() + $7::interval, reserved = $8, crc32 = $10
			FROM before WHERE n.uid = before.uid
			RETURNING n.reservation, before.reserved_month AS month, $3 - before.held AS added, before.reserved - $8 AS released
		), r AS (
			SELECT r.owner, r.organization, r.limits_organization, o.month, o.added, o.released FROM transfer.reservations r JOIN o ON r.uid = o.reservation
		), charge AS (
			INSERT INTO transfer.object_charges AS c (object, month, bytes) SELECT $1, month, added FROM o WHERE added > 0
			ON CONFLICT ON CONSTRAINT object_charges_pkey DO UPDATE SET bytes = c.bytes + excluded.bytes
		), stored AS (
			INSERT INTO transfer.stored_volumes AS v (organization, bytes) SELECT r.limits_organization, r.added FROM r WHERE r.added > 0
			ON CONFLICT ON CONSTRAINT stored_volumes_pkey DO UPDATE SET bytes = v.bytes + excluded.bytes RETURNING v.organization
		), person AS (
			UPDATE transfer.volumes v SET held = v.held + r.added, reserved = greatest(v.reserved - r.released, 0)
			FROM r WHERE v.subject = r.owner AND v.month = r.month AND (SELECT count(*) FROM stored) >= 0 RETURNING v.subject
		), organization AS (
			UPDATE transfer.volumes v SET held = v.held + r.added, reserved = greatest(v.reserved - r.released, 0)
			FROM r WHERE v.subject = r.organization AND v.month = r.month AND (SELECT count(*) FROM person) >= 0
		)
		SELECT count(*) FROM o`,
		p.Object, p.Epoch, p.Held, p.ShaState, p.SHA256, database.Null(p.MIMEType), database.Null(p.Lease), p.Reserved, p.Head, p.CRC32)
	return n == 1, err
}

// ReleaseVolumes gives back the volume reserved by writers whose leases ended at least the given time ago, because their server
// crashed. It returns the number of writers, at most 1000.
func (s *Store) ReleaseVolumes(ctx context.Context, after time.Duration) (int, error) {
	charges, err := database.All[charge](ctx, s.q, "release volumes", `
		WITH o AS (
			UPDATE transfer.objects n SET reserved = 0, reserved_month = NULL, lease_until = NULL, writer_epoch = n.writer_epoch + 1
			FROM (SELECT uid, reserved, reserved_month FROM transfer.objects WHERE reserved > 0 AND lease_until < clock_timestamp() - $1::interval LIMIT 1000 FOR UPDATE SKIP LOCKED) old
			WHERE n.uid = old.uid
			RETURNING n.reservation, old.reserved, old.reserved_month
		)
		SELECT r.owner, r.organization, r.limits_organization, o.reserved_month AS month, 0 AS held, o.reserved
		FROM o JOIN transfer.reservations r ON r.uid = o.reservation`, after)
	if err != nil {
		return 0, err
	}
	return len(charges), s.giveBack(ctx, charges)
}
