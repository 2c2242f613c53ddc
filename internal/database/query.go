package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/fault"
)

// The functions of this file run one statement each. operation names it in errors ("lock person"). Structs are filled by
// column name: case and underscores do not count, embedded structs count as part of the outer one, and every field needs a
// column unless its tag is `db:"-"`.

// One reads one row into a struct. No row is missing; where missing is nil it is the zero T.
// Errors: missing; the error that WithConstraints knows for a violated constraint.
func One[T any](ctx context.Context, q Querier, operation string, missing error, sql string, args ...any) (T, error) {
	rows, _ := q.Query(ctx, sql, args...) // rows reports the error, too
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
	return v, explain(q, operation, missing, err)
}

// All reads every row into a struct. No row is an empty list.
// Errors: the error that WithConstraints knows for a violated constraint.
func All[T any](ctx context.Context, q Querier, operation, sql string, args ...any) ([]T, error) {
	rows, _ := q.Query(ctx, sql, args...)
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	return list, explain(q, operation, nil, err)
}

// Scalar reads the single column of one row. No row is missing; where missing is nil it is the zero T.
// Errors: missing; the error that WithConstraints knows for a violated constraint.
func Scalar[T any](ctx context.Context, q Querier, operation string, missing error, sql string, args ...any) (T, error) {
	var v T
	err := q.QueryRow(ctx, sql, args...).Scan(&v)
	return v, explain(q, operation, missing, err)
}

// Scalars reads the single column of every row. No row is an empty list.
// Errors: the error that WithConstraints knows for a violated constraint.
func Scalars[T any](ctx context.Context, q Querier, operation, sql string, args ...any) ([]T, error) {
	rows, _ := q.Query(ctx, sql, args...)
	list, err := pgx.CollectRows(rows, pgx.RowTo[T])
	return list, explain(q, operation, nil, err)
}

// Exec runs a statement and returns the number of rows that it affected.
// Errors: the error that WithConstraints knows for a violated constraint.
func Exec(ctx context.Context, q Querier, operation, sql string, args ...any) (int, error) {
	tag, err := q.Exec(ctx, sql, args...)
	return int(tag.RowsAffected()), explain(q, operation, nil, err)
}

// Changed runs a statement that must affect a row.
// Errors: missing when it affects none; the error that WithConstraints knows for a violated constraint.
func Changed(ctx context.Context, q Querier, operation string, missing error, sql string, args ...any) error {
	n, err := Exec(ctx, q, operation, sql, args...)
	if err == nil && n == 0 {
		return missing
	}
	return err
}

// explain names the operation that failed, and replaces the errors that mean something to a domain.
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

// constrained is a Querier that knows what violated constraints mean.
type constrained struct {
	Querier
	violation func(constraint string) *fault.Error
}

// WithConstraints returns a Querier for which the functions of this file translate violated constraints: violation returns
// the domain's error for the name of a constraint, nil for one that no client can violate.
func WithConstraints(q Querier, violation func(constraint string) *fault.Error) Querier {
	return constrained{q, violation}
}

// Null is nil, which is stored as NULL, for the zero value: an empty string, 0, a zero time or identifier.
// A JSON document is passed as Null(string(document)).
func Null[T comparable](v T) any {
	var zero T
	if z, ok := any(v).(interface{ IsZero() bool }); v == zero || ok && z.IsZero() {
		return nil
	}
	return v
}

// Nulls is Null for the elements of an array parameter.
func Nulls[T comparable](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = Null(v)
	}
	return out
}
