// Package postgres is the SQL of the identity domain, one statement a method. It owns schema identity and the views of
// schema directory (migration 0005), maps violated constraints to the domain's errors, and decides nothing else.
//
// # Locks
//
// A transaction that ends sessions or changes credentials first locks the person's row (LockPerson, RaiseEpoch). What
// creates ID tokens holds the same row at least for share, so a token is never created beside such a change and missed
// by it. Addresses are claimed under a lock of their own (LockAddress), taken before any person's. What decides over
// members, administrators or their number first locks the organization (LockOrganizations), before any person; hostnames
// are taken under a lock of their own (LockHosts), before that. A login at an external provider begins with the lock of
// its identity (LockExternal).
package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// DirectoryChannel is notified whenever a hostname, an organization or a limit changes, so that replicas forget what
// they cached of them. The payload is empty.
const DirectoryChannel = "directory"

// Store runs the statements, on the pool or in one transaction.
type Store struct {
	db *database.DB
	q  database.Querier
	tx database.Tx

	onDirectory func()
	directory   bool // NotifyDirectory was called
}

// New makes a Store on the pool.
func New(db *database.DB) *Store { return &Store{db: db, q: db.Pool, onDirectory: func() {}} }

// OnDirectory has forget called after each transaction of this Store that may have changed what DirectoryChannel stands for: the
// notification reaches this process too, but whoever made the change may ask before it does. Call it before the Store is used.
func (s *Store) OnDirectory(forget func()) { s.onDirectory = forget }

// InTx runs fn with a Store whose statements share one transaction, and commits if fn returns nil (see database.InTx).
func (s *Store) InTx(ctx context.Context, fn func(tx *Store) error) error {
	var within *Store
	err := s.db.InTx(ctx, func(tx database.Tx) error {
		within = &Store{db: s.db, q: tx, tx: tx, onDirectory: s.onDirectory}
		return fn(within)
	})
	if within != nil && within.directory {
		s.onDirectory()
	}
	return err
}

// Tx is the transaction that InTx began, for the mechanisms that join it; nil outside of one.
func (s *Store) Tx() database.Tx { return s.tx }

// Querier is what the statements run on.
func (s *Store) Querier() database.Querier { return s.q }

// one collects exactly one row into a struct by column names; none becomes missing.
func one[T any](ctx context.Context, q database.Querier, operation string, missing error, sql string, args ...any) (T, error) {
	rows, _ := q.Query(ctx, sql, args...) // the rows tell its error too
	v, err := database.Row[T](rows)
	return v, outcome(operation, missing, err)
}

// outcome says what failed; that there was no row becomes missing.
func outcome(operation string, missing, err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return missing
	}
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	return nil
}

// all collects rows into structs by column names.
func all[T any](ctx context.Context, q database.Querier, operation, sql string, args ...any) ([]T, error) {
	rows, _ := q.Query(ctx, sql, args...)
	list, err := database.Rows[T](rows)
	return list, outcome(operation, nil, err)
}

// scalar collects the one column of exactly one row; none becomes missing.
func scalar[T any](ctx context.Context, q database.Querier, operation string, missing error, sql string, args ...any) (T, error) {
	var v T
	err := q.QueryRow(ctx, sql, args...).Scan(&v)
	return v, outcome(operation, missing, err)
}

// exec runs a statement and returns how many rows it changed.
func (s *Store) exec(ctx context.Context, operation, sql string, args ...any) (int64, error) {
	tag, err := s.q.Exec(ctx, sql, args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", operation, constraint(err))
	}
	return tag.RowsAffected(), nil
}

// changed runs a statement that must change a row; if there is none it returns missing.
func (s *Store) changed(ctx context.Context, operation string, missing error, sql string, args ...any) error {
	n, err := s.exec(ctx, operation, sql, args...)
	if err == nil && n == 0 {
		return missing
	}
	return err
}

// scalars collects the one column of any number of rows.
func scalars[T any](ctx context.Context, q database.Querier, operation, sql string, args ...any) ([]T, error) {
	rows, _ := q.Query(ctx, sql, args...)
	list, err := pgx.CollectRows(rows, pgx.RowTo[T])
	return list, outcome(operation, nil, err)
}

// constraint turns the violation of a named constraint into the domain error that it means.
func constraint(err error) error {
	switch database.Constraint(err) {
	case "addresses_verified_key", "addresses_signup_key", "addresses_pending_key", "addresses_pkey":
		return identity.ErrAddressInUse.Because(err)
	case "authenticators_type_key":
		return identity.ErrTypeRegistered.Because(err)
	case "hosts_pkey":
		return identity.ErrHostInUse.Because(err)
	case "memberships_pkey":
		return identity.ErrMemberElsewhere.Because(err)
	}
	return err
}

// uuids strips identifiers of their type, for an array parameter.
func uuids[K any](list []id.ID[K]) []uuid.UUID {
	out := make([]uuid.UUID, len(list))
	for i, v := range list {
		out[i] = v.UUID
	}
	return out
}

// nullable is nil for the zero identifier, so that it is stored as null.
func nullable[K any](i id.ID[K]) any {
	if i.IsZero() {
		return nil
	}
	return i.UUID
}

// optional is nil for the empty string, so that it is stored as null.
func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// moment is nil for the zero time, so that it is stored as null.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}
