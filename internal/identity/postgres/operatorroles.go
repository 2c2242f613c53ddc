package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/token"
)

// OperatorRole returns the role of a person in the console, empty if there is none.
func (s *Store) OperatorRole(ctx context.Context, p id.Person) (token.OperatorRole, error) {
	return database.Scalar[token.OperatorRole](ctx, s.q, "look up operator", nil,
		`SELECT coalesce((SELECT role FROM identity.operators WHERE person = $1), '')`, p)
}

// AddOperator gives a person a role in the console. It reports whether that changes something.
func (s *Store) AddOperator(ctx context.Context, p id.Person, role token.OperatorRole, now time.Time) (changed bool, err error) {
	n, err := database.Exec(ctx, s.q, "add operator", `
		INSERT INTO identity.operators AS o (person, role, added_at) VALUES ($1, $2, $3)
		ON CONFLICT ON CONSTRAINT operators_pkey DO UPDATE SET role = excluded.role WHERE o.role <> excluded.role`, p, role, now)
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
		SELECT o.person, coalesce(p.name, '') AS name, coalesce(a.address, '') AS address, o.role, o.added_at,
		       EXISTS (SELECT FROM identity.authenticators f WHERE f.person = o.person AND f.verified AND f.type IN ('totp',
			'webauthn')) AS has_factor
		FROM identity.operators o
		JOIN identity.persons p ON p.uid = o.person
		LEFT JOIN identity.addresses a ON a.person = o.person AND a.is_primary
		ORDER BY a.address, o.person`)
}
