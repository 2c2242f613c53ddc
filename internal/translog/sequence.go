// The leader of the log: takes batches of entries, grows the tree, writes the mark, and publishes.

package translog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/proof"
)

const (
	batchDelay  = 100 * time.Millisecond // collects entries after the first one
	pollEvery   = 2 * time.Second        // looks for entries whose notification was lost
	leaseTime   = 5 * time.Second
	stepLimit   = 4 * time.Second // of one batch; within the lease
	batchSize   = 4096            // entries
	complainPer = time.Minute     // between log lines about the same trouble
)

// errFollower means that another server is the leader.
var errFollower = errors.New("another server appends to the log")

// Run appends queued entries until ctx ends. Every server runs it; one of them appends.
func (l *Log) Run(ctx context.Context) error {
	defer l.attest(ctx)()
	var complained time.Time
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		more, err := l.Sequence(ctx)
		if err != nil && ctx.Err() == nil && !errors.Is(err, errFollower) && time.Since(complained) > complainPer {
			l.log.Error("the transparency log does not grow", "error", err)
			complained = time.Now()
		}
		if more && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
			l.resign(context.WithoutCancel(ctx))
			return nil
		case <-tick.C:
			continue
		case <-l.wake:
		}
		select {
		case <-ctx.Done():
		case <-time.After(batchDelay):
		}
	}
}

// Sequence appends one batch of queued entries and publishes the checkpoint. more is true when the batch was full.
// Errors: errFollower, ErrFork.
func (l *Log) Sequence(ctx context.Context) (more bool, err error) {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.refused = nil; err != nil && !errors.Is(err, errFollower) {
			l.refused = err
		}
	}()
	if err := l.ensure(ctx); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	defer func() {
		if err != nil && !errors.Is(err, errFollower) { // another server may be able to
			l.resign(context.WithoutCancel(ctx))
		}
	}()
	r, err := l.lead(ctx)
	if err != nil {
		return false, err
	}
	if r.Published < r.Size { // a leader stopped between two steps; or the log is new
		return true, l.publish(ctx, r)
	}
	n := 0
	r, n, err = l.integrate(ctx, r)
	if err != nil || n == 0 {
		return false, err
	}
	return n == batchSize, l.publish(ctx, r)
}

// lead takes or renews the lease of the leader. A process that takes it, or finds another tree than it has left, compares the log with
// its mark first.
// Errors: errFollower, ErrFork, ErrContradicted.
func (l *Log) lead(ctx context.Context) (row, error) {
	r, err := database.One[row](ctx, l.db.Pool, "lead the log", errFollower, `
		UPDATE log.logs SET leader = $1, leased_until = clock_timestamp() + $2::interval
		WHERE closed_at IS NULL AND (leader IS NULL OR leader = $1 OR leased_until < clock_timestamp()) RETURNING `+rowColumns, l.me, leaseTime)
	if err != nil {
		return row{}, err
	}
	l.mu.Lock()
	contradicted := l.contradicted
	l.mu.Unlock()
	if contradicted == r.ID {
		return row{}, ErrContradicted
	}
	if l.last.ID != r.ID || l.last.Size != r.Size || !bytes.Equal(l.last.Root, r.Root) {
		if err := l.checkMark(ctx, r); err != nil {
			return row{}, err
		}
		if r.Size > 0 { // the storage may be a new place, or the mark may have been lost
			if err := l.writeMark(ctx, r); err != nil {
				return row{}, err
			}
		}
		l.last = r
	}
	return r, nil
}

// resign gives the lease back, so that another server need not wait for its end.
func (l *Log) resign(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, _ = database.Exec(ctx, l.db.Pool, "resign", `UPDATE log.logs SET leader = NULL, leased_until = NULL WHERE leader = $1`, l.me)
}

// integrate adds queued entries to the tree and returns their number.
func (l *Log) integrate(ctx context.Context, r row) (row, int, error) {
	waiting, err := database.Scalar[bool](ctx, l.db.Pool, "look for log entries", nil, `SELECT EXISTS (SELECT FROM log.pending)`)
	if err != nil || !waiting {
		return r, 0, err
	}
	n := 0
	grown := r
	err = l.db.InTx(ctx, func(tx database.Tx) error {
		if err := database.Changed(ctx, tx, "lock log", errFollower,
			`SELECT FROM log.logs WHERE id = $1 AND leader = $2 AND leased_until > clock_timestamp() AND size = $3 FOR UPDATE`, r.ID, l.me,
			r.Size); err != nil {
			return err
		}
		// ARRAY is computed once. IN (SELECT … LIMIT) is a join, which may run the SELECT again for each row when statistics say that there is
		// hardly any: they are mostly made while the queue is empty.
		entries, err := database.Scalars[[]byte](ctx, tx, "take log entries", `
			WITH taken AS (
				DELETE FROM log.pending WHERE ctid = ANY (ARRAY (SELECT ctid FROM log.pending ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED))
					RETURNING id, entry
			)
			SELECT entry FROM taken ORDER BY id`, batchSize)
		if err != nil {
			return err
		}
		if n = len(entries); n == 0 {
			return nil
		}
		tiles, err := l.readTiles(ctx, tx, r, edge(r.Size))
		if err != nil {
			return err
		}
		changed, root, err := grow(r.Size, tiles, entries)
		if err != nil {
			return err
		}
		if err := writeTiles(ctx, tx, r, changed); err != nil {
			return err
		}
		if _, err := database.Exec(ctx, tx, "add log entries", `
			INSERT INTO log.entries (log, index, entry) SELECT $1, $2 + e.nr - 1, e.entry FROM unnest($3::bytea[]) WITH ORDINALITY AS e (entry, nr)`,
			r.ID, r.Size, entries); err != nil {
			return err
		}
		grown.Size, grown.Root, grown.Generation = r.Size+int64(n), root[:], r.Generation+1
		_, err = database.Exec(ctx, tx, "grow log", `UPDATE log.logs SET size = $2, root = $3, generation = $4 WHERE id = $1`,
			r.ID, grown.Size, grown.Root, grown.Generation)
		return err
	})
	if err != nil || n == 0 {
		return r, 0, err
	}
	l.last = grown
	return grown, n, nil
}

// publish writes the mark of the tree, then signs its checkpoint and stores it.
func (l *Log) publish(ctx context.Context, r row) error {
	if err := l.writeMark(ctx, r); err != nil {
		return err
	}
	signers, err := l.signers(ctx, r)
	if err != nil {
		return err
	}
	tree := proof.Tree{Origin: r.Origin, Tree: tlog.Tree{N: r.Size, Hash: tlog.Hash(r.Root)}}
	signed, err := note.Sign(&note.Note{Text: proof.CheckpointText(tree)}, signers...)
	if err != nil {
		return fmt.Errorf("sign checkpoint: %w", err)
	}
	err = database.Changed(ctx, l.db.Pool, "publish checkpoint", errFollower, `
		WITH led AS (
			UPDATE log.logs SET published = $2 WHERE id = $1 AND leader = $3 AND leased_until > clock_timestamp() AND size = $2 AND root = $4
				AND closed_at IS NULL
			RETURNING id
		)
		INSERT INTO log.checkpoints (log, size, note, signed_at) SELECT id, $2, $5, $6 FROM led
		ON CONFLICT ON CONSTRAINT checkpoints_pkey DO UPDATE SET note = excluded.note, signed_at = excluded.signed_at`,
		r.ID, r.Size, l.me, r.Root, string(signed), l.now())
	if err == nil {
		l.announce()
	}
	return err
}
