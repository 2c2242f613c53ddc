// SQL of objects, and of bytes that await their deletion.

package postgres

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// objectColumns are a transfer.Object.
const objectColumns = `o.uid, coalesce(o.content, o.uid) AS content, o.client_id, coalesce(o.name, '') AS name, o.intended_size, o.size_deferred, coalesce(o.part_size, 0) AS part_size, o.held, o.sha256, o.crc32,
	coalesce(o.mime_type, '') AS mime_type, o.downloads, coalesce(o.upload_metadata, '') AS upload_metadata,
	o.item, o.segmented, o.partial, o.final, o.partials IS NOT NULL AS concatenated,
	EXISTS (SELECT FROM transfer.damaged_contents d WHERE d.content = coalesce(o.content, o.uid)) AS damaged, ` + scanColumn

// scanColumn is the transfer.Scan of object o, null when it is unscanned.
const scanColumn = `(
		SELECT json_build_object('State', i.state, 'Engine', i.engine, 'Signatures', i.signatures, 'Finding', i.finding, 'Rules', i.rules,
			'At', i.scanned_at, 'Removed', i.removed_at IS NOT NULL)
		FROM transfer.inspections i WHERE i.content = coalesce(o.content, o.uid)
	) AS scan`

// Objects returns the objects of a confirmed reservation in the order they were attached.
func (s *Store) Objects(ctx context.Context, r id.Reservation) ([]transfer.Object, error) {
	return database.All[transfer.Object](ctx, s.q, "list objects", `
		SELECT `+objectColumns+` FROM transfer.objects o WHERE o.reservation = $1 ORDER BY o.position`, r)
}

// ObjectsAfter returns up to limit of a reservation's objects in the order they were attached, and the position of the last one.
// It begins after the position given (keyset pagination); no object has position 0. Partial uploads are left out.
func (s *Store) ObjectsAfter(ctx context.Context, r id.Reservation, after int64,
	limit int) (list []transfer.Object, last int64, err error) {
	type positioned struct {
		transfer.Object
		Position int64
	}
	rows, err := database.All[positioned](ctx, s.q, "list objects", `
		SELECT `+objectColumns+`, o.position FROM transfer.objects o
		WHERE o.reservation = $1 AND o.position > $2 AND NOT o.partial ORDER BY o.position LIMIT $3`, r, after, limit)
	for _, row := range rows {
		list, last = append(list, row.Object), row.Position
	}
	return list, last, err
}

// ObjectsNamed returns those of a reservation's objects that have one of the client ids, and all partial uploads without a final one.
func (s *Store) ObjectsNamed(ctx context.Context, r id.Reservation, clientIDs []string) ([]transfer.Object, error) {
	return database.All[transfer.Object](ctx, s.q, "list objects", `
		SELECT `+objectColumns+` FROM transfer.objects o WHERE o.uid IN (
			SELECT uid FROM transfer.objects WHERE reservation = $1 AND client_id = ANY ($2)
			UNION SELECT uid FROM transfer.objects WHERE reservation = $1 AND partial AND final IS NULL)`, r, clientIDs)
}

// IncompleteObject is an object that lacks bytes, or whose segments are held but not sealed yet.
type IncompleteObject struct {
	transfer.Object
	InSegments int64 // bytes that its segments hold
}

// IncompleteObjects returns up to limit objects of a reservation that are not complete. Partial uploads are left out.
func (s *Store) IncompleteObjects(ctx context.Context, r id.Reservation, limit int) ([]IncompleteObject, error) {
	return database.All[IncompleteObject](ctx, s.q, "list objects", `
		SELECT `+objectColumns+`, `+segmentsHeld("o")+` AS in_segments FROM transfer.objects o
		WHERE o.reservation = $1 AND NOT o.partial AND (o.held < o.intended_size OR o.size_deferred) ORDER BY o.position LIMIT $2`, r, limit)
}

// BytesAnnounced reports whether one of a reservation's objects is not to be empty.
func (s *Store) BytesAnnounced(ctx context.Context, r id.Reservation) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "look for bytes", nil,
		`SELECT EXISTS (SELECT FROM transfer.objects WHERE reservation = $1 AND intended_size > 0 AND NOT partial)`, r)
}

// ReservedObject is an object with the creator of its reservation, who may work on it.
type ReservedObject struct {
	transfer.Object
	Creator id.Person // zero: a stranger
	Expires time.Time // of the reservation
	Concat  string    // the header Upload-Concat of a final upload
}

// Object returns one object of a reservation that is within its 48 hours.
// Errors: transfer.ErrNotFound.
func (s *Store) Object(ctx context.Context, r id.Reservation, clientID string, sc Scope) (ReservedObject, error) {
	return database.One[ReservedObject](ctx, s.q, "find object", transfer.ErrNotFound, `
		SELECT `+objectColumns+`, r.creator, r.expires_at AS expires, coalesce(o.upload_concat, '') AS concat FROM transfer.objects o
		JOIN transfer.reservations r ON r.uid = o.reservation
		JOIN directory.persons p ON p.person = r.owner
		WHERE r.uid = $1 AND o.client_id = $2 AND ($3 = '*' OR p.host = $3) AND r.expires_at > $4 AND `+notSuspended,
		r, clientID, sc.Host, sc.Now)
}

// InsertObjects attaches objects to a locked reservation and raises its count, which leaves out partial uploads. An object of no bytes is
// complete at once. metadata is what the reservation's own texts are charged from now on.
// Errors: transfer.ErrTooManyFiles; transfer.ErrClientID.
func (s *Store) InsertObjects(ctx context.Context, r id.Reservation, list []transfer.Object, metadata int64, now time.Time) error {
	empty, files := sha256.Sum256(nil), 0
	for _, o := range list {
		if !o.Partial {
			files++
		}
	}
	_, err := database.Exec(ctx, s.q, "attach objects", `
		WITH r AS (
			UPDATE transfer.reservations SET object_count = object_count + $14, metadata = $10 WHERE uid = $1 RETURNING uid
		)
		INSERT INTO transfer.objects (uid, reservation, client_id, name, intended_size, size_deferred, sha256, mime_type, created_at, metadata,
			upload_metadata, partial, item)
		SELECT n.uid, r.uid, n.client_id, n.name, n.size, n.deferred, CASE WHEN n.size = 0 AND NOT n.deferred THEN $6::bytea END,
			nullif(n.mime_type, ''), $7, n.metadata,
			nullif(n.described, ''), n.partial, n.item
		FROM r, unnest($2::uuid[], $3::text[], $4::text[], $5::bigint[], $8::text[], $9::bigint[], $11::boolean[], $12::text[], $13::boolean[],
			$15::uuid[]) WITH ORDINALITY AS n (uid, client_id, name, size, mime_type, metadata, deferred, described, partial, item, nr)
		ORDER BY n.nr`, r,
		column(list, func(o transfer.Object) id.Object { return o.UID }),
		column(list, func(o transfer.Object) string { return o.ClientID }),
		column(list, func(o transfer.Object) string { return o.Name }),
		column(list, func(o transfer.Object) int64 { return o.IntendedSize }), empty[:], now,
		column(list, func(o transfer.Object) string { return o.MIMEType }),
		column(list, transfer.Object.MetadataBytes), metadata,
		column(list, func(o transfer.Object) bool { return o.Deferred }),
		column(list, func(o transfer.Object) string { return o.UploadMetadata }),
		column(list, func(o transfer.Object) bool { return o.Partial }), files,
		column(list, func(o transfer.Object) any { return database.Null(o.Item) }))
	return err
}

// OpenObjects returns how many objects the open reservations of a sender have.
func (s *Store) OpenObjects(ctx context.Context, creator id.Person) (int64, error) {
	return database.Scalar[int64](ctx, s.q, "count open objects", nil, `
		SELECT coalesce(sum(object_count), 0) FROM transfer.reservations WHERE owner = $1 AND creator = $1 AND state = 'open'`, creator)
}

// DeleteObjects deletes the objects of unconfirmed reservations: all, or the one with a clientID and the partial uploads it is made of. It
// gives their volume back to the months it was charged to, marks their bytes for the purge, and returns their number. With all objects it
// releases the volume of the reservations' own texts, too. The caller has locked the reservations, and deletes those that have lost all
// objects.
func (s *Store) DeleteObjects(ctx context.Context, reservations []id.Reservation, clientID string, now time.Time) (int, error) {
	const which = `($2 = '' OR o.client_id = $2 OR o.partial AND o.final = (SELECT f.uid FROM transfer.objects f WHERE f.reservation = r.uid AND f.client_id = $2))`
	n, charges, err := s.removeObjects(ctx, reservations, which, clientID, clientID == "", now)
	if err != nil {
		return 0, err
	}
	return n, s.refund(ctx, charges)
}

// removeObjects is DeleteObjects without giving back the volume, which the charges say. which is the condition of objects o that compares
// with key ($2).
func (s *Store) removeObjects(ctx context.Context, reservations []id.Reservation, which, key string, texts bool,
	now time.Time) (int, []charge, error) {
	gone := ` FROM transfer.objects o JOIN transfer.reservations r ON r.uid = o.reservation WHERE r.uid = ANY ($1) AND r.state = 'open' AND ` +
		which
	// The lock is a statement of its own, so that the next one sees what a writer charged while the lock waited for it.
	n, err := database.Exec(ctx, s.q, "lock objects", `SELECT`+gone+` FOR UPDATE OF o`, reservations, key)
	if err != nil || n == 0 && !texts {
		return 0, nil, err
	}
	charges, err := database.All[charge](ctx, s.q, "delete objects", `
		WITH gone AS (
			SELECT o.uid, o.reservation, o.partial, o.metadata,
				(SELECT max(s.lease_until) FROM transfer.segments s WHERE s.object = o.uid) AS lease_until, `+utcMonth("o")+
		` AS month, r.owner, r.organization, r.limits_organization`+gone+`
		), s AS (
			SELECT g.reservation, g.owner, g.organization, g.limits_organization, s.uid, s.reserved, s.reserved_month FROM gone g
				JOIN transfer.segments s ON s.object = g.uid
		), released AS (
			UPDATE transfer.segments n SET reserved = 0, epoch = n.epoch + 1 FROM s WHERE n.uid = s.uid
		), sums AS (
			SELECT s.reservation, s.owner, s.organization, s.limits_organization, c.month, c.bytes AS held, 0 AS reserved
			FROM s JOIN transfer.segment_charges c ON c.segment = s.uid
			UNION ALL
			SELECT s.reservation, s.owner, s.organization, s.limits_organization, s.reserved_month, 0, s.reserved FROM s WHERE s.reserved > 0
			UNION ALL
			SELECT g.reservation, g.owner, g.organization, g.limits_organization, g.month, g.metadata, 0 FROM gone g WHERE g.metadata > 0
			UNION ALL
			SELECT r.uid, r.owner, r.organization, r.limits_organization, `+utcMonth("r")+`, r.metadata, 0
			FROM transfer.reservations r WHERE r.uid = ANY ($1) AND r.state = 'open' AND $4 AND r.metadata > 0
		), counted AS (
			UPDATE transfer.reservations r SET object_count = r.object_count - t.n
			FROM (SELECT reservation, count(*) AS n FROM gone WHERE NOT partial GROUP BY reservation) t
			WHERE r.uid = t.reservation
		), noted AS (
			INSERT INTO transfer.discarded_objects (object, discarded_at, busy_until, unshared) SELECT uid, $3, lease_until, true FROM gone
			ON CONFLICT ON CONSTRAINT discarded_objects_pkey DO NOTHING
		), deleted AS (
			DELETE FROM transfer.objects o USING gone g WHERE o.uid = g.uid
		)
		SELECT reservation, owner, organization, limits_organization, month, sum(held)::bigint AS held, sum(reserved)::bigint AS reserved
		FROM sums GROUP BY reservation, owner, organization, limits_organization, month`, reservations, key, now, texts)
	return n, charges, err
}

// utcMonth is the calendar month in which a row of the table was created (transfer.Month).
func utcMonth(table string) string {
	return `date_trunc('month', ` + table + `.created_at AT TIME ZONE 'UTC')::date`
}

// ObjectsToPurge returns up to limit objects whose bytes await the purge, are not held (contract 4.30) and whose writers' leases have
// ended, by the clock of Postgres.
func (s *Store) ObjectsToPurge(ctx context.Context, limit int) ([]id.Object, error) {
	return database.Scalars[id.Object](ctx, s.q, "list objects to purge", `
		SELECT object FROM transfer.discarded_objects
		WHERE discarded_at < 'infinity' AND (busy_until IS NULL OR busy_until < clock_timestamp())
			AND NOT EXISTS (SELECT FROM hold_contents h WHERE h.content = object) ORDER BY discarded_at LIMIT $1`, limit)
}

// MarkPurged records that the bytes of the objects are purged: their segments are gone, and what was known about bytes that no object has
// any more.
func (s *Store) MarkPurged(ctx context.Context, contents []id.Object) error {
	_, err := database.Exec(ctx, s.q, "mark objects as purged", `
		WITH inspected AS (
			DELETE FROM transfer.inspections i WHERE i.content = ANY ($1) AND NOT EXISTS (SELECT FROM transfer.objects o WHERE o.uid = i.content
				OR o.content = i.content)
		), gone AS (
			DELETE FROM transfer.segments WHERE object = ANY ($1) RETURNING uid
		), uncharged AS (
			DELETE FROM transfer.segment_charges WHERE segment IN (SELECT uid FROM gone)
		)
		DELETE FROM transfer.discarded_objects WHERE object = ANY ($1)`, contents)
	return err
}

// SegmentsKept returns those of segments whose bytes are kept, or await the purge.
func (s *Store) SegmentsKept(ctx context.Context, uids []id.Segment) (map[id.Segment]bool, error) {
	list, err := database.Scalars[id.Segment](ctx, s.q, "look up segments", `SELECT uid FROM transfer.segments WHERE uid = ANY ($1)`, uids)
	set := make(map[id.Segment]bool, len(list))
	for _, u := range list {
		set[u] = true
	}
	return set, err
}
