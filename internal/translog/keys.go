// The keys of the log: rotation, revocation, and a new SECRET_KEY.

package translog

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/proof"
)

// overlap is how long a replaced key goes on signing beside its successor, so that those who have pinned it learn the new one.
const overlap = 30 * 24 * time.Hour

// Key is a key of a log.
type Key struct {
	Origin     string
	PublicKey  []byte
	CreatedAt  time.Time
	SignsUntil *time.Time // nil: not replaced
	RevokedAt  *time.Time
	Open       bool // its log is the current one
}

// Verifier returns the key in the form of signed notes: origin+hash+base64.
func (k Key) Verifier() (string, error) { return proof.VerifierKey(k.Origin, k.PublicKey) }

// State returns "signing", "replaced" (signs beside its successor), "ended" or "revoked".
func (k Key) State(now time.Time) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked"
	case k.SignsUntil == nil && k.Open:
		return "signing"
	case k.SignsUntil != nil && now.Before(*k.SignsUntil) && k.Open:
		return "replaced"
	}
	return "ended"
}

// Keys returns the keys of all logs, newest first.
func (l *Log) Keys(ctx context.Context) ([]Key, error) {
	return database.All[Key](ctx, l.db.Pool, "list log keys", `
		SELECT g.origin, k.public_key, k.created_at, k.signs_until, k.revoked_at, g.closed_at IS NULL AS open
		FROM log.keys k JOIN log.logs g ON g.id = k.log ORDER BY k.id DESC`)
}

// Begin creates the first log, with its key, if there is none.
func (l *Log) Begin(ctx context.Context) error { return l.ensure(ctx) }

// Rotate replaces the key of the log. The old one signs beside the new one for 30 days; with revoke it ends at once.
func (l *Log) Rotate(ctx context.Context, revoke bool) (Key, error) {
	var public ed25519.PublicKey
	var r row
	err := l.db.InTx(ctx, func(tx database.Tx) error {
		if _, err := database.Exec(ctx, tx, "lock log keys", `LOCK TABLE log.keys IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
		var err error
		if r, err = l.current(ctx, tx); err != nil {
			return err
		}
		now := l.now()
		if _, err := database.Exec(ctx, tx, "replace log key", `
			UPDATE log.keys SET signs_until = coalesce(signs_until, $2), revoked_at = CASE WHEN $3 THEN $4 ELSE revoked_at END,
				private_key = CASE WHEN $3 OR signs_until < $4 THEN NULL ELSE private_key END
			WHERE log = $1 AND private_key IS NOT NULL`, r.ID, now.Add(overlap), revoke, now); err != nil {
			return err
		}
		public, err = l.insertKey(ctx, tx, r)
		return err
	})
	return Key{Origin: r.Origin, PublicKey: public, CreatedAt: l.now(), Open: true}, err
}

// Reseal encrypts the private keys under the current secret key and returns how many there are.
func (l *Log) Reseal(ctx context.Context) (int, error) {
	n := 0
	err := l.db.InTx(ctx, func(tx database.Tx) error {
		if _, err := database.Exec(ctx, tx, "lock log keys", `LOCK TABLE log.keys IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
		rows, err := database.All[keyRow](ctx, tx, "read log keys",
			`SELECT id, log, public_key, private_key FROM log.keys WHERE private_key IS NOT NULL`)
		if err != nil {
			return err
		}
		n = len(rows)
		for _, k := range rows {
			seed, err := l.open(k)
			if err != nil {
				return err
			}
			if _, err := database.Exec(ctx, tx, "store log key", `UPDATE log.keys SET private_key = $2 WHERE id = $1`, k.ID,
				l.box.Seal(seed, k.aad())); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// insertKey creates a key pair of a log.
func (l *Log) insertKey(ctx context.Context, tx database.Tx, r row) (ed25519.PublicKey, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate log key: %w", err)
	}
	k := keyRow{Log: r.ID, PublicKey: public}
	_, err = database.Exec(ctx, tx, "insert log key",
		`INSERT INTO log.keys (log, public_key, private_key, created_at) VALUES ($1, $2, $3, $4)`,
		r.ID, []byte(public), l.box.Seal(private.Seed(), k.aad()), l.now())
	return public, err
}

// keyRow is a row of log.keys that may sign.
type keyRow struct {
	ID                    int32
	Log                   int32
	PublicKey, PrivateKey []byte
}

// aad binds a sealed key to its log and public part.
func (k keyRow) aad() []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(k.Log)), k.PublicKey...)
}

func (l *Log) open(k keyRow) ([]byte, error) {
	seed, err := l.box.Open(k.PrivateKey, k.aad())
	if err != nil {
		return nil, fmt.Errorf("cannot decrypt the key of the transparency log: CONSIGN_SECRET_KEY is not the one that this database was "+
			"used with: %w", err)
	}
	return seed, nil
}

var errNoKey = errors.New("the transparency log has no key: run consign log rotate")

// signers returns the signers of a log: the newest key first, then replaced ones that still sign.
func (l *Log) signers(ctx context.Context, r row) ([]note.Signer, error) {
	rows, err := database.All[keyRow](ctx, l.db.Pool, "read log keys", `
		SELECT id, log, public_key, private_key FROM log.keys
		WHERE log = $1 AND private_key IS NOT NULL AND revoked_at IS NULL AND (signs_until IS NULL OR signs_until > $2)
			ORDER BY id DESC`, r.ID, l.now())
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errNoKey
	}
	signers := make([]note.Signer, len(rows))
	for i, k := range rows {
		seed, err := l.open(k)
		if err != nil {
			return nil, err
		}
		signers[i] = proof.NewSigner(r.Origin, ed25519.NewKeyFromSeed(seed))
	}
	return signers, nil
}
