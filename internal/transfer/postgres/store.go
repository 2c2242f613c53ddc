// Package postgres is transfer's SQL: each method one visible statement, and the only place where a violated
// constraint becomes an error of package transfer. It decides nothing and opens no transaction of its own accord; that
// is the service's part. Of identity it reads the directory.* views and nothing else.
package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/microcache"
	"github.com/consign-dev/consign/internal/transfer"
)

// Store runs the statements on the pool, or within the transaction that InTx passed it to.
type Store struct {
	db *database.DB
	q  database.Querier
	tx database.Tx

	*copies
}

// copies are what holds for whole organizations, as it is or was a moment ago.
type copies struct {
	organizations *microcache.Cache[id.Organization, organizationRow]
	adminunits    *microcache.Cache[id.Organization, transfer.Adminunit]
}

// ForgetOrganizations has the next request read what organizations have decided and subscribed to: something of it has changed.
func (c *copies) ForgetOrganizations() {
	c.organizations.Invalidate()
	c.adminunits.Invalidate()
}

// New makes a Store on db's pool.
func New(db *database.DB) *Store {
	return &Store{db: db, q: db.Pool, copies: &copies{
		organizations: microcache.New[id.Organization, organizationRow](nil), adminunits: microcache.New[id.Organization, transfer.Adminunit](nil),
	}}
}

// InTx runs fn with a Store whose statements are one transaction, as database.DB.InTx does.
func (s *Store) InTx(ctx context.Context, fn func(tx *Store) error) error {
	return s.db.InTx(ctx, func(tx database.Tx) error {
		return fn(s.Within(tx))
	})
}

// Changes counts the transactions that this process has ended, as database.DB.Changes does.
func (s *Store) Changes() uint64 { return s.db.Changes() }

// Within returns a Store whose statements join tx, a transaction that somebody else opened.
func (s *Store) Within(tx database.Tx) *Store {
	return &Store{db: s.db, q: tx, tx: tx, copies: s.copies}
}

// Tx is the transaction this Store runs in, for the mails, jobs, events and audit entries that join it; nil outside InTx.
func (s *Store) Tx() database.Tx { return s.tx }

var errNoRows = pgx.ErrNoRows

// AnyHost is a Scope.Host for work that no request asks for.
const AnyHost = "*"

// Scope is the point of view of a look-up: the host that the request came to, when, and what holds where nobody has
// decided.
type Scope struct {
	Host             string          // active hostname of the request's organization, or AnyHost
	HostOrganization id.Organization // the organization that owns it
	Now              time.Time
	Defaults         transfer.Defaults
}

// sees returns ErrNotFound for what is at home on another host.
func (sc Scope) sees(host string) error {
	if sc.Host != AnyHost && sc.Host != host {
		return transfer.ErrNotFound
	}
	return nil
}

// one collects exactly one row; none is transfer.ErrNotFound.
func one[T any](rows pgx.Rows, err error) (T, error) {
	var zero T
	if err != nil {
		return zero, err
	}
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[T])
	if errors.Is(err, pgx.ErrNoRows) {
		return zero, transfer.ErrNotFound
	}
	return row, err
}

// all collects every row.
func all[T any](rows pgx.Rows, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

// opt is null for a zero identifier.
func opt[K any](i id.ID[K]) *uuid.UUID {
	if i.IsZero() {
		return nil
	}
	return &i.UUID
}

// text is null for an empty string.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// number is null for zero.
func number[T int32 | int64 | time.Duration](n T) *T {
	if n == 0 {
		return nil
	}
	return &n
}

// document is null for an absent JSON value.
func document(raw []byte) *string {
	if len(raw) == 0 {
		return nil
	}
	s := string(raw)
	return &s
}

// or is *p, or zero where p is nil.
func or[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

func uuids[K any](ids []id.ID[K]) []uuid.UUID {
	out := make([]uuid.UUID, len(ids))
	for i, v := range ids {
		out[i] = v.UUID
	}
	return out
}
