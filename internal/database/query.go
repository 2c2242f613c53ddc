// Helpers for one SQL statement. They repeat reads after a deadlock and add the operation to the error.

package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/consign-dev/consign/internal/fault"
)

// The functions of this file run one statement each. Outside of a transaction they run it again after a serialization failure or
// deadlock, as InTx does: it changed nothing. A migration that locks several tables can deadlock even with a read. operation names the
// statement in errors ("lock person"). Columns are matched to struct fields by name, without regard to case and underscores. Fields of
// embedded structs are fields of the outer struct. Every field needs a column unless its tag is `db:"-"`.

// One reads one row into a struct. When there is no row and missing is nil, it returns the zero T.
// Errors: missing when there is no row; the domain's error for a violated constraint (WithConstraints).
func One[T any](ctx context.Context, q Querier, operation string, missing error, sql string, args ...any) (T, error) {
	v, err := retried(ctx, q, func() (T, error) {
		rows, _ := q.Query(ctx, sql, args...) // rows also returns the error
		return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
	})
	return v, explain(q, operation, missing, err)
}

// isTx reports whether statements of q share a transaction of InTx, which marks itself.
func isTx(q Querier) bool {
	if c, ok := q.(constrained); ok {
		q = c.Querier
	}
	_, inTx := q.(Tx)
	return inTx
}

// retried runs a statement, outside of a transaction up to three times while it fails with a serialization failure or deadlock.
func retried[T any](ctx context.Context, q Querier, run func() (T, error)) (T, error) {
	inTx := isTx(q)
	for try := 1; ; try++ {
		v, err := run()
		if inTx || try == attempts || !serialization(err) || pauseAfter(ctx, try) != nil {
			return v, err
		}
	}
}

// Statement is SQL with its arguments.
type Statement struct {
	SQL  string
	Args []any
}

// OneLocked runs lock, then One, in one round trip. Outside of a transaction both run in a transaction of their own. The second
// statement sees what was committed while the first one waited for its locks.
// Errors: those of One.
func OneLocked[T any](ctx context.Context, q Querier, operation string, missing error, lock Statement, sql string, args ...any) (T, error) {
	v, err := retried(ctx, q, func() (v T, err error) {
		var b pgx.Batch
		b.Queue(lock.SQL, lock.Args...)
		b.Queue(sql, args...)
		if m, ok := markOf(ctx); ok && !isTx(q) {
			b.Queue(m.SQL, m.Args...)
		}
		results := q.SendBatch(ctx, &b)
		if _, err = results.Exec(); err == nil {
			rows, _ := results.Query()
			v, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
		}
		if end := results.Close(); err == nil { // the commit
			err = refused(end)
		}
		return v, err
	})
	return v, explain(q, operation, missing, err)
}

// All reads every row into a struct. The list may be empty.
// Errors: the domain's error for a violated constraint (WithConstraints).
func All[T any](ctx context.Context, q Querier, operation, sql string, args ...any) ([]T, error) {
	list, err := retried(ctx, q, func() ([]T, error) {
		rows, _ := q.Query(ctx, sql, args...)
		return pgx.CollectRows(rows, pgx.RowToStructByName[T])
	})
	return list, explain(q, operation, nil, err)
}

// Scalar reads the single column of one row. When there is no row and missing is nil, it returns the zero T.
// Errors: missing when there is no row; the domain's error for a violated constraint (WithConstraints).
func Scalar[T any](ctx context.Context, q Querier, operation string, missing error, sql string, args ...any) (T, error) {
	v, err := retried(ctx, q, func() (v T, err error) {
		err = q.QueryRow(ctx, sql, args...).Scan(&v)
		return v, err
	})
	return v, explain(q, operation, missing, err)
}

// Scalars reads the single column of every row. The list may be empty.
// Errors: the domain's error for a violated constraint (WithConstraints).
func Scalars[T any](ctx context.Context, q Querier, operation, sql string, args ...any) ([]T, error) {
	list, err := retried(ctx, q, func() ([]T, error) {
		rows, _ := q.Query(ctx, sql, args...)
		return pgx.CollectRows(rows, pgx.RowTo[T])
	})
	return list, explain(q, operation, nil, err)
}

// Exec runs a statement and returns the number of rows that it affected.
// Errors: the domain's error for a violated constraint (WithConstraints).
func Exec(ctx context.Context, q Querier, operation, sql string, args ...any) (int, error) {
	tag, err := retried(ctx, q, func() (pgconn.CommandTag, error) { return q.Exec(ctx, sql, args...) })
	return int(tag.RowsAffected()), explain(q, operation, nil, err)
}

// Changed runs a statement that must affect a row.
// Errors: missing when it affects no row; the domain's error for a violated constraint (WithConstraints).
func Changed(ctx context.Context, q Querier, operation string, missing error, sql string, args ...any) error {
	n, err := Exec(ctx, q, operation, sql, args...)
	if err == nil && n == 0 {
		return missing
	}
	return err
}

// explain adds the operation to an error, returns missing for pgx.ErrNoRows, and adds the domain's error for a violated constraint.
func explain(q Querier, operation string, missing, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return missing
	}
	if c, ok := q.(constrained); ok {
		if known := c.violation(Constraint(err)); known != nil {
			err = known.Because(err)
		}
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// constrained is a Querier with the domain's errors for violated constraints.
type constrained struct {
	Querier
	violation func(constraint string) *fault.Error
}

// WithConstraints returns a Querier for which the functions of this file return the domain's errors for violated constraints.
// violation maps the name of a constraint to its error, or to nil when no client can violate the constraint.
func WithConstraints(q Querier, violation func(constraint string) *fault.Error) Querier {
	return constrained{q, violation}
}

// Null returns nil, which is stored as NULL, for a zero value: an empty string, 0, a zero time or identifier. It returns any other
// value unchanged. Pass a JSON document as Null(string(document)).
func Null[T comparable](v T) any {
	var zero T
	if z, ok := any(v).(interface{ IsZero() bool }); v == zero || ok && z.IsZero() {
		return nil
	}
	return v
}
