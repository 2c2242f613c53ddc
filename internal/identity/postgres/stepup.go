package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// Proofs are the last proofs of a session (contract 3.21).
type Proofs struct {
	DeviceEpoch      int64 // now
	PasswordProvedAt *time.Time
	FactorProvedAt   *time.Time
}

// Proofs returns the proofs of a session since the last change of the password.
// Errors: identity.ErrPersonNotFound.
func (s *Store) Proofs(ctx context.Context, p id.Person, sid id.Session) (Proofs, error) {
	return database.One[Proofs](ctx, s.q, "find proofs of session", identity.ErrPersonNotFound, `
		SELECT p.device_epoch, max(t.password_proved_at) AS password_proved_at, max(t.factor_proved_at) AS factor_proved_at
		FROM identity.persons p
		LEFT JOIN identity.id_tokens t ON t.sid = $2 AND t.person = p.uid AND t.state <> 'ended' AND t.proof_epoch = p.device_epoch
		WHERE p.uid = $1 GROUP BY p.uid`, p, sid)
}

// KeepProof records that a session has proved the password, the second factor or both. deviceEpoch is from before the proof was checked.
func (s *Store) KeepProof(ctx context.Context, p id.Person, sid id.Session, deviceEpoch int64, password, factor bool, now time.Time) error {
	_, err := database.Exec(ctx, s.q, "keep proof of session", `
		UPDATE identity.id_tokens SET proof_epoch = $3::bigint,
		    password_proved_at = CASE WHEN $4 THEN $6::timestamptz WHEN proof_epoch = $3 THEN password_proved_at END,
		    factor_proved_at = CASE WHEN $5 THEN $6::timestamptz WHEN proof_epoch = $3 THEN factor_proved_at END
		WHERE person = $1 AND sid = $2 AND state <> 'ended' AND coalesce(proof_epoch, 0) <= $3`, p, sid, deviceEpoch, password, factor, now)
	return err
}

// ForgetFactors forgets that sessions of a person other than keep have proved a second factor.
func (s *Store) ForgetFactors(ctx context.Context, p id.Person, keep id.Session) error {
	_, err := database.Exec(ctx, s.q, "forget proved factors", `
		UPDATE identity.id_tokens SET factor_proved_at = NULL
		WHERE person = $1 AND sid <> $2 AND factor_proved_at IS NOT NULL`, p, keep)
	return err
}
