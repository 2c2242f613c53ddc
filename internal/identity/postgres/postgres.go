// Package postgres holds the SQL of the identity domain, one statement per method. It owns the schema identity and the views
// of the schema directory (migrations/0003_identity.sql), and maps violated constraints to the domain's errors. Rules are in package
// service, which also documents the order of locks.
package postgres

import (
	"context"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/identity"
)

// DirectoryChannel is the LISTEN/NOTIFY channel for changes of a hostname, an organization or a limit. Replicas
// then clear their caches of these. The payload is empty.
const DirectoryChannel = "directory"

// Store runs the statements, on the pool or in one transaction.
type Store struct {
	db *database.DB
	q  database.Querier
	tx database.Tx

	onDirectory func()
	directory   bool // NotifyDirectory was called
}

// New returns a Store on the pool.
func New(db *database.DB) *Store {
	return &Store{db: db, q: database.WithConstraints(db.Pool, violation), onDirectory: func() {}}
}

// OnDirectory calls forget after each transaction of this Store that called NotifyDirectory. The notification reaches this
// process, too, but a client may read its own change before that. Call OnDirectory before the Store is used.
func (s *Store) OnDirectory(forget func()) { s.onDirectory = forget }

// InTx runs fn with a Store whose statements share one transaction, and commits if fn returns nil (see database.InTx).
func (s *Store) InTx(ctx context.Context, fn func(tx *Store) error) error {
	var within *Store
	err := s.db.InTx(ctx, func(tx database.Tx) error {
		within = s.Within(tx)
		return fn(within)
	})
	if within != nil && within.directory {
		s.onDirectory()
	}
	return err
}

// Within returns a Store whose statements are part of a transaction of another domain.
func (s *Store) Within(tx database.Tx) *Store {
	return &Store{db: s.db, q: database.WithConstraints(tx, violation), tx: tx, onDirectory: s.onDirectory}
}

// Tx returns the transaction of InTx, for mails, jobs, events and audit entries that join it; nil outside InTx.
func (s *Store) Tx() database.Tx { return s.tx }

// Querier returns what the statements run on. It is for single statements outside InTx; use Tx inside.
func (s *Store) Querier() database.Querier { return s.q }

// violation maps the violation of a constraint to the domain's error.
func violation(constraint string) *fault.Error {
	switch constraint {
	case "addresses_verified_key", "addresses_signup_key", "addresses_pkey":
		return identity.ErrAddressInUse
	case "authenticators_type_key":
		return identity.ErrTypeRegistered
	case "passkeys_credential_id_key":
		return identity.ErrVerificationFailed
	case "hosts_pkey":
		return identity.ErrHostInUse
	case "memberships_pkey":
		return identity.ErrMemberElsewhere
	}
	return nil
}
