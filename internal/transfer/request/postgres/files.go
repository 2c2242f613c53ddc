// SQL of the reservations of parties and of their files.

package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/request"
)

// OpenReservation returns the open reservation of a party; zero: there is none.
func (s *Store) OpenReservation(ctx context.Context, party id.Party, now time.Time) (id.Reservation, error) {
	return database.Scalar[id.Reservation](ctx, s.q, "find reservation of party", nil,
		`SELECT uid FROM transfer.reservations WHERE party = $1 AND state = 'open' AND expires_at > $2`, party, now)
}

// InsertReservation stores a reservation of a locked party. It has the answers of the last one. An expired one that waits for its deletion
// gives way. It counts among the open reservations of strangers: at the request, which bounds their bytes as a mailbox does.
func (s *Store) InsertReservation(ctx context.Context, r transfer.Reservation) error {
	_, err := database.Exec(ctx, s.q, "store reservation of party", `
		WITH expired AS (
			UPDATE transfer.reservations SET request = NULL, party = NULL WHERE party = $2 AND state = 'open' AND expires_at <= $13 RETURNING uid
		), r AS (
			INSERT INTO transfer.reservations (uid, type, owner, organization, limits_organization, subject, anon_sender, anon_email, locale, ttl,
				protection, max_files, max_file_size_mb, max_recipients, created_at, expires_at, request, party, fields)
			SELECT $1::uuid, 'mailbox', $3::uuid, $4::uuid, $5::uuid, $6, $7, $8, $9, $10::integer, $11, $14::integer, $15::bigint, 1,
				$13::timestamptz, $16::timestamptz, $12::uuid, $2::uuid,
				(SELECT l.fields FROM transfer.reservations l WHERE l.request = $12 AND l.party = $2 AND l.state = 'confirmed'
					ORDER BY l.created_at DESC LIMIT 1)
			WHERE (SELECT count(*) FROM expired) >= 0
			RETURNING uid, organization, limits_organization, expires_at
		)
		INSERT INTO transfer.stranger_reservations (reservation, owner, organization, limits_organization, expires_at)
		SELECT uid, $12, organization, limits_organization, expires_at FROM r`,
		r.UID, r.Party, r.Owner, database.Null(r.Organization), r.LimitsOrganization, r.Subject, r.AnonSender, r.AnonEmail,
		database.Null(r.Locale), r.TTL, r.Protection, r.Request, r.CreatedAt, r.MaxFiles, r.MaxFileSizeMB, r.ExpiresAt)
	return err
}

// scanState is the state of the inspection of object o.
const scanState = `coalesce((SELECT i.state FROM transfer.inspections i WHERE i.content = coalesce(o.content, o.uid)), '')`

// File is a file of a party.
type File struct {
	Party       id.Party
	Item        id.Item
	Object      id.Object
	ClientID    string
	Name        string
	Size        int64
	Held        int64
	MIMEType    string
	Malware     transfer.ScanState // empty: unscanned
	Reservation id.Reservation
	Transfer    id.Transfer // zero: not handed in
	HandedInAt  *time.Time
}

const fileColumns = `r.party, o.item, o.uid AS object, o.client_id, coalesce(o.name, '') AS name, o.intended_size AS size, o.held,
	coalesce(o.mime_type, '') AS mime_type, ` + scanState + ` AS malware, r.uid AS reservation`

// latest selects reservations r with transfers t that have an item's files of the last time it was handed in, as object o.
const latest = `transfer.reservations r JOIN transfer.transfers t ON t.reservation = r.uid AND t.ended_at IS NULL
	JOIN transfer.objects o ON o.reservation = r.uid AND o.item IS NOT NULL`

// isLatest is true of the files of the last time.
const isLatest = `NOT EXISTS (SELECT FROM transfer.reservations n
	JOIN transfer.transfers u ON u.reservation = n.uid AND u.created_at > t.created_at
	JOIN transfer.objects k ON k.reservation = n.uid AND k.item = o.item WHERE n.request = r.request AND n.party = r.party)`

// HandedIn returns the files that parties of a request, or one of them, have handed in: of each item those of the last time.
func (s *Store) HandedIn(ctx context.Context, r id.Request, party id.Party) ([]File, error) {
	return database.All[File](ctx, s.q, "list files of request", `
		SELECT `+fileColumns+`, t.uid AS transfer, t.created_at AS handed_in_at
		FROM `+latest+` WHERE r.request = $1 AND ($2::uuid IS NULL OR r.party = $2) AND `+isLatest+` ORDER BY o.position`,
		r, database.Null(party))
}

// Saved returns the files of the open reservation of a party.
func (s *Store) Saved(ctx context.Context, r id.Reservation) ([]File, error) {
	return database.All[File](ctx, s.q, "list files of party", `
		SELECT `+fileColumns+`, NULL::uuid AS transfer, NULL::timestamptz AS handed_in_at
		FROM transfer.reservations r JOIN transfer.objects o ON o.reservation = r.uid AND NOT o.partial WHERE r.uid = $1 AND o.item IS NOT NULL
		ORDER BY o.position`, r)
}

// SavedItems returns the items for which a reservation has files.
func (s *Store) SavedItems(ctx context.Context, r id.Reservation) ([]id.Item, error) {
	return database.Scalars[id.Item](ctx, s.q, "list items of reservation", `
		SELECT DISTINCT o.item FROM transfer.objects o WHERE o.reservation = $1 AND o.item IS NOT NULL AND NOT o.partial`, r)
}

// CountFiles returns how many files a locked reservation has for each item.
func (s *Store) CountFiles(ctx context.Context, r id.Reservation) (map[id.Item]int, error) {
	type counted struct {
		Item id.Item
		N    int
	}
	list, err := database.All[counted](ctx, s.q, "count files of items", `
		SELECT o.item, count(*) AS n FROM transfer.objects o WHERE o.reservation = $1 AND o.item IS NOT NULL AND NOT o.partial
		GROUP BY o.item`, r)
	out := make(map[id.Item]int, len(list))
	for _, c := range list {
		out[c.Item] = c.N
	}
	return out, err
}

// Stored is a file of an archive with the gate of its transfer.
type Stored struct {
	transfer.Gate
	Party     id.Party
	Item      id.Item
	Object    id.Object
	Content   id.Object
	Name      string
	Held      int64
	CRC32     uint32
	SHA256    []byte
	Damaged   bool
	Segmented bool
	Scan      *transfer.Scan
}

// StoredFiles returns the files of an archive of a request, as HandedIn does.
func (s *Store) StoredFiles(ctx context.Context, r id.Request) ([]Stored, error) {
	return database.All[Stored](ctx, s.q, "list files of archive", `
		SELECT r.party, o.item, o.uid AS object, coalesce(o.content, o.uid) AS content, coalesce(o.name, '') AS name, o.held, o.crc32,
			o.sha256, EXISTS (SELECT FROM transfer.damaged_contents d WHERE d.content = coalesce(o.content, o.uid)) AS damaged,
			o.segmented, coalesce(t.held_states, '{}') AS held_states, coalesce(t.held_rules, '{}') AS held_rules, t.held_anyway,
			(SELECT json_build_object('State', i.state, 'Rules', i.rules, 'Removed', i.removed_at IS NOT NULL)
				FROM transfer.inspections i WHERE i.content = coalesce(o.content, o.uid)) AS scan
		FROM `+latest+` WHERE r.request = $1 AND `+isLatest+` ORDER BY r.party, o.position`, r)
}

// Received is one hand-in of a party.
type Received struct {
	Transfer    id.Transfer
	Reservation id.Reservation
	At          time.Time
	Files       int
}

// HandIns returns when a party has handed in, oldest first.
func (s *Store) HandIns(ctx context.Context, p request.Party) ([]Received, error) {
	return database.All[Received](ctx, s.q, "list hand-ins of party", `
		SELECT t.uid AS transfer, r.uid AS reservation, t.created_at AS at, t.object_count AS files
		FROM transfer.reservations r JOIN transfer.transfers t ON t.reservation = r.uid
		WHERE r.request = $1 AND r.party = $2 ORDER BY t.created_at`, p.Request, p.UID)
}
