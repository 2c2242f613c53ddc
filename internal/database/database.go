// Package database connects to Postgres: the connection pool, transactions with retries, helpers that run one statement, the
// mapping of Postgres errors to faults, migrations, and LISTEN/NOTIFY on a connection of its own. It knows the table settings and no
// table of a domain. The SQL of the domains is in their postgres packages, and that of events, audit, jobs and mail in those packages.
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

// Tx is a transaction that InTx began.
type Tx = pgx.Tx

// DB is the pool of connections to one database.
type DB struct {
	// Pool is a Querier for single statements.
	Pool *pgxpool.Pool

	changes atomic.Uint64
}

const (
	connectTimeout  = 5 * time.Second
	pingTimeout     = 2 * time.Second // of the ping before an idle pooled connection is used
	rollbackTimeout = 5 * time.Second
	attempts        = 3 // of a transaction, or of a statement outside of one
	retryPause      = 10 * time.Millisecond
	retryAfter      = 2 * time.Second // Retry-After while Postgres is unavailable
)

// errMode refuses the modes in which pgx infers the Postgres type of a parameter from its Go type. It cannot encode a list of
// identifiers that way, and it sends JSON in a []byte as bytea.
var errMode = errors.New("CONSIGN_DATABASE_URL: default_query_exec_mode must not be exec or simple_protocol; for a pooler without " +
	"prepared statements use cache_describe")

var errNotStored = fault.ErrConflict.WithMessage(fault.MessageNotStored)

// New returns a pool of at most maxConns connections to the database at url. It connects on first use. A maxConns of 0 or less
// leaves the limit to pool_max_conns of the URL, or to pgx's default. A statement fails after 10 seconds, and waiting for a
// connection after 5 seconds, unless the context is Unhurried; Classify turns both into fault.ErrUnavailable. One client network
// (ratelimit.WithClient) uses at most seven eighths of the connections.
func New(ctx context.Context, url string, maxConns int) (*DB, error) {
	return newPool(ctx, url, maxConns, patience{statement: statementPatience, acquire: acquirePatience})
}

// readURL parses CONSIGN_DATABASE_URL. The parser of pgxpool removes the parameters of pgx, which Postgres would reject.
func readURL(url string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read CONSIGN_DATABASE_URL: %w", err)
	}
	if m := cfg.ConnConfig.DefaultQueryExecMode; m == pgx.QueryExecModeExec || m == pgx.QueryExecModeSimpleProtocol {
		return nil, errMode
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
		cfg.ConnConfig.DescriptionCacheCapacity = 0 // the cache of another mode; it takes 20 kB for each connection
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

// Changes returns the number of transactions that InTx has committed or tried to commit in this process. A value that was cached
// at another count may be outdated. Changes by other processes do not count.
func (db *DB) Changes() uint64 { return db.changes.Load() }

// Close waits until every connection is back in the pool, then closes them.
func (db *DB) Close() { db.Pool.Close() }

// InTx runs fn in a transaction and commits when fn returns nil. After a serialization failure or deadlock it runs fn again, at most
// three times in all, so fn must not change anything outside the transaction.
// Errors: those of fn, unchanged; fault.ErrConflict (409001) when the third try failed with a serialization failure or deadlock.
func (db *DB) InTx(ctx context.Context, fn func(tx Tx) error) error {
	for try := 1; ; try++ {
		err := db.inTx(ctx, fn)
		if !serialization(err) {
			return err
		}
		if try == attempts {
			return errNotStored.Because(err)
		}
		if err := pauseAfter(ctx, try); err != nil {
			return fmt.Errorf("retry transaction: %w", err)
		}
	}
}

// pauseAfter waits before a retry. Without the pause it would often lock again the row that the other transaction of a deadlock waits
// for. It returns the cause when ctx ends.
func pauseAfter(ctx context.Context, try int) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(retryPause + rand.N(time.Duration(try)*retryPause)):
		return nil
	}
}

func (db *DB) inTx(ctx context.Context, fn func(tx Tx) error) error {
	tx, err := db.Pool.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	// The rollback must reach Postgres even when the request was cancelled. After a commit it does nothing.
	defer func() {
		rollback, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
		defer cancel()
		_ = tx.Rollback(rollback)
	}()
	if err := fn(tx); err != nil {
		return err
	}
	if err := mark(ctx, tx); err != nil {
		return err
	}
	err = tx.Commit(ctx)
	db.changes.Add(1) // also after an error, because the commit may have succeeded
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
