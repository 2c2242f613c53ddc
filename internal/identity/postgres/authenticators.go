package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// Factor is what a second factor is checked against.
type Factor struct {
	UID    id.Authenticator
	Secret []byte // sealed, of totp
	Salt   []byte // of recovery
}

// Factor returns a person's verified authenticator of a type. Errors: identity.ErrFactorNotVerified.
func (s *Store) Factor(ctx context.Context, p id.Person, kind string) (Factor, error) {
	return one[Factor](ctx, s.q, "read factor", identity.ErrFactorNotVerified, `
		SELECT uid, secret, salt FROM identity.authenticators WHERE person = $1 AND type = $2 AND verified`, p.UUID, kind)
}

// Factors returns the types of a person's verified second factors, totp before recovery.
func (s *Store) Factors(ctx context.Context, p id.Person) ([]string, error) {
	return scalar[[]string](ctx, s.q, "list factors", nil, `
		SELECT ARRAY(SELECT type FROM identity.authenticators
		             WHERE person = $1 AND verified AND type <> 'bcrypt' ORDER BY type DESC)`, p.UUID)
}

// UseStep accepts a TOTP step unless it or a later one was accepted before. Errors: identity.ErrCredentials.
func (s *Store) UseStep(ctx context.Context, a id.Authenticator, step int64) error {
	n, err := s.exec(ctx, "use TOTP step", `
		UPDATE identity.authenticators SET last_step = $2 WHERE uid = $1 AND type = 'totp' AND (last_step IS NULL OR last_step < $2)`,
		a.UUID, step)
	if err == nil && n == 0 {
		return identity.ErrCredentials
	}
	return err
}

// UseRecoveryCode removes a recovery code, and its authenticator with the last one. Call it with the person locked.
// Errors: identity.ErrCredentials.
func (s *Store) UseRecoveryCode(ctx context.Context, a id.Authenticator, hash []byte) error {
	n, err := s.exec(ctx, "use recovery code", `
		DELETE FROM identity.recovery_codes WHERE authenticator = $1 AND hash = $2`, a.UUID, hash)
	if err != nil {
		return err
	}
	if n == 0 {
		return identity.ErrCredentials
	}
	_, err = s.exec(ctx, "delete used up recovery", `
		DELETE FROM identity.authenticators a
		WHERE a.uid = $1 AND NOT EXISTS (SELECT FROM identity.recovery_codes c WHERE c.authenticator = a.uid)`, a.UUID)
	return err
}

// UpgradeHash stores a password's hash of the current cost, if the password is still the one that old is of. It counts as
// no change of the authenticator.
func (s *Store) UpgradeHash(ctx context.Context, p id.Person, old, hash []byte) error {
	_, err := s.exec(ctx, "upgrade hash", `
		UPDATE identity.authenticators SET secret = $3 WHERE person = $1 AND type = 'bcrypt' AND secret = $2`, p.UUID, old, hash)
	return err
}

// InsertTOTP stores a TOTP secret, sealed. Errors: none of the domain; the type must be free.
func (s *Store) InsertTOTP(ctx context.Context, p id.Person, a id.Authenticator, sealed []byte, verified bool, now time.Time) error {
	_, err := s.exec(ctx, "insert totp", `
		INSERT INTO identity.authenticators (uid, person, type, verified, registered_at, updated_at, secret)
		VALUES ($1, $2, 'totp', $3, $4, $4, $5)`, a.UUID, p.UUID, verified, now, sealed)
	return err
}

// ReplaceRecovery stores a set of recovery codes in place of any earlier one.
func (s *Store) ReplaceRecovery(ctx context.Context, p id.Person, a id.Authenticator, salt []byte, hashes [][]byte, now time.Time) error {
	if _, err := s.exec(ctx, "delete recovery", `
		DELETE FROM identity.authenticators WHERE person = $1 AND type = 'recovery'`, p.UUID); err != nil {
		return err
	}
	_, err := s.exec(ctx, "insert recovery", `
		WITH stored AS (
			INSERT INTO identity.authenticators (uid, person, type, verified, registered_at, updated_at, salt)
			VALUES ($1, $2, 'recovery', true, $3, $3, $4)
		)
		INSERT INTO identity.recovery_codes (authenticator, hash) SELECT $1, unnest($5::bytea[])`,
		a.UUID, p.UUID, now, salt, hashes)
	return err
}

// DeleteFactors removes every second factor of a person.
func (s *Store) DeleteFactors(ctx context.Context, p id.Person) error {
	_, err := s.exec(ctx, "delete factors", `DELETE FROM identity.authenticators WHERE person = $1 AND type <> 'bcrypt'`, p.UUID)
	return err
}

// Sealed is a sealed secret and whose it is.
type Sealed struct {
	UID    id.Authenticator
	Secret []byte
}

// SealedAfter returns sealed TOTP secrets in the order of their uids, from the first after a uid on.
func (s *Store) SealedAfter(ctx context.Context, after id.Authenticator, limit int) ([]Sealed, error) {
	return all[Sealed](ctx, s.q, "list sealed secrets", `
		SELECT uid, secret FROM identity.authenticators WHERE type = 'totp' AND uid > $1 ORDER BY uid LIMIT $2`, after.UUID, limit)
}

// ReplaceSealed stores a secret sealed anew, unless it has changed meanwhile.
func (s *Store) ReplaceSealed(ctx context.Context, old Sealed, secret []byte) error {
	_, err := s.exec(ctx, "replace sealed secret", `
		UPDATE identity.authenticators SET secret = $3 WHERE uid = $1 AND secret = $2`, old.UID.UUID, old.Secret, secret)
	return err
}
