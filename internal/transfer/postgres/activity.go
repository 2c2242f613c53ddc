package postgres

import (
	"context"
	"net/netip"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// Use is what a recipient did with a transfer: the first access, or the downloads of one item on one day.
type Use struct {
	At        time.Time // first
	Key       string    // orders uses of the same time
	Opened    bool      // the first access; else downloads
	Delivery  id.Delivery
	Archive   bool        // of all objects
	Objects   []id.Object // that were downloaded, alone or together
	Downloads int32
	Bytes     int64
	Last      time.Time
	Complete  bool
	Addresses []netip.Addr
}

// UsePosition is a position in the list of uses, newest first.
type UsePosition struct {
	At  time.Time
	Key string
}

// Uses returns up to limit uses of a transfer before a position and not before since, newest first.
func (s *Store) Uses(ctx context.Context, t id.Transfer, before UsePosition, since time.Time, limit int) ([]Use, error) {
	return database.All[Use](ctx, s.q, "list uses", `
		SELECT * FROM (
			SELECT x.began_at AS at, 'd' || x.day || x.delivery || x.item AS key, false AS opened, x.delivery, x.item = x.transfer AS archive,
				CASE WHEN x.item = x.transfer THEN NULL ELSE coalesce(x.objects, ARRAY[x.item]) END AS objects,
				x.downloads, x.sent AS bytes, x.last_at AS last, x.completed_at IS NOT NULL AS complete, x.addresses
			FROM transfer.downloads x WHERE x.transfer = $1
			UNION ALL
			SELECT d.accessed_at, 'o' || d.uid, true, d.uid, false, NULL, 0, 0, d.accessed_at, false, array_remove(ARRAY[d.accessed_from], NULL)
			FROM transfer.deliveries d WHERE d.transfer = $1 AND d.accessed_at IS NOT NULL
		) u
		WHERE at >= $2 AND (at, key COLLATE "C") < ($3, $4) ORDER BY at DESC,
			key COLLATE "C" DESC LIMIT $5`, t, since, before.At, before.Key, limit)
}

// AuditAbout returns entries of the audit log about a transfer.
func (s *Store) AuditAbout(ctx context.Context, a audit.About) ([]audit.Record, error) {
	return audit.ListAbout(ctx, s.q, a)
}

// ObjectNames returns the names of those objects whose transfers have not ended.
func (s *Store) ObjectNames(ctx context.Context, uids []id.Object) (map[id.Object]string, error) {
	if len(uids) == 0 {
		return nil, nil
	}
	list, err := database.All[transfer.ObjectName](ctx, s.q, "list names",
		`SELECT uid, name FROM transfer.objects WHERE uid = ANY ($1) AND name IS NOT NULL`, uids)
	names := make(map[id.Object]string, len(list))
	for _, n := range list {
		names[n.UID] = n.Name
	}
	return names, err
}

// ForgetAddresses clears up to limit addresses of recipients that were recorded before a time, of downloads and first accesses each. It
// returns their number.
func (s *Store) ForgetAddresses(ctx context.Context, before time.Time, limit int) (int, error) {
	return database.Scalar[int](ctx, s.q, "forget addresses", nil, `
		WITH x AS (
			UPDATE transfer.downloads x SET addresses = '{}' FROM (
				SELECT transfer, item, delivery, day FROM transfer.downloads WHERE day < $1 AND addresses <> '{}'
					ORDER BY day LIMIT $2 FOR UPDATE SKIP LOCKED
			) due WHERE x.transfer = due.transfer AND x.item = due.item AND x.delivery = due.delivery AND x.day = due.day RETURNING x.day
		), d AS (
			UPDATE transfer.deliveries d SET accessed_from = NULL FROM (
				SELECT uid FROM transfer.deliveries WHERE accessed_at < $1 AND accessed_from IS NOT NULL
					ORDER BY accessed_at LIMIT $2 FOR UPDATE SKIP LOCKED
			) due WHERE d.uid = due.uid RETURNING d.uid
		)
		SELECT (SELECT count(*) FROM x)::int + (SELECT count(*) FROM d)::int`, day(before), limit)
}
