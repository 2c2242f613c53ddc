package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/id"
)

// OneTimeKey opens one download. It is a delivery's, or that of a person's session.
type OneTimeKey struct {
	KeyHash   []byte
	Transfer  id.Transfer
	Object    id.Object // zero: the archive
	Delivery  id.Delivery
	Person    id.Person
	Session   id.Session
	Epoch     int64
	ExpiresAt time.Time // when it must have started
	StartedAt time.Time // zero: not yet
}

// InsertOneTimeKey stores a new key.
func (s *Store) InsertOneTimeKey(ctx context.Context, k OneTimeKey, now time.Time) error {
	var epoch *int64
	if !k.Person.IsZero() {
		epoch = &k.Epoch
	}
	_, err := s.q.Exec(ctx, `
		INSERT INTO transfer.one_time_keys (key_hash, transfer, object, delivery, person, session, epoch, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		k.KeyHash, k.Transfer, opt(k.Object), opt(k.Delivery), opt(k.Person), opt(k.Session), epoch, now, k.ExpiresAt)
	if err != nil {
		return fmt.Errorf("store one-time key: %w", err)
	}
	return nil
}

// OneTimeKey returns a key by its hash. ErrNotFound.
func (s *Store) OneTimeKey(ctx context.Context, hash []byte) (OneTimeKey, error) {
	type keyRow struct {
		Transfer  id.Transfer
		Object    id.Object
		Delivery  id.Delivery
		Person    id.Person
		Session   id.Session
		Epoch     *int64
		ExpiresAt time.Time
		StartedAt *time.Time
	}
	r, err := one[keyRow](s.q.Query(ctx, `
		SELECT transfer, object, delivery, person, session, epoch, expires_at, started_at FROM transfer.one_time_keys WHERE key_hash = $1`, hash))
	if err != nil {
		return OneTimeKey{}, fmt.Errorf("find one-time key: %w", err)
	}
	return OneTimeKey{
		KeyHash: hash, Transfer: r.Transfer, Object: r.Object, Delivery: r.Delivery, Person: r.Person,
		Session: r.Session, Epoch: or(r.Epoch), ExpiresAt: r.ExpiresAt, StartedAt: or(r.StartedAt),
	}, nil
}

// StartDownload uses a key up. It reports whether it was this call that did.
func (s *Store) StartDownload(ctx context.Context, hash []byte, now time.Time) (bool, error) {
	tag, err := s.q.Exec(ctx, `UPDATE transfer.one_time_keys SET started_at = $2 WHERE key_hash = $1 AND started_at IS NULL AND expires_at > $2`, hash, now)
	if err != nil {
		return false, fmt.Errorf("use one-time key: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// HasObject reports whether an object is one of a reservation's.
func (s *Store) HasObject(ctx context.Context, r id.Reservation, o id.Object) (bool, error) {
	var has bool
	if err := s.q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM transfer.objects WHERE uid = $1 AND reservation = $2)`, o, r).Scan(&has); err != nil {
		return false, fmt.Errorf("find object: %w", err)
	}
	return has, nil
}
