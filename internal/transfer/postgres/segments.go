// The SQL of segments: what an object's bytes consist of, their leases, and Seal, which computes the sums over them.

package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// Segment is an append-only run of bytes of an object: one blob. UID is its key in the storage.
type Segment struct {
	UID        id.Segment
	Object     id.Object // transfer.Object.Content of the objects that have the bytes
	Number     int       // place in the object, from 1 on
	Size       int64     // while the object's size is deferred: the maximum
	Held       int64     // bytes that are durable
	Reserved   int64     // volume that is set aside for its writer
	LeaseUntil time.Time `db:"-"` // of the last writer, by this machine's clock; zero: nobody writes
}

// Complete reports whether all bytes are held.
func (s Segment) Complete() bool { return s.Held == s.Size }

// leasedSegment is a Segment as it is read.
type leasedSegment struct {
	Segment
	LeaseLeft *time.Duration
}

func (s leasedSegment) segment() Segment {
	s.LeaseUntil = leaseUntil(s.LeaseLeft)
	return s.Segment
}

const segmentColumns = `s.uid, s.object, s.number, s.size, s.held, s.reserved, s.lease_until - clock_timestamp() AS lease_left`

// LockSegment returns a segment of a locked object as the row has it, and makes the row when there is none.
func (s *Store) LockSegment(ctx context.Context, u Segment) (Segment, error) {
	row, err := database.One[leasedSegment](ctx, s.q, "lock segment", nil, `
		INSERT INTO transfer.segments AS s (uid, object, number, size) VALUES ($1, $2, $3, $4)
		ON CONFLICT ON CONSTRAINT segments_pkey DO UPDATE SET size = excluded.size
		RETURNING `+segmentColumns, u.UID, u.Object, u.Number, u.Size)
	return row.segment(), err
}

// Segments returns the segments of contents that have rows, by content and number.
func (s *Store) Segments(ctx context.Context, contents ...id.Object) ([]Segment, error) {
	list, err := database.All[leasedSegment](ctx, s.q, "list segments", `
		SELECT `+segmentColumns+` FROM transfer.segments s WHERE s.object = ANY ($1) ORDER BY s.object, s.number`, contents)
	return column(list, leasedSegment.segment), err
}

// PlanParts makes a locked object without bytes one of parts. A former writer of its first segment loses the lease.
func (s *Store) PlanParts(ctx context.Context, o id.Object, partSize int64, parts []Segment) error {
	_, err := database.Exec(ctx, s.q, "plan parts", `
		WITH o AS (
			UPDATE transfer.objects SET part_size = $2, segmented = true WHERE uid = $1
		)
		INSERT INTO transfer.segments AS s (uid, object, number, size)
		SELECT n.uid, $1, n.number, n.size FROM unnest($3::uuid[], $4::int[], $5::bigint[]) AS n (uid, number, size)
		ON CONFLICT ON CONSTRAINT segments_pkey DO UPDATE SET size = excluded.size, epoch = s.epoch + 1`, o, partSize,
		column(parts, func(p Segment) id.Segment { return p.UID }), column(parts, func(p Segment) int { return p.Number }),
		column(parts, func(p Segment) int64 { return p.Size }))
	return err
}

// segmentsHeld is how many bytes the segments of a row of objects hold.
func segmentsHeld(object string) string {
	return `(SELECT coalesce(sum(s.held), 0)::bigint FROM transfer.segments s WHERE s.object = ` + object + `.uid)`
}

// AllHeld reports whether the segments of an object hold all of its bytes.
func (s *Store) AllHeld(ctx context.Context, o id.Object) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "sum segments", transfer.ErrNotFound,
		`SELECT `+segmentsHeld("o")+` = o.intended_size FROM transfer.objects o WHERE o.uid = $1`, o)
}

// TakeLease makes the caller the writer of a locked segment, without volume, and returns its epoch.
func (s *Store) TakeLease(ctx context.Context, u id.Segment, lease time.Duration) (int64, error) {
	return database.Scalar[int64](ctx, s.q, "take lease", nil, `
		UPDATE transfer.segments SET epoch = epoch + 1, lease_until = clock_timestamp() + $2::interval WHERE uid = $1 RETURNING epoch`, u, lease)
}

// LeaseStored takes the writer lease of a segment whose bytes are complete, and returns its epoch; 0 when somebody else has it.
func (s *Store) LeaseStored(ctx context.Context, u id.Segment, lease time.Duration) (int64, error) {
	return database.Scalar[int64](ctx, s.q, "lease segment", nil, `
		UPDATE transfer.segments SET epoch = epoch + 1, lease_until = clock_timestamp() + $2::interval
		WHERE uid = $1 AND held = size AND coalesce(lease_until <= clock_timestamp(), true) RETURNING epoch`, u, lease)
}

// RenewStored extends the lease of LeaseStored, or ends it with 0. It reports false when the lease is lost.
func (s *Store) RenewStored(ctx context.Context, u id.Segment, epoch int64, lease time.Duration) (bool, error) {
	n, err := database.Exec(ctx, s.q, "renew lease of segment", `
		UPDATE transfer.segments SET lease_until = clock_timestamp() + $3::interval WHERE uid = $1 AND epoch = $2`, u, epoch, lease)
	return n == 1, err
}

// TakeSeal gives the caller the lease for the sums of a locked object, and returns its epoch.
func (s *Store) TakeSeal(ctx context.Context, o id.Object, lease time.Duration) (int64, error) {
	return database.Scalar[int64](ctx, s.q, "take lease of sums", nil, `
		UPDATE transfer.objects SET seal_epoch = seal_epoch + 1, seal_until = clock_timestamp() + $2::interval WHERE uid = $1
			RETURNING seal_epoch`, o, lease)
}

// SaveSums stores the sums over the segments of an object, guarded by the epoch of TakeSeal. The lease is from now; zero ends it. Volumes
// are charged already. With SHA256 the object is complete.
func (s *Store) SaveSums(ctx context.Context, o id.Object, epoch int64, k Sums, lease time.Duration) (bool, error) {
	n, err := database.Exec(ctx, s.q, "save sums", `
		UPDATE transfer.objects SET held = $3, sha_state = $4, sha256 = $5, head = $6, mime_type = coalesce($7, mime_type), crc32 = $8,
			seal_until = clock_timestamp() + $9::interval
		WHERE uid = $1 AND seal_epoch = $2`,
		o, epoch, k.Held, k.ShaState, k.SHA256, k.Head, database.Null(k.MIMEType), k.CRC32, database.Null(lease))
	return n == 1, err
}

// StoredSegment is what the database says of a segment whose bytes the storage lists.
type StoredSegment struct {
	Exists     bool // it has a row
	Size, Held int64
	Discarded  bool // its bytes await the purge and are not held (contract 4.30)
}

// StoredSegment returns what is known of a segment.
func (s *Store) StoredSegment(ctx context.Context, u id.Segment) (StoredSegment, error) {
	return database.One[StoredSegment](ctx, s.q, "look up segment", nil, `
		SELECT g.uid IS NOT NULL AS exists, coalesce(g.size, 0) AS size, coalesce(g.held, 0) AS held,
			coalesce(EXISTS (SELECT FROM transfer.discarded_objects d WHERE d.object = g.object AND d.discarded_at < 'infinity')
				AND NOT EXISTS (SELECT FROM hold_contents h WHERE h.content = g.object), false) AS discarded
		FROM (SELECT $1::uuid AS u) asked LEFT JOIN transfer.segments g ON g.uid = asked.u`, u)
}
