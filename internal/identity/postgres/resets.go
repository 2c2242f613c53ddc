package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// Resettable is a person whose password can be reset.
type Resettable struct {
	Person       id.Person
	Name         string
	Locale       string
	TimeZone     string
	Organization id.Organization // whose host the person is at home at
	Host         string          // that host, for the link
}

// Resettable finds the person with a verified address and a password. Errors: identity.ErrResetRefused.
func (s *Store) Resettable(ctx context.Context, address string) (Resettable, error) {
	return one[Resettable](ctx, s.q, "look up resettable", identity.ErrResetRefused, `
		SELECT p.uid AS person, coalesce(p.name, '') AS name, p.locale, p.time_zone, h.organization, coalesce(h.host, '') AS host
		FROM identity.addresses a
		JOIN identity.persons p ON p.uid = a.person AND p.deleted_at IS NULL
		JOIN identity.authenticators b ON b.person = p.uid AND b.type = 'bcrypt'
		JOIN identity.homes h ON h.person = p.uid
		WHERE a.address = $1 AND a.verified_at IS NOT NULL`, address)
}

// InsertResetKey stores a reset key that was mailed to address.
func (s *Store) InsertResetKey(ctx context.Context, p id.Person, address string, hash []byte, expires time.Time) error {
	_, err := s.exec(ctx, "insert reset key", `
		INSERT INTO identity.reset_keys (key_hash, person, address, expires_at) VALUES ($1, $2, $3, $4)`,
		hash, p.UUID, address, expires)
	return err
}

// TakeResetKey consumes a reset key, and with it every other one of its person. The mail arrived, so it counts as proof
// of the primary address if that is where it went. Errors: identity.ErrKeyNotFound.
func (s *Store) TakeResetKey(ctx context.Context, hash []byte, now time.Time) (id.Person, error) {
	p, err := scalar[id.Person](ctx, s.q, "take reset key", identity.ErrKeyNotFound, `
		WITH taken AS (
			DELETE FROM identity.reset_keys WHERE key_hash = $1 AND expires_at > $2 RETURNING person, address
		), proved AS (
			UPDATE identity.persons p SET email_proved_at = $2
			FROM taken JOIN identity.addresses a ON a.person = taken.person AND a.address = taken.address
			WHERE p.uid = taken.person AND a.is_primary AND a.verified_at IS NOT NULL
		)
		SELECT person FROM taken`, hash, now)
	if err != nil {
		return p, err
	}
	_, err = s.exec(ctx, "delete reset keys", `DELETE FROM identity.reset_keys WHERE person = $1`, p.UUID)
	return p, err
}
