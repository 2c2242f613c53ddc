package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/translog"
)

// PersonErasure is the erasure of a deleted account: what was erased and, once it is stated, the certificate.
type PersonErasure struct {
	transfer.ErasedAccount
	Entry []byte // SHA-256 of the certificate; nil: nothing is stated yet
	Body  []byte
}

// personErasureColumns are a PersonErasure.
const personErasureColumns = `person, reason, deleted_at, mailboxes, requests, received, files, sent, receipts, entry, body`

// BeginErasure stores that a person's data is about to be erased. keyHash is of the key in the link to the certificate.
func (s *Store) BeginErasure(ctx context.Context, p id.Person, reason string, keyHash []byte, now time.Time) error {
	_, err := database.Exec(ctx, s.q, "begin erasure of person", `
		INSERT INTO transfer.person_erasures (person, reason, deleted_at, key_hash, mailboxes, requests)
		SELECT $1, $2, $3, $4, (SELECT count(*) FROM transfer.mailboxes WHERE person = $1),
			(SELECT count(*) FROM transfer.requests WHERE owner = $1)`, p, reason, now, keyHash)
	return err
}

// ErasedTransfers are the transfers of which a transaction has erased what a person had: as a recipient, as the sender, and receipts.
type ErasedTransfers struct{ Received, Sent, Receipts []id.Transfer }

// NoteErased adds what a transaction has erased of a person to the certificate, and returns how much that is. It does nothing for accounts
// without a certificate.
func (s *Store) NoteErased(ctx context.Context, p id.Person, e ErasedTransfers) (int, error) {
	all := slices.Concat(e.Received, e.Sent, e.Receipts)
	if len(all) == 0 {
		return 0, nil
	}
	_, err := database.Exec(ctx, s.q, "count erasure of person", `
		UPDATE transfer.person_erasures SET received = received + coalesce(cardinality($2::uuid[]), 0), sent = sent + $3,
			receipts = receipts + $4,
			files = files + (SELECT count(*) FROM transfer.erasing e, unnest(e.contents) c WHERE e.transfer = ANY ($2) AND e.reason = $5
				AND NOT EXISTS (SELECT FROM transfer.shared_contents x WHERE x.content = c))
		WHERE person = $1`, p, e.Received, len(e.Sent), len(e.Receipts), transfer.ErasedWithAccount)
	if err != nil {
		return 0, err
	}
	return len(all), s.AwaitHeld(ctx, p, all)
}

// AwaitHeld notes those transfers or open reservations of a person that a hold keeps, after they were erased.
func (s *Store) AwaitHeld(ctx context.Context, p id.Person, transfers []id.Transfer) error {
	_, err := database.Exec(ctx, s.q, "note held data of person", `
		INSERT INTO transfer.held_erasures (person, subject)
		SELECT DISTINCT e.person, s.subject FROM transfer.person_erasures e, hold_scope s
		WHERE e.person = $1 AND (s.kind = 'transfer' AND s.subject = ANY ($2) OR s.kind = 'reservation' AND s.subject IN (
			SELECT r.uid FROM transfer.reservations r WHERE r.owner = $1 AND r.state = 'open'))
		ON CONFLICT DO NOTHING`, p, transfers)
	return err
}

// FinishErasure stores that all rows of a person are erased, and reports whether that is so: unfinished uploads end in a job.
func (s *Store) FinishErasure(ctx context.Context, p id.Person, now time.Time) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "finish erasure of person", nil, `
		WITH left_over AS (SELECT FROM transfer.reservations WHERE owner = $1 AND state = 'open' LIMIT 1), finished AS (
			UPDATE transfer.person_erasures SET finished_at = $2
			WHERE person = $1 AND finished_at IS NULL AND NOT EXISTS (SELECT FROM left_over)
		)
		SELECT NOT EXISTS (SELECT FROM left_over)`, p, now)
}

// ErasedPersons returns up to limit accounts of which neither rows nor stored bytes nor copies of holds are left, and of which nothing is
// stated yet. It locks them and skips locked ones. Bytes are gone when none wait for the purge that were discarded before the rows were
// erased, but those that a hold keeps for others.
func (s *Store) ErasedPersons(ctx context.Context, after id.Person, limit int) ([]PersonErasure, error) {
	return database.All[PersonErasure](ctx, s.q, "list erased persons", `
		SELECT `+personErasureColumns+` FROM transfer.person_erasures e
		WHERE e.entry IS NULL AND e.finished_at IS NOT NULL AND e.person > $1
			AND NOT EXISTS (SELECT FROM hold_scope s WHERE s.subject = e.person AND s.kind IN ('person', 'mailbox'))
			AND NOT EXISTS (SELECT FROM transfer.held_erasures h JOIN hold_scope s ON s.subject = h.subject AND s.kind IN ('transfer', 'reservation')
				WHERE h.person = e.person)
			AND NOT EXISTS (SELECT FROM transfer.discarded_objects d WHERE d.discarded_at <= e.finished_at
				AND NOT EXISTS (SELECT FROM hold_contents c WHERE c.content = d.object))
		ORDER BY e.person LIMIT $2 FOR UPDATE OF e SKIP LOCKED`, after, limit)
}

// StateErasure stores the certificate of a locked account and queues it for the log.
func (s *Store) StateErasure(ctx context.Context, e PersonErasure) error {
	_, err := database.Exec(ctx, s.q, "state erasure of person", `
		WITH held AS (DELETE FROM transfer.held_erasures WHERE person = $1)
		UPDATE transfer.person_erasures SET entry = $2, body = $3 WHERE person = $1`, e.Person, e.Entry, e.Body)
	if err != nil {
		return err
	}
	return translog.AppendAll(ctx, s.tx, [][]byte{e.Entry})
}

// PersonErasure returns the erasure of an account.
// Errors: transfer.ErrNotFound.
func (s *Store) PersonErasure(ctx context.Context, p id.Person) (PersonErasure, error) {
	return database.One[PersonErasure](ctx, s.q, "find erasure of person", transfer.ErrNotFound,
		`SELECT `+personErasureColumns+` FROM transfer.person_erasures WHERE person = $1`, p)
}

// LinkedErasure is PersonErasure for the key in a link, by its SHA-256.
// Errors: transfer.ErrNotFound.
func (s *Store) LinkedErasure(ctx context.Context, keyHash []byte) (PersonErasure, error) {
	return database.One[PersonErasure](ctx, s.q, "find erasure of person", transfer.ErrNotFound,
		`SELECT `+personErasureColumns+` FROM transfer.person_erasures WHERE key_hash = $1`, keyHash)
}
