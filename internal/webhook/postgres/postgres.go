// Package postgres is the only place with SQL of the webhook domain. It reads people and organizations through the views directory.* of
// identity.
package postgres

import (
	"context"

	"github.com/consign-dev/consign/internal/database"
)

// Store runs the statements of the domain, on the pool or in a transaction.
type Store struct {
	db *database.DB
	q  database.Querier
	tx database.Tx
}

// New returns a Store on the pool.
func New(db *database.DB) *Store { return &Store{db: db, q: db.Pool} }

// InTx runs fn with a Store whose statements share one transaction, and commits if fn returns nil (see database.InTx).
func (s *Store) InTx(ctx context.Context, fn func(tx *Store) error) error {
	return s.db.InTx(ctx, func(tx database.Tx) error { return fn(&Store{db: s.db, q: tx, tx: tx}) })
}

// Tx returns the transaction of InTx; nil outside InTx.
func (s *Store) Tx() database.Tx { return s.tx }

// Querier returns what the statements run on.
func (s *Store) Querier() database.Querier { return s.q }
