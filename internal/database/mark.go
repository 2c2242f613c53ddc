package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// overtaken is the SQLSTATE with which a mark refuses a transaction.
const overtaken = "CN409"

type markKey struct{}

// WithMark returns a context under which InTx and OneLocked run mark in each transaction, at its end. When it fails, nothing of the
// transaction is stored.
func WithMark(ctx context.Context, mark Statement) context.Context {
	return context.WithValue(ctx, markKey{}, mark)
}

func markOf(ctx context.Context) (Statement, bool) {
	mark, ok := ctx.Value(markKey{}).(Statement)
	return mark, ok
}

// mark runs the mark of a context in a transaction.
// Errors: fault.ErrConflict (409001) when another server has taken the request over.
func mark(ctx context.Context, tx Tx) error {
	m, ok := markOf(ctx)
	if !ok {
		return nil
	}
	if _, err := tx.Exec(ctx, m.SQL, m.Args...); err != nil {
		return refused(fmt.Errorf("mark request as done: %w", err))
	}
	return nil
}

// refused turns the refusal of a mark into a conflict.
func refused(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == overtaken {
		return errNotStored.Because(err)
	}
	return err
}
