package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/translog"
)

// ReceiptsOf returns the receipts of those transfers that have one which is not erased.
func (s *Store) ReceiptsOf(ctx context.Context, transfers []id.Transfer) ([]Receipt, error) {
	return database.All[Receipt](ctx, s.q, "list receipts", `
		SELECT transfer, kind, entry, NULL::bytea AS body, readers, named, created_at FROM transfer.receipts
		WHERE transfer = ANY ($1) AND kind = $2 AND body IS NOT NULL ORDER BY transfer`, transfers, transfer.StatedDelivered)
}

// InsertStatements stores statements of one kind about transfers and queues them for the log. A transfer that has one of this kind keeps it.
func (s *Store) InsertStatements(ctx context.Context, kind string, statements []Receipt, now time.Time) error {
	if len(statements) == 0 {
		return nil
	}
	entries, err := database.Scalars[[]byte](ctx, s.q, "store statements", `
		INSERT INTO transfer.receipts (transfer, kind, entry, body, readers, named, created_at)
		SELECT r.transfer, $1, n.entry, n.body, r.readers, r.named, $5
		FROM unnest($2::uuid[], $3::bytea[], $4::bytea[]) AS n (transfer, entry, body)
		JOIN transfer.receipts r ON r.transfer = n.transfer AND r.kind = 'delivered'
		ON CONFLICT ON CONSTRAINT receipts_pkey DO NOTHING RETURNING entry`, kind,
		column(statements, func(r Receipt) id.Transfer { return r.Transfer }),
		column(statements, func(r Receipt) []byte { return r.Entry }),
		column(statements, func(r Receipt) []byte { return r.Body }), now)
	if err != nil {
		return err
	}
	return translog.AppendAll(ctx, s.tx, entries)
}

// ExpectErasure notes ended transfers, whose erasure is certified once their bytes are deleted.
func (s *Store) ExpectErasure(ctx context.Context, transfers []id.Transfer) error {
	_, err := database.Exec(ctx, s.q, "note erasures", `
		INSERT INTO transfer.erasures (transfer, reservation)
		SELECT t.uid, t.reservation FROM transfer.transfers t JOIN transfer.receipts r ON r.transfer = t.uid AND r.kind = 'delivered'
		WHERE t.uid = ANY ($1) ON CONFLICT ON CONSTRAINT erasures_pkey DO NOTHING`, transfers)
	return err
}

// TakeErased returns up to limit noted transfers all of whose bytes are deleted, and forgets them.
func (s *Store) TakeErased(ctx context.Context, limit int) ([]id.Transfer, error) {
	return database.Scalars[id.Transfer](ctx, s.q, "take erasures", `
		DELETE FROM transfer.erasures WHERE transfer IN (
			SELECT e.transfer FROM transfer.erasures e
			WHERE NOT EXISTS (SELECT FROM transfer.objects o JOIN transfer.discarded_objects d ON d.object = coalesce(o.content, o.uid) WHERE o.reservation = e.reservation)
				AND NOT EXISTS (SELECT FROM transfer.objects o JOIN transfer.shared_contents c ON c.content = coalesce(o.content, o.uid) WHERE o.reservation = e.reservation)
			ORDER BY e.transfer LIMIT $1 FOR UPDATE SKIP LOCKED)
		RETURNING transfer`, limit)
}

// wholly is true when each object of transfer t was downloaded, or its archive, and this was not stated yet. Of transfers with more than
// $11 objects only the archive counts.
const wholly = `coalesce((t.archives > 0 OR t.object_count <= $11 AND NOT EXISTS (SELECT FROM transfer.objects o WHERE o.reservation = t.reservation AND o.downloads = 0))
	AND NOT EXISTS (SELECT FROM transfer.receipts r WHERE r.transfer = t.uid AND r.kind = 'downloaded'), false)`
