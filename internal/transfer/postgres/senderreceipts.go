package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// Happening is a statement about a transfer: its kind, and when it was made.
type Happening struct {
	Kind string
	At   time.Time
}

// SenderReceipt returns the receipt of the sender's link with that hash.
// Errors: transfer.ErrNotFound.
func (s *Store) SenderReceipt(ctx context.Context, keyHash []byte) (Receipt, error) {
	return database.One[Receipt](ctx, s.q, "find receipt of sender", transfer.ErrNotFound,
		`SELECT `+receiptColumns+` FROM transfer.receipts WHERE sender_key_hash = $1`, keyHash)
}

// Happenings returns what was stated about a transfer after its delivery, oldest first.
func (s *Store) Happenings(ctx context.Context, t id.Transfer) ([]Happening, error) {
	return database.All[Happening](ctx, s.q, "list statements", `
		SELECT kind, created_at AS at FROM transfer.receipts
		WHERE transfer = $1 AND kind <> $2 AND body IS NOT NULL ORDER BY created_at, kind`, t, transfer.StatedDelivered)
}

// VerifySenderOf marks the address of a transfer's sender as checked and returns who receives the transfer: none when its record is
// deleted. It locks the transfer.
func (s *Store) VerifySenderOf(ctx context.Context, t id.Transfer) ([]id.Person, error) {
	return database.Scalars[id.Person](ctx, s.q, "verify sender", `
		WITH verified AS (UPDATE transfer.transfers SET sender_verified = true WHERE uid = $1 RETURNING uid)
		SELECT d.person FROM verified v JOIN transfer.deliveries d ON d.transfer = v.uid WHERE d.person IS NOT NULL`, t)
}

// ProveSender stores when the address of a receipt's sender was checked. It reports whether it did: of parallel calls one does.
func (s *Store) ProveSender(ctx context.Context, keyHash []byte, now time.Time) (bool, error) {
	n, err := database.Exec(ctx, s.q, "prove sender", `
		UPDATE transfer.receipts SET sender_checked_at = $2
		WHERE sender_key_hash = $1 AND sender_checked_at IS NULL`, keyHash, now)
	return n == 1, err
}
