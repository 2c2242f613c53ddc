// Package stream sends the audit to a syslog server or a file, as a chain of hashes (contract 3.20).
//
// Append of package audit queues each entry in its own transaction. One server at a time has the lease to send. It takes a batch of queued
// entries, gives each its place in the chain and stores the lines, in one transaction. Then it sends them, and deletes them once the
// receiver has them. A crash or an outage at any step leads to the same lines being sent again: at least once, in the order of the chain.
package stream

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/database"
)

const (
	pollEvery = time.Second      // looks for queued entries. A notification would serialize the commits of all writers
	pauseMost = 4 * time.Second  // between tries while the receiver is away
	batchSize = 1000             // entries
	sendLimit = 20 * time.Second // of one batch; within the lease
	leaseTime = 30 * time.Second
	// leftAfter is how long entries have waited, and nobody had the lease, before a server without the setting ends the stream.
	leftAfter = 7 * 24 * time.Hour
	countMost = 10_000 // of waiting entries
)

// errFollower means that another server sends.
var errFollower = errors.New("another server sends the audit")

// Target is a receiver.
type Target interface {
	// Send returns nil once the receiver has all lines.
	Send(ctx context.Context, lines []Line) error
	// Try returns why the receiver could not be sent to now. It sends nothing.
	Try(ctx context.Context) error
}

// Stream sends the audit. It is safe for concurrent use.
type Stream struct {
	db     *database.DB
	target Target // nil: the setting is empty
	now    func() time.Time
	log    *slog.Logger
	me     uuid.UUID
}

// New returns a Stream. target may be nil: then only State, Head and End work.
func New(db *database.DB, target Target, now func() time.Time, log *slog.Logger) *Stream {
	return &Stream{db: db, target: target, now: now, log: log, me: uuid.New()}
}

// Run sends until ctx ends. Every server runs it.
func (s *Stream) Run(ctx context.Context) error {
	if s.target == nil {
		return nil
	}
	pause := pollEvery
	for begun := false; ; {
		var more bool
		err := error(nil)
		if !begun {
			err = s.Begin(ctx)
			begun = err == nil
		}
		if err == nil {
			more, err = s.Step(ctx)
		}
		switch {
		case ctx.Err() != nil:
			s.resign(context.WithoutCancel(ctx))
			return nil
		case err == nil, errors.Is(err, errFollower):
			pause = pollEvery
		default:
			s.log.Error("the audit is not sent", "error", err)
			pause = min(2*pause, pauseMost)
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// Begin makes entries wait for being sent from now on, if they do not yet. Its own entry is the first one.
func (s *Stream) Begin(ctx context.Context) error {
	return s.db.InTx(ctx, func(tx database.Tx) error {
		n, err := database.Exec(ctx, tx, "begin audit stream", `
			INSERT INTO audit_stream AS s (active, hash, sent_hash) VALUES (true, $1, $1)
			ON CONFLICT ON CONSTRAINT audit_stream_pkey DO UPDATE SET active = true WHERE NOT s.active`, make([]byte, 32))
		if err != nil || n == 0 {
			return err
		}
		return audit.Append(ctx, tx, s.now(), audit.Entry{Actor: audit.Actor{Kind: audit.Job}, Action: "audit.stream",
			Details: map[string]string{"state": "on"}})
	})
}

// End ends a stream that no server was told to send for a week. The entries that wait are forgotten by the stream, not by the audit.
func (s *Stream) End(ctx context.Context) error {
	if s.target != nil {
		return nil
	}
	before := s.now().Add(-leftAfter)
	return s.db.InTx(ctx, func(tx database.Tx) error {
		n, err := database.Exec(ctx, tx, "end audit stream", `
			UPDATE audit_stream SET active = false, trouble = ''
			WHERE active AND coalesce(leased_until, '-infinity') < $1 AND EXISTS (SELECT FROM audit_pending WHERE at < $1)`, before)
		if err != nil || n == 0 {
			return err
		}
		if err := audit.Append(ctx, tx, s.now(), audit.Entry{Actor: audit.Actor{Kind: audit.Job}, Action: "audit.stream",
			Details: map[string]string{"state": "off"}}); err != nil {
			return err
		}
		_, err = database.Exec(ctx, tx, "forget queued entries", `DELETE FROM audit_pending`)
		return err
	})
}

// head is the end of the chain.
type head struct {
	Sequence int64
	Hash     []byte
}

// Step sends one batch. more is true when more entries wait.
// Errors: errFollower.
func (s *Stream) Step(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, leaseTime-time.Second)
	defer cancel()
	waiting, err := database.Scalar[bool](ctx, s.db.Pool, "look for queued entries", nil,
		`SELECT EXISTS (SELECT FROM audit_outbox) OR EXISTS (SELECT FROM audit_pending)`)
	if err != nil || !waiting {
		return false, err
	}
	if err := database.Changed(ctx, s.db.Pool, "lead the audit stream", errFollower, `
		UPDATE audit_stream SET leader = $1, leased_until = clock_timestamp() + $2::interval
		WHERE active AND (leader IS NULL OR leader = $1 OR leased_until < clock_timestamp())`, s.me, leaseTime); err != nil {
		return false, err
	}
	lines, err := s.outbox(ctx)
	if err == nil && len(lines) == 0 {
		if err = s.sequence(ctx); err == nil {
			lines, err = s.outbox(ctx)
		}
	}
	if err != nil || len(lines) == 0 {
		return false, err
	}
	sending, stop := context.WithTimeout(ctx, sendLimit)
	err = s.target.Send(sending, lines)
	stop()
	if err != nil {
		s.complain(context.WithoutCancel(ctx), err)
		return false, err
	}
	return true, s.acknowledge(ctx, lines[len(lines)-1])
}

// outbox returns the lines that have their place and are not sent yet.
func (s *Stream) outbox(ctx context.Context) ([]Line, error) {
	return database.All[Line](ctx, s.db.Pool, "read lines of the audit",
		`SELECT sequence, at, action, line AS text FROM audit_outbox ORDER BY sequence`)
}

// sequence gives the next queued entries their places.
func (s *Stream) sequence(ctx context.Context) error {
	return s.db.InTx(ctx, func(tx database.Tx) error {
		h, err := database.One[head](ctx, tx, "lock the audit stream", errFollower,
			`SELECT sequence, hash FROM audit_stream WHERE leader = $1 AND leased_until > clock_timestamp() FOR UPDATE`, s.me)
		if err != nil {
			return err
		}
		records, err := audit.Take(ctx, tx, batchSize)
		if err != nil || len(records) == 0 {
			return err
		}
		lines := make([]Line, len(records))
		for i, r := range records {
			if lines[i], err = chain(h, r); err != nil {
				return err
			}
			h = head{lines[i].Sequence, lines[i].hash}
		}
		var sequences []int64
		var times []time.Time
		var actions, texts []string
		for _, l := range lines {
			sequences, times, actions, texts = append(sequences, l.Sequence), append(times, l.At), append(actions, l.Action), append(texts, l.Text)
		}
		if _, err := database.Exec(ctx, tx, "store lines of the audit", `
			INSERT INTO audit_outbox (sequence, at, action, line) SELECT * FROM unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::text[])`,
			sequences, times, actions, texts); err != nil {
			return err
		}
		_, err = database.Exec(ctx, tx, "grow the audit stream", `UPDATE audit_stream SET sequence = $1, hash = $2`, h.Sequence, h.Hash)
		return err
	})
}

// acknowledge deletes the lines up to last, which the receiver has.
func (s *Stream) acknowledge(ctx context.Context, last Line) error {
	hash, err := last.Hash()
	if err != nil {
		return err
	}
	_, err = database.Exec(ctx, s.db.Pool, "acknowledge lines of the audit", `
		WITH sent AS (DELETE FROM audit_outbox WHERE sequence <= $1 AND EXISTS (SELECT FROM audit_stream WHERE leader = $3))
		UPDATE audit_stream SET sent = $1, sent_hash = $2, trouble = '' WHERE sent < $1 AND leader = $3`, last.Sequence, hash, s.me)
	return err
}

// ErrNoStream means that nothing is streamed.
var ErrNoStream = errors.New("the audit is not streamed: no server had CONSIGN_AUDIT_STREAM")

// Restart begins a new chain with entry 1, as is due when the database was restored from a backup: the receiver has entries that the chain
// would contradict. A server that sends just now loses the lease. What waits is sent in the new chain.
// Errors: ErrNoStream.
func (s *Stream) Restart(ctx context.Context, by audit.Actor) error {
	return s.db.InTx(ctx, func(tx database.Tx) error {
		if err := database.Changed(ctx, tx, "restart the audit stream", ErrNoStream, `
			UPDATE audit_stream SET sequence = 0, hash = $1, sent = 0, sent_hash = $1, leader = NULL, leased_until = NULL WHERE active`,
			make([]byte, 32)); err != nil {
			return err
		}
		if _, err := database.Exec(ctx, tx, "queue unsent lines again", `
			WITH unsent AS (DELETE FROM audit_outbox RETURNING (line::jsonb ->> 'id')::bigint AS id, at)
			INSERT INTO audit_pending (id, at) SELECT id, at FROM unsent ON CONFLICT ON CONSTRAINT audit_pending_pkey DO NOTHING`); err != nil {
			return err
		}
		return audit.Append(ctx, tx, s.now(), audit.Entry{Actor: by, Action: "audit.stream", Details: map[string]string{"state": "restarted"}})
	})
}

// complain stores why the last try failed, for other processes.
func (s *Stream) complain(ctx context.Context, why error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, _ = database.Exec(ctx, s.db.Pool, "store trouble of the audit stream",
		`UPDATE audit_stream SET trouble = $1 WHERE trouble <> $1`, why.Error())
}

// resign gives the lease back, so that another server need not wait for its end.
func (s *Stream) resign(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, _ = database.Exec(ctx, s.db.Pool, "resign", `UPDATE audit_stream SET leader = NULL, leased_until = NULL WHERE leader = $1`, s.me)
}

// State is how far the stream is.
type State struct {
	On      bool  // this server has the setting
	Active  bool  // entries are queued
	Waiting int64 // entries that the receiver does not have; 10,000 stands for more
	Oldest  time.Duration
	Sent    int64 // sequence of the last entry that the receiver has
	Trouble string
}

// Late reports whether entries wait for longer than a receiver's restart takes.
func (s State) Late() bool { return s.Oldest > 5*time.Minute }

// State returns how far the stream is.
func (s *Stream) State(ctx context.Context) (State, error) {
	row, err := database.One[struct {
		Active  bool
		Waiting int64
		Oldest  *time.Time
		Sent    int64
		Trouble string
	}](ctx, s.db.Pool, "read state of the audit stream", nil, `
		SELECT coalesce(bool_or(active), false) AS active, coalesce(max(sent), 0) AS sent, coalesce(max(trouble), '') AS trouble,
			(SELECT count(*) FROM (SELECT FROM audit_pending LIMIT $1) p) + (SELECT count(*) FROM audit_outbox) AS waiting,
			least((SELECT at FROM audit_outbox ORDER BY sequence LIMIT 1), (SELECT at FROM audit_pending ORDER BY id LIMIT 1)) AS oldest
		FROM audit_stream`, countMost)
	if err != nil {
		return State{}, err
	}
	out := State{On: s.target != nil, Active: row.Active, Waiting: min(row.Waiting, countMost), Sent: row.Sent, Trouble: row.Trouble}
	if row.Oldest != nil {
		out.Oldest = max(s.now().Sub(*row.Oldest), 0)
	}
	return out, nil
}

// Head returns sequence and hash of the last entry that the receiver has; 0: none.
func (s *Stream) Head(ctx context.Context) (sequence int64, hash []byte, err error) {
	h, err := database.One[head](ctx, s.db.Pool, "read head of the audit stream", nil,
		`SELECT sent AS sequence, sent_hash AS hash FROM audit_stream`)
	return h.Sequence, h.Hash, err
}

// Try returns why the receiver could not be sent to now.
func (s *Stream) Try(ctx context.Context) error { return s.target.Try(ctx) }
