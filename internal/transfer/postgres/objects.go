package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

const objectColumns = `o.uid, o.client_id, o.name, o.intended_size, o.held, o.sha256, o.crc32, o.mime_type, o.downloads`

type objectRow struct {
	UID          id.Object
	ClientID     string
	Name         *string
	IntendedSize int64
	Held         int64
	SHA256       []byte
	CRC32        int64
	MIMEType     *string
	Downloads    int64
}

func (r objectRow) object() transfer.Object {
	return transfer.Object{
		UID: r.UID, ClientID: r.ClientID, Name: or(r.Name), IntendedSize: r.IntendedSize, Held: r.Held,
		SHA256: r.SHA256, CRC32: uint32(r.CRC32), MIMEType: or(r.MIMEType), Downloads: r.Downloads,
	}
}

func objects(rows []objectRow, err error) ([]transfer.Object, error) {
	if err != nil {
		return nil, fmt.Errorf("list objects: %w", err)
	}
	out := make([]transfer.Object, len(rows))
	for i, r := range rows {
		out[i] = r.object()
	}
	return out, nil
}

// Objects returns a reservation's objects in the order they were attached.
func (s *Store) Objects(ctx context.Context, r id.Reservation) ([]transfer.Object, error) {
	return objects(all[objectRow](s.q.Query(ctx, `SELECT `+objectColumns+` FROM transfer.objects o WHERE o.reservation = $1 ORDER BY o.position`, r)))
}

// ObjectsAfter returns up to limit of a reservation's objects in that order, behind the one whose place is after, and the place of the
// last of them. No object has place 0.
func (s *Store) ObjectsAfter(ctx context.Context, r id.Reservation, after int64, limit int) (list []transfer.Object, last int64, err error) {
	type placedRow struct {
		objectRow
		Position int64
	}
	rows, err := all[placedRow](s.q.Query(ctx, `SELECT `+objectColumns+`, o.position FROM transfer.objects o
		WHERE o.reservation = $1 AND o.position > $2 ORDER BY o.position LIMIT $3`, r, after, limit))
	if err != nil {
		return nil, 0, fmt.Errorf("list objects: %w", err)
	}
	list = make([]transfer.Object, len(rows))
	for i, row := range rows {
		list[i], last = row.object(), row.Position
	}
	return list, last, nil
}

// ObjectsNamed returns those of a reservation's objects that have one of the client's names.
func (s *Store) ObjectsNamed(ctx context.Context, r id.Reservation, clientIDs []string) ([]transfer.Object, error) {
	return objects(all[objectRow](s.q.Query(ctx, `SELECT `+objectColumns+` FROM transfer.objects o
		WHERE o.reservation = $1 AND o.client_id = ANY ($2)`, r, clientIDs)))
}

// IncompleteObjects returns up to limit objects of a reservation that lack bytes.
func (s *Store) IncompleteObjects(ctx context.Context, r id.Reservation, limit int) ([]transfer.Object, error) {
	return objects(all[objectRow](s.q.Query(ctx, `SELECT `+objectColumns+` FROM transfer.objects o
		WHERE o.reservation = $1 AND o.held < o.intended_size ORDER BY o.position LIMIT $2`, r, limit)))
}

// ReservedObject is an object with who may work on it.
type ReservedObject struct {
	transfer.Object
	Creator id.Person // of the reservation; zero: a stranger
}

// Object returns one object of a reservation that is within its 48 hours. ErrNotFound.
func (s *Store) Object(ctx context.Context, r id.Reservation, clientID string, sc Scope) (ReservedObject, error) {
	type reservedRow struct {
		objectRow
		Creator id.Person
	}
	row, err := one[reservedRow](s.q.Query(ctx, `
		SELECT `+objectColumns+`, r.creator FROM transfer.objects o
		JOIN transfer.reservations r ON r.uid = o.reservation
		JOIN directory.persons p ON p.person = r.owner
		WHERE r.uid = $1 AND o.client_id = $2 AND ($3 = '*' OR p.host = $3) AND r.expires_at > $4`, r, clientID, sc.Host, sc.Now))
	if err != nil {
		return ReservedObject{}, fmt.Errorf("find object: %w", err)
	}
	return ReservedObject{Object: row.object(), Creator: row.Creator}, nil
}

// InsertObjects attaches objects to a locked reservation and raises its count. ErrTooManyFiles, ErrClientID.
// An object of no bytes is complete from the start.
func (s *Store) InsertObjects(ctx context.Context, r id.Reservation, list []transfer.Object, now time.Time) error {
	uids, clientIDs := make([]id.Object, len(list)), make([]string, len(list))
	names, sizes, types := make([]string, len(list)), make([]int64, len(list)), make([]*string, len(list))
	for i, o := range list {
		uids[i], clientIDs[i], names[i], sizes[i], types[i] = o.UID, o.ClientID, o.Name, o.IntendedSize, text(o.MIMEType)
	}
	nothing := sha256.Sum256(nil)
	_, err := s.q.Exec(ctx, `
		WITH r AS (
			UPDATE transfer.reservations SET object_count = object_count + cardinality($2::uuid[]) WHERE uid = $1 RETURNING uid
		)
		INSERT INTO transfer.objects (uid, reservation, client_id, name, intended_size, sha256, mime_type, created_at)
		SELECT n.uid, r.uid, n.client_id, n.name, n.size, CASE WHEN n.size = 0 THEN $6::bytea END, n.mime_type, $7
		FROM r, unnest($2::uuid[], $3::text[], $4::text[], $5::bigint[], $8::text[]) WITH ORDINALITY AS n (uid, client_id, name, size, mime_type, nr)
		ORDER BY n.nr`, r, uuids(uids), clientIDs, names, sizes, nothing[:], now, types)
	switch database.Constraint(err) {
	case "reservations_objects_bounded":
		return transfer.ErrTooManyFiles
	case "objects_client_id_key":
		return transfer.ErrClientID
	}
	if err != nil {
		return fmt.Errorf("attach objects: %w", err)
	}
	return nil
}

// DiscardObjects removes the objects of unconfirmed reservations, all of them or only the one that the client calls
// clientID, gives their volume back to the months it was charged to, and notes their bytes for removal. It returns how
// many there were. The reservations are locked by the caller.
func (s *Store) DiscardObjects(ctx context.Context, reservations []id.Reservation, clientID string, now time.Time) (int, error) {
	const gone = ` FROM transfer.objects o JOIN transfer.reservations r ON r.uid = o.reservation
		WHERE r.uid = ANY ($1) AND r.state = 'open' AND ($2 = '' OR o.client_id = $2)`
	// Locked by a statement of its own, so that the next one sees what a writer that had to be waited for has charged.
	tag, err := s.q.Exec(ctx, `SELECT`+gone+` FOR UPDATE OF o`, uuids(reservations), clientID)
	if err != nil {
		return 0, fmt.Errorf("lock objects: %w", err)
	}
	charges, err := all[charge](s.q.Query(ctx, `
		WITH gone AS (
			SELECT o.uid, o.reservation, o.reserved, o.reserved_month, o.lease_until, r.owner, r.organization, r.limits_organization`+gone+`
		), parts AS (
			SELECT g.owner, g.organization, g.limits_organization, c.month, c.bytes AS held, 0 AS reserved
			FROM gone g JOIN transfer.object_charges c ON c.object = g.uid
			UNION ALL
			SELECT g.owner, g.organization, g.limits_organization, g.reserved_month, 0, g.reserved FROM gone g WHERE g.reserved > 0
		), counted AS (
			UPDATE transfer.reservations r SET object_count = r.object_count - t.n
			FROM (SELECT reservation, count(*) AS n FROM gone GROUP BY reservation) t
			WHERE r.uid = t.reservation
		), noted AS (
			INSERT INTO transfer.discarded_objects (object, discarded_at, busy_until) SELECT uid, $3, lease_until FROM gone
			ON CONFLICT ON CONSTRAINT discarded_objects_pkey DO NOTHING
		), deleted AS (
			DELETE FROM transfer.objects o USING gone g WHERE o.uid = g.uid
		)
		SELECT owner, organization, limits_organization, month, sum(held)::bigint AS held, sum(reserved)::bigint AS reserved
		FROM parts GROUP BY owner, organization, limits_organization, month`, uuids(reservations), clientID, now))
	if err != nil {
		return 0, fmt.Errorf("discard objects: %w", err)
	}
	return int(tag.RowsAffected()), s.giveBack(ctx, charges)
}

// DiscardedObjects returns up to limit keys whose bytes are to be removed and that nobody can be writing any more.
// Leases are real time, by the clock of the database.
func (s *Store) DiscardedObjects(ctx context.Context, limit int) ([]id.Object, error) {
	type discardedRow struct{ Object id.Object }
	rows, err := all[discardedRow](s.q.Query(ctx, `SELECT object FROM transfer.discarded_objects
		WHERE busy_until IS NULL OR busy_until < clock_timestamp() ORDER BY discarded_at LIMIT $1`, limit))
	if err != nil {
		return nil, fmt.Errorf("list discarded objects: %w", err)
	}
	out := make([]id.Object, len(rows))
	for i, r := range rows {
		out[i] = r.Object
	}
	return out, nil
}

// ForgetDiscarded notes that the bytes of these keys are gone.
func (s *Store) ForgetDiscarded(ctx context.Context, keys []id.Object) error {
	if _, err := s.q.Exec(ctx, `DELETE FROM transfer.discarded_objects WHERE object = ANY ($1)`, uuids(keys)); err != nil {
		return fmt.Errorf("forget discarded objects: %w", err)
	}
	return nil
}

// ObjectsKept returns which of keys are objects whose bytes belong here: not erased, not discarded.
func (s *Store) ObjectsKept(ctx context.Context, keys []id.Object) (map[id.Object]bool, error) {
	type keptRow struct{ UID id.Object }
	rows, err := all[keptRow](s.q.Query(ctx, `SELECT uid FROM transfer.objects WHERE uid = ANY ($1) AND name IS NOT NULL`, uuids(keys)))
	if err != nil {
		return nil, fmt.Errorf("look up objects: %w", err)
	}
	kept := make(map[id.Object]bool, len(rows))
	for _, r := range rows {
		kept[r.UID] = true
	}
	return kept, nil
}
