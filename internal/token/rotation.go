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

// clockSkew is how far the clocks of replicas may differ: a key that is needed at once begins that long ago, and stays
// published that much longer than its tokens live.
const clockSkew = time.Minute

// Ensure brings the ring up to date: where no key can sign it makes one that signs at once, where the last one is about
// to end it publishes its successor, it erases private parts that sign no more and deletes keys whose last token has
// expired. It is the first thing a server does with a ring, and what the rotation job repeats, several times a Lead.
// Any number of replicas may call it at once.
func (r *KeyRing) Ensure(ctx context.Context) error {
	err := r.Load(ctx)
	if err == nil && !r.upToDate() { // seldom: else nobody waits for the lock
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

// Rotate publishes a new key for all kinds but uid tokens at once; it signs after the Lead. It returns the key. Under another secret
// key than the servers have it fails: they could not open the new one, and would not start again.
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

// Revoke voids a key and every token it signed, on all replicas at once, for good. If it was the one that signs, another
// takes over in the same transaction. Revoking twice is no error. It returns ErrUnknownKey.
func (r *KeyRing) Revoke(ctx context.Context, kid string) error {
	err := r.change(ctx, func(tx database.Tx) (string, error) {
		tag, err := tx.Exec(ctx, `
			UPDATE signing_keys SET revoked_at = coalesce(revoked_at, $2), private_key = NULL WHERE kid = $1`, kid, r.now())
		if err != nil {
			return "", err
		}
		if tag.RowsAffected() == 0 {
			return "", ErrUnknownKey
		}
		_, err = r.fill(ctx, tx, true) // revoking is the way out when the secret key is lost
		return revokedPrefix + kid, err
	})
	if err != nil {
		return fmt.Errorf("revoke signing key: %w", err)
	}
	return nil
}

// Reseal seals every private part anew under the current secret key, after which the previous one is not needed for them.
// It returns how many there were.
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
			if _, err := tx.Exec(ctx, `UPDATE signing_keys SET private_key = $2 WHERE kid = $1`, k.KID, sealed); err != nil {
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

// List returns all keys, those that sign last at the end.
func (r *KeyRing) List(ctx context.Context) ([]Key, error) {
	keys, err := r.selectKeys(ctx, r.db.Pool)
	if err != nil {
		return nil, fmt.Errorf("list signing keys: %w", err)
	}
	return keys, nil
}

// change runs fn as the only writer of the table, tells all replicas what fn says unless that is empty, and reloads.
func (r *KeyRing) change(ctx context.Context, fn func(tx database.Tx) (notice string, err error)) error {
	err := r.db.InTx(ctx, func(tx database.Tx) error {
		if _, err := tx.Exec(ctx, `LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE`); err != nil {
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

// upToDate says whether maintain and fill would find nothing to do, by the keys that were loaded.
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

// published is how long a key of the purpose session stays published after its last signature.
func (p KeyPolicy) published() time.Duration { return p.LongestToken + clockSkew }

// erased is before when a key must have ended signing for its private part to be erased.
func (p KeyPolicy) erased(now time.Time) time.Time { return now.Add(-max(p.Lead, clockSkew)) }

// maintain keeps the rows in step with the policy and the clock.
func (r *KeyRing) maintain(ctx context.Context, tx database.Tx) (changed bool, err error) {
	now := r.now()
	var b pgx.Batch // one way to Postgres and back for all: each start of a server waits for it
	queue := func(sql string, args ...any) {
		b.Queue(sql, args...).Exec(func(tag pgconn.CommandTag) error {
			changed = changed || tag.RowsAffected() > 0
			return nil
		})
	}
	// Token lifetimes may have been raised since the key was made.
	queue(`UPDATE signing_keys SET published_until = signs_until + $2::interval
		WHERE purpose = $1 AND private_key IS NOT NULL AND published_until < signs_until + $2::interval`,
		purposeSession, r.policy.published())
	queue(`UPDATE signing_keys SET private_key = NULL WHERE private_key IS NOT NULL AND signs_until < $1`, r.policy.erased(now))
	queue(`DELETE FROM signing_keys WHERE published_until <= $1`, now)
	err = tx.SendBatch(ctx, &b).Close()
	return changed, err
}

// fill makes the keys that are missing. Unless passShut, it fails when there is one that should sign but does not open:
// rather than replace it, the operator should restore the secret key.
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
			_, err := tx.Exec(ctx, `
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

// step is what plan finds to do: make a key that signs from a time (zero: nothing), and let the key extend, if any, sign
// until then.
type step struct {
	from   time.Time
	extend string
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
	case last.SignsUntil.Sub(now) > p.Lead+p.Lead/4: // the quarter is the job's time to come around
		return step{}
	}
	if from := now.Add(p.Lead); from.After(last.SignsUntil) {
		return step{from: from, extend: last.KID}
	}
	return step{from: last.SignsUntil}
}

// insertKey makes a key pair that signs from a time on and stores it.
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
	k.header = encodeHeader(k.KID)
	sealed, err := r.sealPrivate(k.KID, private)
	if err != nil {
		return Key{}, err
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO signing_keys (kid, purpose, public_key, private_key, created_at, signs_from, signs_until, published_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		k.KID, k.Purpose, public, sealed, k.CreatedAt, k.SignsFrom, k.SignsUntil, k.PublishedUntil)
	if err != nil {
		return Key{}, fmt.Errorf("insert signing key: %w", err)
	}
	return k, nil
}

// sealPrivate binds the private part to its row, so that it cannot be passed off as another's.
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

// usable says whether the key signs now or will.
func (k Key) usable(now time.Time) bool { return k.RevokedAt == nil && now.Before(k.SignsUntil) }

// shut fails where a key that signs now or later does not open.
func shut(keys []Key, now time.Time) error {
	for _, k := range keys {
		if k.sealedShut && k.usable(now) {
			return shutError(k.KID)
		}
	}
	return nil
}

func shutError(kid string) error {
	return fmt.Errorf("signing key %s does not open: CONSIGN_SECRET_KEY is not the one that this database was used with, or was changed without CONSIGN_SECRET_KEY_PREVIOUS", kid)
}

// selectKeys reads the table, ordered by when keys begin to sign.
func (r *KeyRing) selectKeys(ctx context.Context, q database.Querier) ([]Key, error) {
	rows, err := q.Query(ctx, `
		SELECT kid, purpose, public_key, private_key, created_at, signs_from, signs_until, published_until, revoked_at
		FROM signing_keys ORDER BY signs_from, kid`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Key, error) {
		var k Key
		var public, sealed []byte
		err := row.Scan(&k.KID, &k.Purpose, &public, &sealed,
			&k.CreatedAt, &k.SignsFrom, &k.SignsUntil, &k.PublishedUntil, &k.RevokedAt)
		if err != nil {
			return Key{}, err
		}
		if k.public, err = ecdsa.ParseUncompressedPublicKey(elliptic.P256(), public); err != nil {
			return Key{}, fmt.Errorf("read public key %s: %w", k.KID, err)
		}
		if sealed == nil {
			return k, nil
		}
		k.private, err = r.openPrivate(k.KID, sealed)
		k.sealedShut = err != nil
		k.header = encodeHeader(k.KID)
		return k, nil
	})
}
