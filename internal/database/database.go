// Package database owns the way to Postgres: the connection pool, transactions with retries, the mapping of
// Postgres errors to faults, migrations, and LISTEN/NOTIFY on a connection of its own. It knows no table of a domain;
// their SQL lives in the postgres packages and in the mechanisms that keep their own tables.
package database

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/ratelimit"
)

// Querier runs statements: the pool, a connection or a transaction.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// Tx is a transaction as InTx passes it on.
type Tx = pgx.Tx

// DB is the pool of connections to one database.
type DB struct {
	// Pool is the pool itself, a Querier for single statements.
	Pool *pgxpool.Pool

	changes atomic.Uint64
}

const (
	connectTimeout  = 5 * time.Second
	pingTimeout     = 2 * time.Second // of a pooled connection that was idle, before it is used
	rollbackTimeout = 5 * time.Second
	attempts        = 3 // of a transaction
	retryPause      = 10 * time.Millisecond
	retryAfter      = 2 * time.Second // what Classify tells clients while Postgres is away
)

// errGuessing is for the modes in which pgx guesses the Postgres types of parameters by their Go types. It cannot for all of
// ours, and is built without the tables for it (the tag nopgxregisterdefaulttypes), which take 1.4 MB.
var errGuessing = errors.New("CONSIGN_DATABASE_URL: default_query_exec_mode must not be exec or simple_protocol; for a pooler without prepared statements use cache_describe")

var errNotStored = fault.ErrConflict.WithMessage(fault.MessageNotStored)

// New makes a pool of at most maxConns connections to the database at url; it connects when it is used. A statement that takes
// longer than ten seconds fails, unless its context is Unhurried, and so does waiting five seconds for a connection: Classify makes
// fault.ErrUnavailable of both. One client address (ratelimit.WithClient) uses seven of eight connections at most.
// maxConns of 0 or less keeps what the URL says (pool_max_conns), else pgx's default.
func New(ctx context.Context, url string, maxConns int) (*DB, error) {
	return newPool(ctx, url, maxConns, patience{statement: statementPatience, acquire: acquirePatience})
}

// readURL reads what CONSIGN_DATABASE_URL holds; the parameters that are pgx's own are not Postgres' to see.
func readURL(url string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read CONSIGN_DATABASE_URL: %w", err)
	}
	if m := cfg.ConnConfig.DefaultQueryExecMode; m == pgx.QueryExecModeExec || m == pgx.QueryExecModeSimpleProtocol {
		return nil, errGuessing
	}
	return cfg, nil
}

func unreached(err error) error {
	return fmt.Errorf("reach the database (CONSIGN_DATABASE_URL): %w", err)
}

func newPool(ctx context.Context, url string, maxConns int, p patience) (*DB, error) {
	cfg, err := readURL(url)
	if err != nil {
		return nil, err
	}
	if cfg.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		cfg.ConnConfig.DescriptionCacheCapacity = 0 // that of another mode, which would take 20 kB for each connection
	}
	if maxConns > 0 {
		cfg.MaxConns = int32(min(maxConns, 10_000))
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = connectTimeout
	}
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "consign"
	}
	cfg.ConnConfig.DialFunc = marked(cfg.ConnConfig.DialFunc)
	cfg.PingTimeout = pingTimeout
	p.clients = ratelimit.NewClientCap(int(cfg.MaxConns))
	cfg.ConnConfig.Tracer = p
	cfg.AfterConnect = registerUUID
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return &DB{Pool: pool}, nil
}

// Changes counts the transactions that InTx has ended. A copy of what was read while the count was another may be out of date
// by what this process did; of other processes it tells nothing.
func (db *DB) Changes() uint64 { return db.changes.Load() }

// Close waits until every connection is back in the pool, then closes them.
func (db *DB) Close() { db.Pool.Close() }

// InTx runs fn in a transaction and commits when fn returns nil. A serialization failure or deadlock runs fn again, up
// to three times in all, so fn must not change anything outside the transaction; after the last it returns a
// fault.Conflict (409001). Any other error of fn is returned as it is.
func (db *DB) InTx(ctx context.Context, fn func(tx Tx) error) error {
	for try := 1; ; try++ {
		err := db.inTx(ctx, fn)
		if !serialization(err) {
			return err
		}
		if try == attempts {
			return errNotStored.Because(err)
		}
		// At once it would often win back the row that the other party of the deadlock was waiting for.
		select {
		case <-ctx.Done():
			return fmt.Errorf("retry transaction: %w", context.Cause(ctx))
		case <-time.After(retryPause + rand.N(time.Duration(try)*retryPause)):
		}
	}
}

func (db *DB) inTx(ctx context.Context, fn func(tx Tx) error) error {
	tx, err := db.Pool.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	// The rollback must reach Postgres although the request may be over; after a commit it does nothing.
	defer func() {
		rollback, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
		defer cancel()
		_ = tx.Rollback(rollback)
	}()
	if err := fn(tx); err != nil {
		return err
	}
	err = tx.Commit(ctx)
	db.changes.Add(1) // also after an error, which does not prove that nothing was committed
	if err != nil {
		return fmt.Errorf("commit transaction: %w", err)
	}
	return nil
}

func serialization(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	return pg.Code == codeSerialization || pg.Code == codeDeadlock
}
