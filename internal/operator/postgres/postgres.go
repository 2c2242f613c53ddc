// Package postgres holds the SQL of the console, one statement per method. It reads people through the view directory.persons, which
// identity owns.
package postgres

import (
	"context"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/operator"
)

// Store runs the statements on the pool.
type Store struct{ db *database.DB }

// New returns a Store.
func New(db *database.DB) *Store { return &Store{db} }

// Querier returns what the statements run on.
func (s *Store) Querier() database.Querier { return s.db.Pool }

// People returns those of the persons who exist.
func (s *Store) People(ctx context.Context, persons []id.Person) ([]operator.Person, error) {
	return database.All[operator.Person](ctx, s.db.Pool, "list people of entries", `
		SELECT person AS uid, coalesce(name, '') AS name, coalesce(email, '') AS email FROM directory.persons WHERE person = ANY ($1)`, persons)
}
