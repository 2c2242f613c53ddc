package postgres

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// CountDownload counts a download of an object.
func (s *Store) CountDownload(ctx context.Context, o id.Object) error {
	_, err := database.Exec(ctx, s.q, "count download", `UPDATE transfer.objects SET downloads = downloads + 1 WHERE uid = $1`, o)
	return err
}

// CountDownloads counts a download of each of some objects, in the order of their uids.
func (s *Store) CountDownloads(ctx context.Context, objects []id.Object) error {
	_, err := database.Exec(ctx, s.q, "count downloads", `
		WITH o AS (SELECT uid FROM transfer.objects WHERE uid = ANY ($1) ORDER BY uid FOR NO KEY UPDATE)
		UPDATE transfer.objects SET downloads = downloads + 1 FROM o WHERE objects.uid = o.uid`, objects)
	return err
}

// CountArchive counts a download of all objects of a transfer at once.
func (s *Store) CountArchive(ctx context.Context, t id.Transfer) error {
	_, err := database.Exec(ctx, s.q, "count download", `UPDATE transfer.transfers SET archives = archives + 1 WHERE uid = $1`, t)
	return err
}

// DownloadedItem is what a recipient downloads: an object, the archive of all objects of a transfer, or an archive of some.
type DownloadedItem struct {
	Transfer id.Transfer
	Delivery id.Delivery
	Item     uuid.UUID   // an object; the transfer for the archive of all; else made from Objects
	Objects  []id.Object // of an archive of some; else nil
	Size     int64       // bytes
}

// contained returns the objects that a download contains; nil: all.
func (d DownloadedItem) contained() []id.Object {
	if d.Objects == nil && d.Item != d.Transfer.UUID {
		return []id.Object{{UUID: d.Item}}
	}
	return d.Objects
}

// Bounds of what a recipient can make the database store: archives of different objects, and addresses of one row.
const (
	maxSelections = "1000"
	maxAddresses  = "5"
	maxParts      = "64"
)

const (
	// livingTransfer is the transfer of a download, unless it has ended.
	livingTransfer = `t AS (SELECT max_downloads, max_total_downloads FROM transfer.transfers WHERE uid = $1 AND ended_at IS NULL)`

	// roomForItem is false when a recipient has downloaded too many different archives of some objects.
	roomForItem = `room AS (SELECT CASE WHEN $5::uuid[] IS NULL THEN true ELSE (
			SELECT count(*) FROM transfer.downloads x WHERE x.transfer = $1 AND x.delivery = $3 AND x.objects IS NOT NULL AND x.item <> $2
		) < ` + maxSelections + ` END AS enough)`

	// countDownload counts a download that the expression table allowed has a row for.
	countDownload = `d AS (
			UPDATE transfer.deliveries SET downloads = downloads + 1, downloaded_at = $8 WHERE uid = $3 AND EXISTS (SELECT FROM allowed)
				RETURNING uid
		), x AS (
			INSERT INTO transfer.downloads AS x (transfer, item, delivery, day, objects, size, downloads, sent, began_at, last_at, addresses)
			SELECT $1, $2, d.uid, $4, $5, $6, 1, $7, $8, $8, array_remove(ARRAY[$9::inet], NULL) FROM d, room WHERE room.enough
			ON CONFLICT ON CONSTRAINT downloads_pkey DO UPDATE SET downloads = x.downloads + 1, sent = x.sent + excluded.sent,
				last_at = excluded.last_at,
				addresses = CASE WHEN excluded.addresses <@ x.addresses OR cardinality(x.addresses) >= ` + maxAddresses +
		` THEN x.addresses ELSE x.addresses || excluded.addresses END
		)
		SELECT EXISTS (SELECT FROM t) AND EXISTS (SELECT FROM transfer.deliveries WHERE uid = $3) AS present, EXISTS (SELECT FROM d) AS counted`
)

// Counted is the result of counting a download.
type Counted struct {
	Present bool // the transfer has not ended, and the recipient was not removed
	Counted bool
}

// CountDelivery counts a download by the recipient of a delivery, whose answer has that many bytes. It locks no other rows than those of
// the recipient.
func (s *Store) CountDelivery(ctx context.Context, d DownloadedItem, bytes int64, from netip.Addr, now time.Time) (Counted, error) {
	return database.One[Counted](ctx, s.q, "count download", nil, `
		WITH `+livingTransfer+`, `+roomForItem+`, allowed AS (SELECT FROM t), `+countDownload,
		d.Transfer, d.Item, d.Delivery, day(now), d.Objects, d.Size, bytes, now, address(from))
}

// CountLimited is CountDelivery within the limits of the transfer. Of parallel last downloads one is counted. It locks the transfer.
func (s *Store) CountLimited(ctx context.Context, d DownloadedItem, bytes int64, from netip.Addr, now time.Time) (Counted, error) {
	lock := database.Statement{SQL: `SELECT FROM transfer.transfers WHERE uid = $1 FOR NO KEY UPDATE`, Args: []any{d.Transfer}}
	return database.OneLocked[Counted](ctx, s.q, "count download", nil, lock, `
		WITH `+livingTransfer+`, `+roomForItem+`, before AS (`+usage+`), allowed AS (
			SELECT FROM t, room, before
			WHERE room.enough AND (t.max_downloads IS NULL OR before.own < t.max_downloads) AND (t.max_total_downloads IS NULL
				OR before.total < t.max_total_downloads)
		), `+countDownload,
		d.Transfer, d.Item, d.Delivery, day(now), d.Objects, d.Size, bytes, now, address(from), d.contained())
}

// usage selects the highest number of downloads that one object of transfer $1 has, by recipient $3 and by all recipients. $10 restricts it
// to some objects.
const usage = `
	SELECT coalesce(max(own) FILTER (WHERE object <> $1), 0) + coalesce(max(own) FILTER (WHERE object = $1), 0) AS own,
		coalesce(max(total) FILTER (WHERE object <> $1), 0) + coalesce(max(total) FILTER (WHERE object = $1), 0) AS total
	FROM (
		SELECT i.object, sum(x.downloads) FILTER (WHERE x.delivery = $3) AS own, sum(x.downloads) AS total
		FROM transfer.downloads x CROSS JOIN LATERAL unnest(coalesce(x.objects, ARRAY[x.item])) AS i (object)
		WHERE x.transfer = $1 AND (i.object = $1 OR $10::uuid[] IS NULL OR i.object = ANY ($10))
		GROUP BY i.object
	) u`

// Exhausted reports whether the limits of a transfer refuse another download.
func (s *Store) Exhausted(ctx context.Context, d DownloadedItem) (bool, error) {
	own := strings.NewReplacer("$10", "$3", "$3", "$2").Replace(usage)
	return database.Scalar[bool](ctx, s.q, "look at limits", nil, `
		SELECT coalesce(before.own >= t.max_downloads, false) OR coalesce(before.total >= t.max_total_downloads, false)
		FROM transfer.transfers t, (`+own+`) before WHERE t.uid = $1`, d.Transfer, d.Delivery, d.contained())
}

// ContinueCounted adds the bytes of an answer that begins after the first byte to those of the counted downloads. It reports whether they
// fit: each counted download may send budget times its size.
func (s *Store) ContinueCounted(ctx context.Context, d DownloadedItem, bytes, budget int64, now time.Time) (bool, error) {
	n, err := database.Exec(ctx, s.q, "continue download", `
		UPDATE transfer.downloads x SET sent = sent + $4, last_at = $6
		WHERE transfer = $1 AND item = $2 AND delivery = $3 AND sent + $4 <= $5 * size * downloads AND day = (`+lastDay+`)
			AND EXISTS (SELECT FROM transfer.transfers t WHERE t.uid = $1 AND t.ended_at IS NULL)
			AND EXISTS (SELECT FROM transfer.deliveries d WHERE d.uid = $3)`, d.Transfer, d.Item, d.Delivery, bytes, budget, now)
	return n == 1, err
}

// lastDay selects the day of the newest row of item $2.
const lastDay = `SELECT max(day) FROM transfer.downloads WHERE transfer = $1 AND item = $2 AND delivery = $3`

// SentPart is what an answer has sent of a download.
type SentPart struct {
	First, End int64 // a part that was sent without gaps; empty: unknown
	Correction int64 // bytes by which more were sent than counted before
}

// Sent is what a recipient has got after an answer.
type Sent struct {
	Complete bool // all bytes of the item were sent
	Whole    bool // recipients have downloaded everything, which was not stated yet
}

// RecordSent records what an answer has sent, once it has ended. In a transfer with more than most objects, Whole looks at the archive
// only.
func (s *Store) RecordSent(ctx context.Context, d DownloadedItem, p SentPart, most int, now time.Time) (Sent, error) {
	return database.One[Sent](ctx, s.q, "record download", nil, `
		WITH `+roomForItem+`, p AS (SELECT CASE WHEN $9::bigint > $8::bigint THEN int8multirange(int8range($8, $9)) ELSE '{}' END AS part), x AS (
			INSERT INTO transfer.downloads AS x (transfer, item, delivery, day, objects, size, downloads, sent, ranges, began_at, last_at,
				completed_at)
			SELECT $1, $2, $3, coalesce((`+lastDay+
		`), $4), $5, $6, 0, greatest($7, 0), p.part, $10, $10, CASE WHEN p.part @> int8range(0, $6) THEN $10::timestamptz END
			FROM p, room WHERE room.enough AND EXISTS (SELECT FROM transfer.transfers WHERE uid = $1)
			ON CONFLICT ON CONSTRAINT downloads_pkey DO UPDATE SET sent = greatest(x.sent + $7, 0), last_at = excluded.last_at,
				ranges = CASE WHEN (SELECT count(*) FROM unnest(x.ranges + excluded.ranges)) > `+maxParts+
		` THEN x.ranges ELSE x.ranges + excluded.ranges END,
				completed_at = coalesce(x.completed_at, CASE WHEN x.ranges + excluded.ranges @> int8range(0, x.size) THEN excluded.last_at END)
			RETURNING completed_at
		)
		SELECT coalesce((SELECT completed_at IS NOT NULL FROM x), false) AS complete, `+wholly+` AS whole
		FROM (SELECT) one LEFT JOIN transfer.transfers t ON t.uid = $1`,
		d.Transfer, d.Item, d.Delivery, day(now), d.Objects, d.Size, p.Correction, p.First, p.End, now, most)
}

// day returns the day (UTC) of a time.
func day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// address returns a client's address as the audit log stores it; nil when it is unknown.
func address(a netip.Addr) any { return database.Null(a.Unmap().WithZone("")) }

// FirstAccess is the first access to a transfer: its recipient, and how to notify its sender.
type FirstAccess struct {
	SeenTransfer // as the sender sees it
	Recipient    transfer.Delivery
	SenderEmail  string // of the sender's account, else of the transfer
	SenderLang   string // of the same
	SenderZone   string // of the sender's account
	SenderHost   string // home host of the sender's account; empty without one
}

// RecordAccess records that a delivery was opened. first is false, and the result zero, when any recipient has opened the transfer
// before. The transfer is locked before the delivery.
func (s *Store) RecordAccess(ctx context.Context, d id.Delivery, from netip.Addr, now time.Time) (a FirstAccess, first bool, err error) {
	a, err = database.One[FirstAccess](ctx, s.q, "record access", nil, `
		WITH opened AS (
			SELECT t.uid FROM transfer.transfers t WHERE t.uid = (SELECT transfer FROM transfer.deliveries WHERE uid = $1 AND accessed_at IS NULL)
			FOR NO KEY UPDATE
		), d AS (
			UPDATE transfer.deliveries d SET accessed_at = $2, accessed_from = $3 FROM opened WHERE d.uid = $1 AND d.transfer = opened.uid
				AND d.accessed_at IS NULL
			RETURNING d.uid, d.transfer, d.person, d.name, d.email, d.destination_type
		), t AS (
			UPDATE transfer.transfers t SET state = 'accessed', accessed_at = $2 FROM d
			WHERE t.uid = d.transfer AND t.state = 'delivered'
			RETURNING t.*
		)
		SELECT `+transferColumns+`, `+noticeColumns+`, t.sender_managed AS as_sender, d.uid AS delivery, `+deliveryJSON+` AS recipient,
			coalesce(p.email, t.sender_email, '') AS sender_email, coalesce(p.time_zone, '') AS sender_zone,
			coalesce(p.host, '') AS sender_host, coalesce(CASE WHEN p.email IS NULL THEN t.sender_locale ELSE p.locale END, '') AS sender_lang
		FROM t JOIN d ON d.transfer = t.uid
		LEFT JOIN directory.persons p ON p.person = t.sender AND t.sender_managed`, d, now, address(from))
	return a, !a.UID.IsZero(), err
}

// MarkUndelivered records that a delivery's mail failed permanently. notify is false, and the result zero, unless the transfer's
// sender has an account that can be notified.
func (s *Store) MarkUndelivered(ctx context.Context, d id.Delivery, now time.Time) (a FirstAccess, notify bool, err error) {
	a, err = database.One[FirstAccess](ctx, s.q, "mark undelivered", nil, `
		WITH d AS (
			UPDATE transfer.deliveries SET undelivered_at = $2 WHERE uid = $1 AND undelivered_at IS NULL RETURNING transfer
		)
		SELECT `+transferColumns+`, `+noticeColumns+`, true AS as_sender, NULL::uuid AS delivery, '{}'::json AS recipient,
			p.email AS sender_email, p.locale AS sender_lang, p.time_zone AS sender_zone,
			coalesce(p.host, '') AS sender_host
		FROM d JOIN transfer.transfers t ON t.uid = d.transfer
		JOIN directory.persons p ON p.person = t.sender AND t.sender_managed AND p.email IS NOT NULL`, d, now)
	return a, !a.UID.IsZero(), err
}

// pattern returns a LIKE pattern that finds s anywhere, "" for "".
func pattern(s string) string {
	if s == "" {
		return ""
	}
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s) + "%"
}

// GotAll reports whether a recipient has got all objects of a transfer: each alone, or in archives.
func (s *Store) GotAll(ctx context.Context, t id.Transfer, d id.Delivery) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "look at downloads", nil, `
		WITH got AS (
			SELECT i.object FROM transfer.downloads x CROSS JOIN LATERAL unnest(coalesce(x.objects, ARRAY[x.item])) AS i (object)
			WHERE x.transfer = $1 AND x.delivery = $2 AND x.completed_at IS NOT NULL
		)
		SELECT EXISTS (SELECT FROM got WHERE object = $1) OR NOT EXISTS (
			SELECT FROM transfer.transfers t JOIN transfer.objects o ON o.reservation = t.reservation WHERE t.uid = $1
				AND o.uid NOT IN (SELECT object FROM got))`, t, d)
}
