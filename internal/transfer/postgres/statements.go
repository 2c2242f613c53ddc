package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/translog"
)

// ReceiptsOf returns the receipts of those transfers that have one, also an erased one if so wanted.
func (s *Store) ReceiptsOf(ctx context.Context, transfers []id.Transfer, erased bool) ([]Receipt, error) {
	return database.All[Receipt](ctx, s.q, "list receipts", `
		SELECT transfer, kind, entry, NULL::bytea AS body, readers, named, created_at, NULL::bytea AS sender_key_hash,
			`+zeroTime+` AS sender_checked_at
		FROM transfer.receipts
		WHERE transfer = ANY ($1) AND kind = $2 AND (body IS NOT NULL OR $3) ORDER BY transfer`, transfers, transfer.StatedDelivered, erased)
}

// InsertStatements stores statements of one kind about transfers and queues them for the log. A transfer that has one of this kind keeps
// it. It leaves named empty: the erasure of a person finds a transfer by the row of its delivery. It locks that row, so the erasure of a
// reader comes wholly before or wholly after it (EraseReceiptsNaming).
func (s *Store) InsertStatements(ctx context.Context, kind string, statements []Receipt, now time.Time) error {
	if len(statements) == 0 {
		return nil
	}
	entries, err := database.Scalars[[]byte](ctx, s.q, "store statements", `
		WITH locked AS (
			SELECT r.transfer, r.readers FROM transfer.receipts r WHERE r.transfer = ANY ($2) AND r.kind = 'delivered'
			ORDER BY r.transfer FOR SHARE
		)
		INSERT INTO transfer.receipts (transfer, kind, entry, body, readers, named, created_at)
		SELECT r.transfer, $1, n.entry, n.body, r.readers, '{}', $5
		FROM unnest($2::uuid[], $3::bytea[], $4::bytea[]) AS n (transfer, entry, body) JOIN locked r ON r.transfer = n.transfer
		ON CONFLICT ON CONSTRAINT receipts_pkey DO NOTHING RETURNING entry`, kind,
		column(statements, func(r Receipt) id.Transfer { return r.Transfer }),
		column(statements, func(r Receipt) []byte { return r.Entry }),
		column(statements, func(r Receipt) []byte { return r.Body }), now)
	if err != nil {
		return err
	}
	return translog.AppendAll(ctx, s.tx, entries)
}

// Erased is a transfer that is erased.
type Erased struct {
	Transfer  id.Transfer
	Contents  int       // stored files
	Reason    string    // empty: an older version ended it
	DeletedAt time.Time // when it ended; zero: its record is deleted
}

// TakeErased returns up to limit ended transfers all of whose bytes are deleted, ordered by uid, beginning after the uid given, and forgets
// them.
func (s *Store) TakeErased(ctx context.Context, after id.Transfer, limit int) ([]Erased, error) {
	if _, err := database.Exec(ctx, s.q, "plan", planOnce.SQL); err != nil { // the tables are empty most of the time
		return nil, err
	}
	return database.All[Erased](ctx, s.q, "take erasures", `
		WITH taken AS (
			DELETE FROM transfer.erasing WHERE ctid = ANY (ARRAY (
				SELECT e.ctid FROM transfer.erasing e
				WHERE e.transfer > $1 AND NOT EXISTS (SELECT FROM transfer.discarded_objects d WHERE d.object = ANY (e.contents))
					AND NOT EXISTS (SELECT FROM transfer.shared_contents c WHERE c.content = ANY (e.contents))
				ORDER BY e.transfer LIMIT $2 FOR UPDATE OF e SKIP LOCKED))
			RETURNING transfer, cardinality(contents) AS contents, coalesce(reason, '') AS reason
		)
		SELECT k.*, coalesce(t.ended_at, `+zeroTime+`) AS deleted_at FROM taken k LEFT JOIN transfer.transfers t ON t.uid = k.transfer
		ORDER BY k.transfer`, after, limit)
}

// wholly is true when each object of transfer t was downloaded, or its archive, and this was not stated yet. Of transfers with more than
// $11 objects only the archive counts.
const wholly = `coalesce((t.archives > 0 OR t.object_count <= $11 AND t.object_count = (SELECT count(*) FROM transfer.objects o WHERE o.reservation = t.reservation AND o.downloads > 0))
	AND NOT EXISTS (SELECT FROM transfer.receipts r WHERE r.transfer = t.uid AND r.kind = 'downloaded'), false)`
