package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

// OneTimeKey opens one download. It belongs to a delivery or to a person's session.
type OneTimeKey struct {
	KeyHash   []byte
	Transfer  id.Transfer
	Request   id.Request // instead of a transfer: its archive
	Object    id.Object  // zero: the archive
	Delivery  id.Delivery
	Person    id.Person
	Session   id.Session
	Epoch     int64
	ExpiresAt time.Time // start of the download at the latest
	StartedAt time.Time // zero: not yet
	Browser             // that started the download
}

// Browser identifies the client of a download with a one-time key (contract 4.17).
type Browser struct {
	CookieHash []byte // SHA-256 of its cookie
	Network    string // client network; empty: unknown, or the browser keeps cookies
}

// InsertOneTimeKey stores a new key.
func (s *Store) InsertOneTimeKey(ctx context.Context, k OneTimeKey, now time.Time) error {
	_, err := database.Exec(ctx, s.q, "store one-time key", `
		INSERT INTO transfer.one_time_keys (key_hash, transfer, object, delivery, person, session, epoch, created_at, expires_at, request)
		VALUES ($1, $2, $3, $4, $5, $6, CASE WHEN $5::uuid IS NOT NULL THEN $7::bigint END, $8, $9, $10)`,
		k.KeyHash, database.Null(k.Transfer), database.Null(k.Object), database.Null(k.Delivery), database.Null(k.Person),
		database.Null(k.Session), k.Epoch, now, k.ExpiresAt, database.Null(k.Request))
	return err
}

// OneTimeKey returns a key by its hash.
// Errors: transfer.ErrNotFound.
func (s *Store) OneTimeKey(ctx context.Context, hash []byte) (OneTimeKey, error) {
	return database.One[OneTimeKey](ctx, s.q, "find one-time key", transfer.ErrNotFound, `
		SELECT key_hash, transfer, request, object, delivery, person, session, coalesce(epoch, 0) AS epoch, expires_at,
			coalesce(started_at, `+zeroTime+`) AS started_at, cookie_hash, coalesce(client, '') AS network
		FROM transfer.one_time_keys WHERE key_hash = $1`, hash)
}

// StartDownload consumes a key for an answer of that many bytes, and binds it to the browser. It reports whether this call did: of
// parallel calls one succeeds.
func (s *Store) StartDownload(ctx context.Context, hash []byte, b Browser, bytes int64, now time.Time) (bool, error) {
	n, err := database.Exec(ctx, s.q, "use one-time key", `
		UPDATE transfer.one_time_keys SET started_at = $2, cookie_hash = $3, client = $4, sent = $5
		WHERE key_hash = $1 AND started_at IS NULL AND expires_at > $2`, hash, now, b.CookieHash, database.Null(b.Network), bytes)
	return n == 1, err
}

// ContinueDownload adds the bytes of an answer to those that a started key has sent, and reports whether they are within the budget.
func (s *Store) ContinueDownload(ctx context.Context, hash []byte, bytes, budget int64) (bool, error) {
	n, err := database.Exec(ctx, s.q, "continue download",
		`UPDATE transfer.one_time_keys SET sent = sent + $2 WHERE key_hash = $1 AND sent + $2 <= $3`, hash, bytes, budget)
	return n == 1, err
}

// ReturnUnsent takes bytes of an answer that ended early off those that a key has sent.
func (s *Store) ReturnUnsent(ctx context.Context, hash []byte, bytes int64) error {
	_, err := database.Exec(ctx, s.q, "return unsent bytes",
		`UPDATE transfer.one_time_keys SET sent = greatest(sent - $2, 0) WHERE key_hash = $1`, hash, bytes)
	return err
}

// HasObject reports whether an object is one of a reservation's.
func (s *Store) HasObject(ctx context.Context, r id.Reservation, o id.Object) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "find object", nil,
		`SELECT EXISTS (SELECT FROM transfer.objects WHERE uid = $1 AND reservation = $2)`, o, r)
}
