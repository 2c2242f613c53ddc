package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// IsOperator reports whether a person is an operator of the installation.
func (s *Store) IsOperator(ctx context.Context, p id.Person) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "look up operator", nil, `SELECT EXISTS (SELECT FROM identity.operators WHERE person = $1)`, p)
}

// AddOperator makes a person an operator. It reports whether the person was none before.
func (s *Store) AddOperator(ctx context.Context, p id.Person, now time.Time) (added bool, err error) {
	n, err := database.Exec(ctx, s.q, "add operator", `
		INSERT INTO identity.operators (person, added_at) VALUES ($1, $2) ON CONFLICT ON CONSTRAINT operators_pkey DO NOTHING`, p, now)
	return n > 0, err
}

// RemoveOperator ends the role of a person. It reports whether the person had it.
func (s *Store) RemoveOperator(ctx context.Context, p id.Person) (removed bool, err error) {
	n, err := database.Exec(ctx, s.q, "remove operator", `DELETE FROM identity.operators WHERE person = $1`, p)
	return n > 0, err
}

// Operators lists the operators by address.
func (s *Store) Operators(ctx context.Context) ([]identity.Operator, error) {
	return database.All[identity.Operator](ctx, s.q, "list operators", `
		SELECT o.person, coalesce(p.name, '') AS name, coalesce(a.address, '') AS address, o.added_at,
		       EXISTS (SELECT FROM identity.authenticators f WHERE f.person = o.person AND f.verified AND f.type IN ('totp',
			'webauthn')) AS has_factor
		FROM identity.operators o
		JOIN identity.persons p ON p.uid = o.person
		LEFT JOIN identity.addresses a ON a.person = o.person AND a.is_primary
		ORDER BY a.address, o.person`)
}
