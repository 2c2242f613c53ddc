package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// Suspend locks and suspends a person, and returns what running downloads and uploads watch. It is zero when the person was suspended
// before.
// Errors: identity.ErrPersonNotFound.
func (s *Store) Suspend(ctx context.Context, p id.Person, now time.Time) (uuid.UUID, error) {
	return database.Scalar[uuid.UUID](ctx, s.q, "suspend person", identity.ErrPersonNotFound, `
		WITH before AS (
			SELECT uid, suspended_at, next_suspension FROM identity.persons WHERE uid = $1 AND deleted_at IS NULL FOR NO KEY UPDATE
		), suspended AS (
			UPDATE identity.persons p SET suspended_at = $2, next_suspension = gen_random_uuid() FROM before b
			WHERE p.uid = b.uid AND b.suspended_at IS NULL
		)
		SELECT CASE WHEN suspended_at IS NULL THEN next_suspension ELSE '00000000-0000-0000-0000-000000000000' END FROM before`, p, now)
}

// Reactivate ends the suspension of a person, and reports whether there was one.
func (s *Store) Reactivate(ctx context.Context, p id.Person) (bool, error) {
	n, err := database.Exec(ctx, s.q, "reactivate person",
		`UPDATE identity.persons SET suspended_at = NULL WHERE uid = $1 AND suspended_at IS NOT NULL`, p)
	return n > 0, err
}

// Suspended reports whether a person is suspended.
func (s *Store) Suspended(ctx context.Context, p id.Person) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "look up suspension", nil,
		`SELECT EXISTS (SELECT FROM identity.persons WHERE uid = $1 AND suspended_at IS NOT NULL)`, p)
}
