package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// Resettable is a person whose password can be reset.
type Resettable struct {
	Person   id.Person
	Name     string
	Locale   string
	TimeZone string
	Home
}

// Resettable returns the person with a password and this verified address. The address must be the primary one or must
// have been verified before since.
// Errors: identity.ErrResetRefused.
func (s *Store) Resettable(ctx context.Context, address string, since time.Time) (Resettable, error) {
	return database.One[Resettable](ctx, s.q, "look up resettable", identity.ErrResetRefused, `
		SELECT p.uid AS person, coalesce(p.name, '') AS name, p.locale, p.time_zone, `+homeColumns+`
		FROM identity.addresses a
		JOIN identity.persons p ON p.uid = a.person AND p.deleted_at IS NULL
		JOIN identity.authenticators b ON b.person = p.uid AND b.type = 'bcrypt'
		JOIN (`+homeTables+`) ON h.person = p.uid
		WHERE a.address = $1 AND a.verified_at IS NOT NULL AND (a.is_primary OR a.verified_at <= $2)`, address, since)
}

// InsertResetKey stores a reset key that is mailed to address. Call it with the person locked.
// Errors: identity.ErrResetRefused when the person no longer has the address.
func (s *Store) InsertResetKey(ctx context.Context, p id.Person, address string, hash []byte, expires time.Time) error {
	return database.Changed(ctx, s.q, "insert reset key", identity.ErrResetRefused, `
		INSERT INTO identity.reset_keys (key_hash, person, address, expires_at)
		SELECT $1, person, address, $4 FROM identity.addresses WHERE person = $2 AND address = $3 AND verified_at IS NOT NULL`,
		hash, p, address, expires)
}

// HasResetKey reports whether a reset key that was mailed to an address is valid.
func (s *Store) HasResetKey(ctx context.Context, p id.Person, address string, now time.Time) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "look up reset key", nil, `
		SELECT EXISTS (SELECT FROM identity.reset_keys WHERE person = $1 AND address = $2 AND expires_at > $3)`, p, address, now)
}

// PersonOfResetKey returns the person that a reset key is for. Keys of a suspended person are mailed as ever, and unknown.
// Errors: identity.ErrKeyNotFound.
func (s *Store) PersonOfResetKey(ctx context.Context, hash []byte, now time.Time) (id.Person, error) {
	return database.Scalar[id.Person](ctx, s.q, "find reset key", identity.ErrKeyNotFound, `
		SELECT k.person FROM identity.reset_keys k JOIN identity.persons p ON p.uid = k.person AND p.suspended_at IS NULL
		WHERE k.key_hash = $1 AND k.expires_at > $2`, hash, now)
}

// TakeResetKey consumes a reset key, deletes the person's other reset keys and invalidates the device cookies. If the key was mailed
// to the primary address, that address counts as verified again. Call it with the person locked.
// Errors: identity.ErrKeyNotFound.
func (s *Store) TakeResetKey(ctx context.Context, p id.Person, hash []byte, now time.Time) error {
	return database.Changed(ctx, s.q, "take reset key", identity.ErrKeyNotFound, `
		WITH taken AS (
			SELECT address FROM identity.reset_keys WHERE person = $1 AND key_hash = $2
		), changed AS (
			UPDATE identity.persons p SET device_epoch = p.device_epoch + 1,
			       email_proved_at = CASE WHEN a.is_primary AND a.verified_at IS NOT NULL THEN $3 ELSE p.email_proved_at END
			FROM taken LEFT JOIN identity.addresses a ON a.person = $1 AND a.address = taken.address
			WHERE p.uid = $1
		)
		DELETE FROM identity.reset_keys WHERE person = $1 AND EXISTS (SELECT FROM taken)`, p, hash, now)
}
