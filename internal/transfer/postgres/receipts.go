package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/translog"
)

// Receipt is a statement about a transfer that the transparency log proves.
type Receipt struct {
	Transfer  id.Transfer
	Kind      string
	Entry     []byte // SHA-256 of the statement
	Body      []byte // the statement, or its beginning; nil: erased
	Readers   []id.Person
	Named     []id.Person // persons with an account whom it names
	CreatedAt time.Time

	SenderKeyHash   []byte    // SHA-256 of the key in the link of its sender; nil: there is none
	SenderCheckedAt time.Time // when the sender's address was checked; zero: it was not
}

// receiptColumns are a Receipt.
const receiptColumns = `transfer, kind, entry, body, readers, named, created_at, sender_key_hash,
	coalesce(sender_checked_at, ` + zeroTime + `) AS sender_checked_at`

// InsertReceipt stores a statement and queues it for the log, in one round trip.
func (s *Store) InsertReceipt(ctx context.Context, r Receipt) error {
	var b pgx.Batch
	b.Queue(`
		INSERT INTO transfer.receipts (transfer, kind, entry, body, readers, named, created_at, sender_key_hash, sender_checked_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		r.Transfer, r.Kind, r.Entry, r.Body, r.Readers, r.Named, r.CreatedAt, r.SenderKeyHash, database.Null(r.SenderCheckedAt))
	translog.Append(&b, r.Entry)
	if err := s.q.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("store receipt: %w", err)
	}
	return nil
}

// InsertReceiptPart stores a further part of a long receipt. Parts count from 1.
func (s *Store) InsertReceiptPart(ctx context.Context, t id.Transfer, part int, body []byte) error {
	_, err := database.Exec(ctx, s.q, "store part of receipt", `INSERT INTO transfer.receipt_parts (transfer, part, body) VALUES ($1, $2, $3)`,
		t, part, body)
	return err
}

// Receipt returns a statement about a transfer. With a reader it returns only what this person may read, or as an administrator of an
// organization whose limits the transfer used.
// Errors: transfer.ErrNotFound.
func (s *Store) Receipt(ctx context.Context, t id.Transfer, kind string, reader id.Person, as id.Organization) (Receipt, error) {
	return database.One[Receipt](ctx, s.q, "find receipt", transfer.ErrNotFound, `
		SELECT `+receiptColumns+` FROM transfer.receipts WHERE transfer = $1 AND kind = $2 AND ($3::uuid IS NULL OR $3 = ANY (readers)
			OR $4 = (SELECT d.organization FROM transfer.receipts d WHERE d.transfer = $1 AND d.kind = 'delivered'))`,
		t, kind, database.Null(reader), database.Null(as))
}

// Answered returns a transfer with its answers; the zero one when it is erased.
func (s *Store) Answered(ctx context.Context, t id.Transfer) (transfer.Transfer, error) {
	list, err := database.All[transfer.Transfer](ctx, s.q, "find transfer",
		`SELECT `+transferColumns+` FROM transfer.transfers t WHERE t.uid = $1`, t)
	if err != nil || len(list) == 0 {
		return transfer.Transfer{}, err
	}
	return list[0], nil
}

// ReceiptPart returns a part of a long receipt, nil after the last one.
func (s *Store) ReceiptPart(ctx context.Context, t id.Transfer, part int) ([]byte, error) {
	return database.Scalar[[]byte](ctx, s.q, "read part of receipt", nil,
		`SELECT body FROM transfer.receipt_parts WHERE transfer = $1 AND part = $2`, t, part)
}

// EraseReceipts erases the statements about transfers, all but their hashes, and returns how many there were. The certificate of an erasure
// stays: it names nobody. What the rules of an organization keep for longer stays as by a hold. gone loses access; zero: nobody.
func (s *Store) EraseReceipts(ctx context.Context, transfers []id.Transfer, gone id.Person, now time.Time) (int, error) {
	if err := s.keepLeast(ctx, "receipts", transfers, now); err != nil {
		return 0, err
	}
	return database.Exec(ctx, s.q, "erase receipts", `
		WITH parts AS (DELETE FROM transfer.receipt_parts WHERE transfer = ANY ($1))
		UPDATE transfer.receipts SET body = CASE WHEN kind = 'erased' THEN body END, readers = array_remove(readers, $2),
			named = array_remove(named, $2), sender_key_hash = NULL, sender_checked_at = NULL, erased_at = $3
		WHERE transfer = ANY ($1)`, transfers, database.Null(gone), now)
}

// EraseReceiptsNaming erases up to limit statements that name a person, with all others about the same transfers. It returns the
// transfers. It locks the statements, so one that is made meanwhile is erased, too (InsertStatements).
func (s *Store) EraseReceiptsNaming(ctx context.Context, p id.Person, limit int, now time.Time) ([]id.Transfer, error) {
	found, err := database.Scalars[id.Transfer](ctx, s.q, "list receipts",
		`SELECT transfer FROM transfer.receipts WHERE named @> ARRAY [$1::uuid] AND named <> '{}' LIMIT $2 FOR UPDATE`, p, limit)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	_, err = s.EraseReceipts(ctx, found, p, now)
	return found, err
}
