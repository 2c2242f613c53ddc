package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// FactorTry is a try of a second factor that BeginFactor counted or refused.
type FactorTry struct {
	Failures int        // tries in a row, with this one; 0: refused
	NextAt   *time.Time // when refused: of the next try
}

// BeginFactor counts a try of a second factor as wrong before its code is checked, so that parallel tries cannot exceed
// the limit. ForgetFactor removes the count after a right code. It refuses a try before the delay of the last one is over.
func (s *Store) BeginFactor(ctx context.Context, p id.Person, source uuid.UUID, now time.Time) (FactorTry, error) {
	return database.One[FactorTry](ctx, s.q, "begin second factor", nil, `
		WITH counted AS (
			INSERT INTO identity.factor_tries AS f (person, source, failures, next_at, forget_at)
			VALUES ($1, $2, 1, $3::timestamptz + ($4::interval[])[1], $3::timestamptz + $5::interval)
			ON CONFLICT (person, source) DO UPDATE SET
			    failures = CASE WHEN f.forget_at <= $3 THEN 1 ELSE f.failures + 1 END,
			    next_at = $3::timestamptz + ($4::interval[])[CASE WHEN f.forget_at <= $3 THEN 1 ELSE least(f.failures + 1,
				cardinality($4::interval[])) END],
			    forget_at = $3::timestamptz + $5::interval
			WHERE f.next_at <= $3
			RETURNING failures
		)
		SELECT coalesce((SELECT failures FROM counted), 0) AS failures,
		       (SELECT next_at FROM identity.factor_tries WHERE person = $1 AND source = $2) AS next_at`,
		p, source, now, identity.FactorDelays, identity.FactorRetention)
}

// ForgetFactor removes the count of wrong second factors of a source.
func (s *Store) ForgetFactor(ctx context.Context, p id.Person, source uuid.UUID) error {
	_, err := database.Exec(ctx, s.q, "forget wrong second factors", `
		DELETE FROM identity.factor_tries WHERE person = $1 AND source = $2`, p, source)
	return err
}

// HasRecoveryCode reports whether a recovery code exists. Only UseRecoveryCode decides between parallel logins.
func (s *Store) HasRecoveryCode(ctx context.Context, a id.Authenticator, hash []byte) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "check recovery code", nil, `
		SELECT EXISTS (SELECT FROM identity.recovery_codes WHERE authenticator = $1 AND hash = $2)`, a, hash)
}
