// Makes, rotates, revokes, reseals and erases signing keys.

package token

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/consign-dev/consign/internal/database"
)

// clockSkew is how far the clocks of replicas may differ. A key that is needed at once starts signing that long ago. Every
// key stays published that much longer than its tokens are valid.
const clockSkew = time.Minute

// Ensure brings the ring up to date. It creates a key that signs at once if no key can sign, publishes a successor when the
// last key is about to end, erases private parts that no longer sign, and deletes keys whose last token has expired. A
// server calls it before any other use of the ring; the rotation job repeats it several times per Lead. Replicas may call
// it concurrently.
func (r *KeyRing) Ensure(ctx context.Context) error {
	err := r.Load(ctx)
	if err == nil && !r.upToDate() { // avoids the table lock in the common case
		err = r.change(ctx, func(tx database.Tx) (string, error) {
			changed, err := r.maintain(ctx, tx)
			if err != nil {
				return "", err
			}
			filled, err := r.fill(ctx, tx, false)
			if err != nil || !changed && !filled {
				return "", err
			}
			return "changed", nil
		})
	}
	if err != nil {
		return fmt.Errorf("ensure signing keys: %w", err)
	}
	return nil
}

// Rotate publishes a new key for all kinds but uid tokens and returns it. The key starts signing after the Lead.
// Errors: when a usable key cannot be decrypted, because servers with another secret key could not decrypt the new key either and
// would not start again.
func (r *KeyRing) Rotate(ctx context.Context) (Key, error) {
	var k Key
	err := r.change(ctx, func(tx database.Tx) (string, error) {
		keys, err := r.selectKeys(ctx, tx)
		if err != nil {
			return "", err
		}
		if err := shut(keys, r.now()); err != nil {
			return "", err
		}
		k, err = r.insertKey(ctx, tx, purposeSession, r.now().Add(r.policy.Lead))
		return "changed", err
	})
	if err != nil {
		return Key{}, fmt.Errorf("rotate signing key: %w", err)
	}
	return k, nil
}

// Revoke voids a key and every token it signed, on all replicas, irrevocably. If it was the signing key, the same
// transaction makes another key sign. Revoking twice is not an error.
// Errors: ErrUnknownKey.
func (r *KeyRing) Revoke(ctx context.Context, kid string) error {
	err := r.change(ctx, func(tx database.Tx) (string, error) {
		err := database.Changed(ctx, tx, "void signing key", ErrUnknownKey, `
			UPDATE signing_keys SET revoked_at = coalesce(revoked_at, $2), private_key = NULL WHERE kid = $1`, kid, r.now())
		if err != nil {
			return "", err
		}
		_, err = r.fill(ctx, tx, true) // revoking all keys is the recovery from a lost secret key
		return revokedPrefix + kid, err
	})
	if err != nil {
		return fmt.Errorf("revoke signing key: %w", err)
	}
	return nil
}

// Reseal encrypts every private part under the current secret key and returns how many there are. Afterwards no signing
// key needs the previous secret key.
func (r *KeyRing) Reseal(ctx context.Context) (int, error) {
	n := 0
	err := r.change(ctx, func(tx database.Tx) (string, error) {
		keys, err := r.selectKeys(ctx, tx)
		if err != nil {
			return "", err
		}
		n = 0
		for _, k := range keys {
			if k.sealedShut {
				return "", shutError(k.KID)
			}
			if k.private == nil {
				continue
			}
			sealed, err := r.sealPrivate(k.KID, k.private)
			if err != nil {
				return "", err
			}
			if _, err := database.Exec(ctx, tx, "store private key", `UPDATE signing_keys SET private_key = $2 WHERE kid = $1`, k.KID,
				sealed); err != nil {
				return "", err
			}
			n++
		}
		return "changed", nil
	})
	if err != nil {
		return 0, fmt.Errorf("reseal signing keys: %w", err)
	}
	return n, nil
}

// List returns all keys, ordered by SignsFrom.
func (r *KeyRing) List(ctx context.Context) ([]Key, error) {
	keys, err := r.selectKeys(ctx, r.db.Pool)
	if err != nil {
		return nil, fmt.Errorf("list signing keys: %w", err)
	}
	return keys, nil
}

// Shut returns how many keys there are, and the identifiers of those in use that the secret keys of this process do not decrypt.
func (r *KeyRing) Shut(ctx context.Context) (all int, shut []string, err error) {
	keys, err := r.List(ctx)
	for _, k := range keys {
		if k.sealedShut && k.usable(r.now()) {
			shut = append(shut, k.KID)
		}
	}
	return len(keys), shut, err
}

// change runs fn under a table lock, notifies all replicas with the notice unless it is empty, and reloads.
func (r *KeyRing) change(ctx context.Context, fn func(tx database.Tx) (notice string, err error)) error {
	err := r.db.InTx(ctx, func(tx database.Tx) error {
		if _, err := database.Exec(ctx, tx, "lock signing keys", `LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
		notice, err := fn(tx)
		if err != nil || notice == "" {
			return err
		}
		return database.Notify(ctx, tx, keyChannel, notice)
	})
	if err != nil {
		return err
	}
	return r.Load(ctx)
}

// upToDate reports whether maintain and fill would change nothing, judged by the loaded keys.
func (r *KeyRing) upToDate() bool {
	now := r.now()
	usable := map[purpose][]Key{}
	for _, k := range *r.keys.Load() {
		switch {
		case k.sealedShut, !now.Before(k.PublishedUntil):
			return false
		case k.private != nil && k.SignsUntil.Before(r.policy.erased(now)):
			return false
		case k.private != nil && k.Purpose == string(purposeSession) && k.PublishedUntil.Before(k.SignsUntil.Add(r.policy.published())):
			return false
		case k.usable(now):
			usable[purpose(k.Purpose)] = append(usable[purpose(k.Purpose)], *k)
		}
	}
	return !slices.ContainsFunc(purposes, func(p purpose) bool { return r.policy.plan(usable[p], now) != step{} })
}

// published returns how long a session key stays published after its last signature.
func (p KeyPolicy) published() time.Duration { return p.LongestToken + clockSkew }

// erased returns the time before which a key must have stopped signing for its private part to be erased.
func (p KeyPolicy) erased(now time.Time) time.Time { return now.Add(-max(p.Lead, clockSkew)) }

// maintain updates the rows to the policy and the clock.
func (r *KeyRing) maintain(ctx context.Context, tx database.Tx) (changed bool, err error) {
	now := r.now()
	var b pgx.Batch // one round trip, because each start of a server waits for it
	queue := func(sql string, args ...any) {
		b.Queue(sql, args...).Exec(func(tag pgconn.CommandTag) error {
			changed = changed || tag.RowsAffected() > 0
			return nil
		})
	}
	// Token lifetimes may have been raised since the key was created.
	queue(`UPDATE signing_keys SET published_until = signs_until + $2::interval
		WHERE purpose = $1 AND private_key IS NOT NULL AND published_until < signs_until + $2::interval`,
		purposeSession, r.policy.published())
	queue(`UPDATE signing_keys SET private_key = NULL WHERE private_key IS NOT NULL AND signs_until < $1`, r.policy.erased(now))
	queue(`DELETE FROM signing_keys WHERE published_until <= $1`, now)
	err = tx.SendBatch(ctx, &b).Close()
	return changed, err
}

// fill creates the missing keys. Unless passShut is set, it fails when a usable key cannot be decrypted: the operator
// should restore the secret key instead of replacing the signing key.
func (r *KeyRing) fill(ctx context.Context, tx database.Tx, passShut bool) (changed bool, err error) {
	keys, err := r.selectKeys(ctx, tx)
	if err != nil {
		return false, err
	}
	now := r.now()
	if err := shut(keys, now); err != nil && !passShut {
		return false, err
	}
	for _, p := range purposes {
		var usable []Key
		for _, k := range keys {
			if k.Purpose == string(p) && k.usable(now) && !k.sealedShut {
				usable = append(usable, k)
			}
		}
		step := r.policy.plan(usable, now)
		if step.extend != "" {
			_, err := database.Exec(ctx, tx, "extend signing key", `
				UPDATE signing_keys SET published_until = published_until + ($2 - signs_until), signs_until = $2 WHERE kid = $1`,
				step.extend, step.from)
			if err != nil {
				return false, err
			}
		}
		if !step.from.IsZero() {
			if _, err := r.insertKey(ctx, tx, p, step.from); err != nil {
				return false, err
			}
			changed = true
		}
	}
	return changed, nil
}

// step is the result of plan.
type step struct {
	from   time.Time // create a key that signs from then; zero: none
	extend string    // kid of the key that must sign until then; empty: none
}

// plan decides on the next key, given those of one purpose that sign now or later.
func (p KeyPolicy) plan(keys []Key, now time.Time) step {
	var last Key
	current := false
	for _, k := range keys {
		current = current || !now.Before(k.SignsFrom)
		if k.SignsUntil.After(last.SignsUntil) {
			last = k
		}
	}
	switch {
	case !current:
		return step{from: now.Add(-clockSkew)}
	case last.SignsUntil.Sub(now) > p.Lead+p.Lead/4: // the quarter covers the interval of the rotation job
		return step{}
	}
	if from := now.Add(p.Lead); from.After(last.SignsUntil) {
		return step{from: from, extend: last.KID}
	}
	return step{from: last.SignsUntil}
}

// insertKey creates and stores a key pair that signs from that time.
func (r *KeyRing) insertKey(ctx context.Context, tx database.Tx, p purpose, from time.Time) (Key, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Key{}, fmt.Errorf("generate signing key: %w", err)
	}
	public, err := private.PublicKey.Bytes()
	if err != nil {
		return Key{}, fmt.Errorf("encode public key: %w", err)
	}
	longest := r.policy.LongestToken
	if p == purposeUID {
		longest = UIDLifetime
	}
	sum := sha256.Sum256(public)
	now := r.now()
	until := from.Add(r.policy.Lifetime)
	if from.Before(now) {
		until = now.Add(r.policy.Lifetime)
	}
	k := Key{
		KID: hex.EncodeToString(sum[:16]), Purpose: string(p), CreatedAt: now, SignsFrom: from, SignsUntil: until,
		PublishedUntil: until.Add(longest + clockSkew), public: &private.PublicKey, private: private,
	}
	sealed, err := r.sealPrivate(k.KID, private)
	if err != nil {
		return Key{}, err
	}
	_, err = database.Exec(ctx, tx, "insert signing key", `
		INSERT INTO signing_keys (kid, purpose, public_key, private_key, created_at, signs_from, signs_until, published_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		k.KID, k.Purpose, public, sealed, k.CreatedAt, k.SignsFrom, k.SignsUntil, k.PublishedUntil)
	return k, err
}

// sealPrivate encrypts the private part with the kid as associated data, so that it cannot be moved to another row.
func (r *KeyRing) sealPrivate(kid string, private *ecdsa.PrivateKey) ([]byte, error) {
	b, err := private.Bytes()
	if err != nil {
		return nil, fmt.Errorf("encode private key: %w", err)
	}
	return r.box.Seal(b, []byte(kid)), nil
}

func (r *KeyRing) openPrivate(kid string, sealed []byte) (*ecdsa.PrivateKey, error) {
	b, err := r.box.Open(sealed, []byte(kid))
	if err != nil {
		return nil, err
	}
	return ecdsa.ParseRawPrivateKey(elliptic.P256(), b)
}

// usable reports whether the key signs now or later.
func (k Key) usable(now time.Time) bool { return k.RevokedAt == nil && now.Before(k.SignsUntil) }

// shut returns an error if a usable key cannot be decrypted.
func shut(keys []Key, now time.Time) error {
	for _, k := range keys {
		if k.sealedShut && k.usable(now) {
			return shutError(k.KID)
		}
	}
	return nil
}

func shutError(kid string) error {
	return fmt.Errorf("cannot decrypt signing key %s: CONSIGN_SECRET_KEY is not the one that this database was used with, or was changed "+
		"without CONSIGN_SECRET_KEY_PREVIOUS", kid)
}

// selectKeys returns all rows ordered by signs_from.
func (r *KeyRing) selectKeys(ctx context.Context, q database.Querier) ([]Key, error) {
	rows, err := database.All[keyRow](ctx, q, "read signing keys", `
		SELECT kid, purpose, public_key, private_key, created_at, signs_from, signs_until, published_until, revoked_at
		FROM signing_keys ORDER BY signs_from, kid`)
	keys := make([]Key, len(rows))
	for i, row := range rows {
		if keys[i], err = r.open(row); err != nil {
			return nil, err
		}
	}
	return keys, err
}

// keyRow is a row of signing_keys.
type keyRow struct {
	Key
	PublicKey  []byte
	PrivateKey []byte // sealed; nil: the key no longer signs
}

// open decodes the parts of a key. A private part that does not decrypt is not an error.
func (r *KeyRing) open(row keyRow) (k Key, err error) {
	k = row.Key
	if k.public, err = ecdsa.ParseUncompressedPublicKey(elliptic.P256(), row.PublicKey); err != nil {
		return Key{}, fmt.Errorf("read public key %s: %w", k.KID, err)
	}
	if row.PrivateKey != nil {
		k.private, err = r.openPrivate(k.KID, row.PrivateKey)
		k.sealedShut = err != nil
	}
	return k, nil
}
