// Package postgres holds the SQL of requests, one statement per method. It reads the reservations, objects and transfers of the transfer
// domain, and writes no other table of it but reservations. Transactions and rules are in request/service.
package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/fault"
)

// Store runs the statements, on the pool or in one transaction.
type Store struct {
	db *database.DB
	q  database.Querier
	tx database.Tx
}

// New makes a Store on db's pool.
func New(db *database.DB) *Store {
	return &Store{db: db, q: database.WithConstraints(db.Pool, violation)}
}

// InTx runs fn with a Store whose statements share one transaction, and commits if fn returns nil.
func (s *Store) InTx(ctx context.Context, fn func(tx *Store) error) error {
	return s.db.InTx(ctx, func(tx database.Tx) error { return fn(s.Within(tx)) })
}

// Within returns a Store whose statements join the transaction tx.
func (s *Store) Within(tx database.Tx) *Store {
	return &Store{db: s.db, q: database.WithConstraints(tx, violation), tx: tx}
}

// Tx returns the transaction of this Store; nil outside InTx.
func (s *Store) Tx() database.Tx { return s.tx }

// violation returns the error that the violation of a constraint means to clients: none can violate one.
func violation(string) *fault.Error { return nil }

// Clock returns the time of Postgres in whole milliseconds. Receipts, states and the log say it.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	return database.Scalar[time.Time](ctx, s.q, "read clock", nil, `SELECT date_trunc('milliseconds', clock_timestamp())`)
}

// column returns one value of each element, for an array parameter.
func column[E, V any](list []E, value func(E) V) []V {
	out := make([]V, len(list))
	for i, e := range list {
		out[i] = value(e)
	}
	return out
}

func document(raw []byte) any { return database.Null(string(raw)) }
