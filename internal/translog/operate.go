// What operators ask and do: state, check of the whole log, and a new log after a restore.

package translog

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/proof"
)

// Trouble returns why the log does not sign, nil while it does.
func (l *Log) Trouble() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// maxWaiting bounds what Waiting counts.
const maxWaiting = 10_000

// Waiting returns how many entries wait for their place in the log; maxWaiting stands for more.
func (l *Log) Waiting(ctx context.Context) (int, error) {
	return database.Scalar[int](ctx, l.db.Pool, "count log entries", nil, `SELECT count(*) FROM (SELECT FROM log.pending LIMIT $1) p`,
		maxWaiting)
}

// Report is the state of the log for operators.
type Report struct {
	Origin    string
	Size      int64
	Published int64 // size of the last checkpoint; -1: none
	Pending   int64
	Marked    int64 // size of the mark in the storage; -1: none
	Trouble   error // why it would not sign
}

// Report returns the state of the log. It needs the storage.
func (l *Log) Report(ctx context.Context) (Report, error) {
	r, err := l.current(ctx, l.db.Pool)
	if err != nil {
		return Report{}, err
	}
	pending, err := database.Scalar[int64](ctx, l.db.Pool, "count log entries", nil, `SELECT count(*) FROM log.pending`)
	if err != nil {
		return Report{}, err
	}
	m, err := l.readMark(ctx, r)
	if err != nil {
		return Report{}, err
	}
	return Report{Origin: r.Origin, Size: r.Size, Published: r.Published, Pending: pending, Marked: m.size, Trouble: l.checkMark(ctx, r)}, nil
}

// Restart closes the log, whose keys never sign again, and begins an empty one under another origin. Receipts in the closed log keep
// their proofs. Queued entries go to the new one.
func (l *Log) Restart(ctx context.Context) (origin string, err error) {
	origin = fmt.Sprintf("%s/%s", l.origin, l.now().UTC().Format("20060102T150405Z"))
	err = l.db.InTx(ctx, func(tx database.Tx) error {
		if _, err := database.Exec(ctx, tx, "lock logs", `LOCK TABLE log.logs IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
		if _, err := database.Exec(ctx, tx, "close log", `
			WITH closed AS (
				UPDATE log.logs SET closed_at = $1, leader = NULL, leased_until = NULL WHERE closed_at IS NULL RETURNING id
			)
			UPDATE log.keys k SET private_key = NULL, signs_until = least(k.signs_until, $1) FROM closed
				WHERE k.log = closed.id`, l.now()); err != nil {
			return err
		}
		return l.begin(ctx, tx, origin)
	})
	return origin, err
}

// Check reads the whole open log and compares it with its newest checkpoint: entries, tiles, root and signature.
func (l *Log) Check(ctx context.Context) (proof.Tree, error) {
	signed, err := l.Checkpoint(ctx, 0)
	if err != nil {
		return proof.Tree{}, err
	}
	tree, err := l.verified(ctx, signed)
	if err != nil {
		return proof.Tree{}, err
	}
	r, err := l.current(ctx, l.db.Pool)
	if err != nil {
		return proof.Tree{}, err
	}
	reader := tlog.TileHashReader(tree.Tree, storedTiles{ctx, l, r})
	root, err := tlog.TreeHash(tree.N, reader)
	if err != nil || root != tree.Hash {
		return tree, errors.Join(fmt.Errorf("the tiles do not have the root of the checkpoint of size %d", tree.N), err)
	}
	for first := int64(0); first < tree.N; first += tileWidth {
		if err := l.checkEntries(ctx, r, reader, first, min(first+tileWidth, tree.N)); err != nil {
			return tree, err
		}
	}
	return tree, nil
}

// verified opens a checkpoint with the keys of the database.
func (l *Log) verified(ctx context.Context, signed string) (proof.Tree, error) {
	keys, err := l.Keys(ctx)
	if err != nil {
		return proof.Tree{}, err
	}
	var policy proof.Policy
	for _, k := range keys {
		text, err := k.Verifier()
		if err != nil {
			return proof.Tree{}, err
		}
		v, err := note.NewVerifier(text)
		if err != nil {
			return proof.Tree{}, fmt.Errorf("read log key: %w", err)
		}
		policy.Logs = append(policy.Logs, v)
	}
	v, err := proof.OpenCheckpoint([]byte(signed), policy)
	return v.Tree, err
}

// checkEntries compares stored entries with the tree.
func (l *Log) checkEntries(ctx context.Context, r row, reader tlog.HashReader, first, end int64) error {
	entries, err := database.Scalars[[]byte](ctx, l.db.Pool, "read log entries",
		`SELECT entry FROM log.entries WHERE log = $1 AND index >= $2 AND index < $3 ORDER BY index`, r.ID, first, end)
	if err != nil {
		return err
	}
	if int64(len(entries)) != end-first {
		return fmt.Errorf("of the entries %d to %d only %d are there", first, end-1, len(entries))
	}
	indexes := make([]int64, len(entries))
	for i := range entries {
		indexes[i] = tlog.StoredHashIndex(0, first+int64(i))
	}
	hashes, err := reader.ReadHashes(indexes)
	if err != nil {
		return fmt.Errorf("read tiles: %w", err)
	}
	for i, e := range entries {
		if tlog.RecordHash(e) != hashes[i] {
			return fmt.Errorf("entry %d is not the one in the tree", first+int64(i))
		}
	}
	return nil
}

// storedTiles reads tiles for tlog.TileHashReader, which checks them.
type storedTiles struct {
	ctx context.Context //nolint:containedctx // the interface has none
	l   *Log
	r   row
}

// Height implements tlog.TileReader.
func (storedTiles) Height() int { return tileHeight }

// SaveTiles implements tlog.TileReader.
func (storedTiles) SaveTiles([]tlog.Tile, [][]byte) {}

// ReadTiles implements tlog.TileReader.
func (s storedTiles) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	places := make([]place, len(tiles))
	for i, t := range tiles {
		places[i] = place{t.L, t.N}
	}
	stored, err := s.l.readTiles(s.ctx, s.l.db.Pool, s.r, places)
	if err != nil {
		return nil, err
	}
	out := make([][]byte, len(tiles))
	for i, t := range tiles {
		data := stored[places[i]]
		if len(data) < t.W*tlog.HashSize {
			return nil, fmt.Errorf("tile %d/%d is missing", t.L, t.N)
		}
		out[i] = data[:t.W*tlog.HashSize]
	}
	return out, nil
}
