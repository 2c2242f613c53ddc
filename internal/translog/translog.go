// Package translog keeps a transparency log: a Merkle tree (RFC 6962) to which entries are only added, whose state is published as
// signed checkpoints and tiles (C2SP tlog-tiles). An entry is the SHA-256 of a statement, so the log discloses nothing that was stated.
// Package proof holds the formats, docs/use/receipts.md the trust model.
//
// Append queues an entry in the transaction of its cause. One server, the leader, gives queued entries their places, in batches of at
// most a second. A batch is three steps, each of which may be the last one before a crash:
//
//  1. One transaction adds the entries to the tree.
//  2. The leader notes the size and root of the tree in the blob store (the mark, mark.go).
//  3. It signs the checkpoint and stores it, which publishes it.
//
// A leader that finds a tree without its checkpoint goes on with step 2. So a signed tree is never changed or forgotten, as long as the
// database keeps what it has committed. A database that was restored from a backup is older than the mark: the log then refuses to sign.
package translog

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/blob"
	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/seal"
)

const channel = "log_pending"

// Options are what New needs. Marks may be nil for commands that do not append.
type Options struct {
	DB       *database.DB
	Sealer   *seal.Sealer
	Origin   string     // of the first log
	Marks    blob.Store // where the marks are
	Listener *database.Listener
	Now      func() time.Time
	Log      *slog.Logger

	Witnesses  []*Witness
	TSA        string        // address of a time stamp service (RFC 3161); may be empty
	StampEvery time.Duration // at least, between two time stamps
}

// Log is the transparency log. It is safe for concurrent use.
type Log struct {
	db     *database.DB
	box    seal.Box
	origin string
	marks  blob.Store
	now    func() time.Time
	log    *slog.Logger

	me   uuid.UUID     // this process as leader
	wake chan struct{} // entries are queued

	last row // the log as this process has left it as leader; only Sequence, which one goroutine calls at a time, uses it

	witnesses  []*Witness
	tsa        string
	stampEvery time.Duration
	client     *http.Client
	published  []chan struct{} // one for each loop of attest; only the goroutine of Run uses the slice
	stamped    time.Time       // of the last time stamp; only the loop that stamps uses it

	mu           sync.Mutex // guards what follows: Sequence, witnesses and operators read and write it
	refused      error      // why the log does not sign
	contradicted int32      // the log that a witness has seen in another state
}

// New returns a Log. Run appends; the other methods work without it.
func New(o Options) *Log {
	l := &Log{
		db: o.DB, box: o.Sealer.Box("log key"), origin: o.Origin, marks: o.Marks,
		now: o.Now, log: o.Log, me: uuid.New(), wake: make(chan struct{}, 1),
		witnesses: o.Witnesses, tsa: o.TSA, stampEvery: o.StampEvery,
		client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	if o.Listener != nil {
		o.Listener.Handle(channel, func(string) { l.Wake() }, nil)
	}
	return l
}

// Wake makes the leader look for queued entries.
func (l *Log) Wake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Append adds to a batch what queues an entry. It belongs to the transaction that stores the statement.
func Append(b *pgx.Batch, entry []byte) {
	b.Queue(`WITH queued AS (INSERT INTO log.pending (entry) VALUES ($1)) SELECT pg_notify('`+channel+`', '')`, entry)
}

// AppendAll queues entries in tx.
func AppendAll(ctx context.Context, tx database.Tx, entries [][]byte) error {
	if len(entries) == 0 {
		return nil
	}
	_, err := database.Exec(ctx, tx, "queue log entries",
		`WITH queued AS (INSERT INTO log.pending (entry) SELECT unnest($1::bytea[])) SELECT pg_notify('`+channel+`', '')`, entries)
	return err
}

// row is a row of log.logs.
type row struct {
	ID         int32
	Origin     string
	Size       int64
	Root       []byte
	Published  int64
	Generation int64
	ClosedAt   *time.Time
}

const rowColumns = `id, origin, size, root, published, generation, closed_at`

// errNoLog means that no server has begun the log yet.
var errNoLog = errors.New("no server has begun the log yet")

// current returns the open log.
// Errors: errNoLog.
func (l *Log) current(ctx context.Context, q database.Querier) (row, error) {
	return database.One[row](ctx, q, "find log", errNoLog, `SELECT `+rowColumns+` FROM log.logs WHERE closed_at IS NULL`)
}

// ensure creates the first log, with its key, if there is none.
func (l *Log) ensure(ctx context.Context) error {
	_, err := l.current(ctx, l.db.Pool)
	if !errors.Is(err, errNoLog) {
		return err
	}
	return l.db.InTx(ctx, func(tx database.Tx) error {
		if _, err := database.Exec(ctx, tx, "lock logs", `LOCK TABLE log.logs IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
		if _, err := l.current(ctx, tx); !errors.Is(err, errNoLog) {
			return err
		}
		return l.begin(ctx, tx, l.origin)
	})
}

// begin creates an empty log and its key.
func (l *Log) begin(ctx context.Context, tx database.Tx, origin string) error {
	empty := sha256.Sum256(nil)
	id, err := database.Scalar[int32](ctx, tx, "begin log", nil,
		`INSERT INTO log.logs (origin, created_at, root) VALUES ($1, $2, $3) RETURNING id`, origin, l.now(), empty[:])
	if err != nil {
		return err
	}
	_, err = l.insertKey(ctx, tx, row{ID: id, Origin: origin})
	return err
}
