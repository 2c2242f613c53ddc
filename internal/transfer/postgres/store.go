// Package postgres holds the SQL of the transfer domain, one statement per method. It maps violated constraints to the
// domain's errors. It reads the views of the schema directory, which identity owns, and nothing else of identity.
// Transactions and rules are in package service, which also documents the order of locks.
package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/microcache"
	"github.com/consign-dev/consign/internal/transfer"
)

// Store runs the statements, on the pool or in one transaction.
type Store struct {
	db *database.DB
	q  database.Querier
	tx database.Tx

	*caches
}

// caches are microcaches of what is the same for a whole organization: values live 500 ms.
type caches struct {
	terms      *microcache.Cache[id.Organization, transfer.Terms]
	adminunits *microcache.Cache[id.Organization, transfer.Adminunit]
}

// ForgetOrganizations empties the microcaches: an organization, its limits or its adminunit have changed.
func (c *caches) ForgetOrganizations() {
	c.terms.Invalidate()
	c.adminunits.Invalidate()
}

// New makes a Store on db's pool.
func New(db *database.DB) *Store {
	return &Store{db: db, q: database.WithConstraints(db.Pool, violation), caches: &caches{
		terms: microcache.New[id.Organization, transfer.Terms](nil), adminunits: microcache.New[id.Organization, transfer.Adminunit](nil),
	}}
}

// InTx runs fn with a Store whose statements share one transaction, and commits if fn returns nil (see database.DB.InTx).
func (s *Store) InTx(ctx context.Context, fn func(tx *Store) error) error {
	return s.db.InTx(ctx, func(tx database.Tx) error {
		return fn(s.Within(tx))
	})
}

// Changes counts the transactions that this process has ended (see database.DB.Changes).
func (s *Store) Changes() uint64 { return s.db.Changes() }

// Within returns a Store whose statements join the transaction tx.
func (s *Store) Within(tx database.Tx) *Store {
	return &Store{db: s.db, q: database.WithConstraints(tx, violation), tx: tx, caches: s.caches}
}

// Querier returns what the statements of mechanisms run on.
func (s *Store) Querier() database.Querier { return s.q }

// Tx returns the transaction of this Store, for mails, jobs, events and audit entries that join it; nil outside InTx.
func (s *Store) Tx() database.Tx { return s.tx }

// violation returns the error that the violation of a constraint means to clients.
func violation(constraint string) *fault.Error {
	switch constraint {
	case "transfers_reservation_key":
		return transfer.ErrConfirmed
	case "reservations_objects_bounded":
		return transfer.ErrTooManyFiles
	case "objects_client_id_key":
		return transfer.ErrClientID
	}
	return nil
}

// AnyHost is the Scope.Host of jobs.
const AnyHost = "*"

// Scope is the context of a look-up: the host that the request was sent to, the time, and the defaults.
type Scope struct {
	Host             string          // active hostname of the request's organization, or AnyHost
	HostOrganization id.Organization // the organization that owns it
	Now              time.Time
	Defaults         transfer.Defaults
}

// sees returns nil for things whose home is the scope's host.
// Errors: transfer.ErrNotFound.
func (sc Scope) sees(host string) error {
	if sc.Host != AnyHost && sc.Host != host {
		return transfer.ErrNotFound
	}
	return nil
}

// zeroTime is coalesced with columns that a time.Time is read from: its zero value.
const zeroTime = `'0001-01-01 00:00Z'::timestamptz`

// column returns one value of each element, for an array parameter.
func column[E, V any](list []E, value func(E) V) []V {
	out := make([]V, len(list))
	for i, e := range list {
		out[i] = value(e)
	}
	return out
}
