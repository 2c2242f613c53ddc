package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// Upload is an object locked for a new writer, with everything that decides whether it may write.
type Upload struct {
	transfer.Object
	Reservation        id.Reservation
	ShaState           []byte
	Head               []byte    // first bytes, while they are too few to tell the type by
	LeaseUntil         time.Time // of the former writer, by this machine's clock; zero: nobody writes
	Reserved           int64     // volume the former writer left behind
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

// LockUpload locks an object and keeps its reservation from being confirmed until the transaction ends. Locks are taken in the
// order of the clauses: the reservation first, as by everybody else. ErrNotFound.
func (s *Store) LockUpload(ctx context.Context, r id.Reservation, clientID string, sc Scope) (Upload, error) {
	type uploadRow struct {
		objectRow
		ShaState           []byte
		Head               []byte
		LeaseLeft          *time.Duration
		Reserved           int64
		Creator            id.Person
		Owner              id.Person
		Organization       id.Organization
		LimitsOrganization id.Organization
		Transfer           id.Transfer
		FilterTypes        []string
		UploadLimit        *int64
		OrganizationLimit  *int64
		StorageVolumeBytes *int64
		Stored             *int64
	}
	row, err := one[uploadRow](s.q.Query(ctx, `
		SELECT `+objectColumns+`, o.sha_state, o.head, o.lease_until - clock_timestamp() AS lease_left, o.reserved, r.creator, r.owner, r.organization, r.limits_organization, r.transfer,
			CASE WHEN l.mime_type_filter THEN m.mime_type_filter END AS filter_types,
			CASE WHEN p.organization IS NULL THEN coalesce(p.upload_volume_bytes, $5::bigint) ELSE p.upload_volume_bytes END AS upload_limit,
			CASE WHEN p.organization IS NOT NULL THEN l.transfer_volume_bytes END AS organization_limit,
			l.storage_volume_bytes, sv.bytes AS stored
		FROM transfer.reservations r
		JOIN transfer.objects o ON o.reservation = r.uid
		JOIN directory.persons p ON p.person = r.owner
		JOIN directory.limits l ON l.organization = p.limits_organization
		LEFT JOIN transfer.mailboxes m ON m.person = r.owner AND r.type = 'mailbox'
		LEFT JOIN transfer.stored_volumes sv ON sv.organization = r.limits_organization
		WHERE r.uid = $1 AND o.client_id = $2 AND ($3 = '*' OR p.host = $3) AND r.expires_at > $4
		FOR SHARE OF r FOR UPDATE OF o`, r, clientID, sc.Host, sc.Now, sc.Defaults.UploadVolume))
	if err != nil {
		return Upload{}, fmt.Errorf("lock object: %w", err)
	}
	return Upload{
		Object: row.object(), Reservation: r, ShaState: row.ShaState, Head: row.Head, LeaseUntil: leaseUntil(row.LeaseLeft), Reserved: row.Reserved,
		Creator: row.Creator, Owner: row.Owner, Organization: row.Organization, LimitsOrganization: row.LimitsOrganization,
		Transfer: row.Transfer, MIMETypeFilter: row.FilterTypes, UploadLimit: limit(row.UploadLimit),
		OrganizationLimit: limit(row.OrganizationLimit), StorageLimit: limit(row.StorageVolumeBytes), Stored: or(row.Stored),
	}, nil
}

// leaseUntil is when a lease ends by this machine's clock. Rows have it by that of Postgres, so that replicas whose clocks differ
// agree on it.
func leaseUntil(left *time.Duration) time.Time {
	if left == nil {
		return time.Time{}
	}
	return time.Now().Add(*left)
}

// ResetObject takes an object back to no bytes: what it held and what its former writer had set aside is given back.
// With keepBytes only the latter. The caller has it locked.
func (s *Store) ResetObject(ctx context.Context, u Upload, keepBytes bool) error {
	charges, err := all[charge](s.q.Query(ctx, `
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
		u.UID, u.Owner, opt(u.Organization), u.LimitsOrganization, keepBytes))
	if err != nil {
		return fmt.Errorf("reset object: %w", err)
	}
	return s.giveBack(ctx, charges)
}

// Turn is a writer's hold on an object.
type Turn struct {
	Epoch              int64
	PersonAdmitted     bool // the owner's volume had room
	SubscriptionAdmits bool // the organization's volume had room, or there is none to ask
}

// BeginUpload raises the epoch of a locked object and sets want bytes of this month's volume aside, person first, then
// organization. When the answer says that a volume had no room, the caller rolls back.
func (s *Store) BeginUpload(ctx context.Context, u Upload, want int64, lease time.Duration, month time.Time) (Turn, error) {
	var t Turn
	err := s.q.QueryRow(ctx, `
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
		SELECT o.writer_epoch, EXISTS (SELECT FROM person), $3::uuid IS NULL OR EXISTS (SELECT FROM organization) FROM o`,
		u.UID, u.Owner, opt(u.Organization), month, want, u.UploadLimit, u.OrganizationLimit, lease).
		Scan(&t.Epoch, &t.PersonAdmitted, &t.SubscriptionAdmits)
	if err != nil {
		return Turn{}, fmt.Errorf("begin upload: %w", err)
	}
	return t, nil
}

// Progress is where a writer is.
type Progress struct {
	Object   id.Object
	Epoch    int64
	Held     int64         // bytes of the object that are durable now
	Reserved int64         // volume that is still set aside
	ShaState []byte        // over Held bytes
	SHA256   []byte        // once complete
	CRC32    uint32        // over Held bytes
	Head     []byte        // first bytes, while they are too few to tell the type by
	MIMEType string        // once known
	Lease    time.Duration // from now; zero: the writer is done
}

// AdvanceUpload makes bytes held: row, charge and volumes in one statement, only while the writer has its turn. It
// reports whether it had. What is charged and released is told from the row, so that a writer who never heard the answer may
// say the same again. Volumes are locked person first, then organization.
func (s *Store) AdvanceUpload(ctx context.Context, p Progress) (bool, error) {
	var n int
	err := s.q.QueryRow(ctx, `
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
		), person AS (
			UPDATE transfer.volumes v SET held = v.held + r.added, reserved = greatest(v.reserved - r.released, 0)
			FROM r WHERE v.subject = r.owner AND v.month = r.month RETURNING v.subject
		), organization AS (
			UPDATE transfer.volumes v SET held = v.held + r.added, reserved = greatest(v.reserved - r.released, 0)
			FROM r WHERE v.subject = r.organization AND v.month = r.month AND (SELECT count(*) FROM person) >= 0
		), stored AS (
			INSERT INTO transfer.stored_volumes AS v (organization, bytes) SELECT r.limits_organization, r.added FROM r WHERE r.added > 0
			ON CONFLICT ON CONSTRAINT stored_volumes_pkey DO UPDATE SET bytes = v.bytes + excluded.bytes
		)
		SELECT count(*) FROM o`,
		p.Object, p.Epoch, p.Held, p.ShaState, p.SHA256, text(p.MIMEType), number(p.Lease), p.Reserved, p.Head, int64(p.CRC32)).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("advance upload: %w", err)
	}
	return n == 1, nil
}

// ReleaseVolumes gives back what writers had set aside that vanished with their server at least so long after their leases, and
// returns for how many.
func (s *Store) ReleaseVolumes(ctx context.Context, after time.Duration) (int, error) {
	charges, err := all[charge](s.q.Query(ctx, `
		WITH o AS (
			UPDATE transfer.objects n SET reserved = 0, reserved_month = NULL, lease_until = NULL, writer_epoch = n.writer_epoch + 1
			FROM (SELECT uid, reserved, reserved_month FROM transfer.objects WHERE reserved > 0 AND lease_until < clock_timestamp() - $1::interval LIMIT 1000 FOR UPDATE SKIP LOCKED) old
			WHERE n.uid = old.uid
			RETURNING n.reservation, old.reserved, old.reserved_month
		)
		SELECT r.owner, r.organization, r.limits_organization, o.reserved_month AS month, 0 AS held, o.reserved
		FROM o JOIN transfer.reservations r ON r.uid = o.reservation`, after))
	if err != nil {
		return 0, fmt.Errorf("release volumes: %w", err)
	}
	return len(charges), s.giveBack(ctx, charges)
}
