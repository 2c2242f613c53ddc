package translog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/proof"
)

// ErrPending means that an entry waits for its place in the log, or for its checkpoint. It is there within a second or two.
var ErrPending = errors.New("the entry is not signed yet")

// checkpointRow is a published checkpoint.
type checkpointRow struct {
	Size         int64
	Note         string
	Cosignatures *string
	Timestamp    []byte
	SignedAt     time.Time
}

// signed returns the note with the cosignatures.
func (c checkpointRow) signed() string {
	if c.Cosignatures == nil {
		return c.Note
	}
	return c.Note + *c.Cosignatures
}

const checkpointColumns = `c.size, c.note, c.cosignatures, c.timestamp, c.signed_at`

// placed is where an entry is, with the checkpoint that proves it.
type placed struct {
	checkpointRow
	ID     int32
	Origin string
	Index  int64
}

// Prove returns the proof of an entry. It leads to the first checkpoint that has the entry, a time stamp and cosignatures, else to the
// first with a time stamp, else to the first with cosignatures, else to the first that has it: so the proof does not change later, except
// that it gains these.
// Errors: ErrPending.
func (l *Log) Prove(ctx context.Context, entry []byte) (proof.Proof, error) {
	const first = `(SELECT min(size) FROM log.checkpoints x WHERE x.log = e.log AND x.size > e.index`
	p, err := database.One[placed](ctx, l.db.Pool, "find log entry", ErrPending, `
		SELECT `+checkpointColumns+`, g.id, g.origin, e.index
		FROM log.entries e JOIN log.logs g ON g.id = e.log
		JOIN log.checkpoints c ON c.log = e.log AND c.size = coalesce(
			`+first+` AND x.timestamp IS NOT NULL AND x.cosignatures IS NOT NULL), `+first+` AND x.timestamp IS NOT NULL), `+first+` AND x.cosignatures IS NOT NULL), `+first+`))
		WHERE e.entry = $1`, entry)
	if err != nil {
		return proof.Proof{}, err
	}
	hashes, err := l.record(ctx, row{ID: p.ID, Origin: p.Origin}, p.Size, p.Index)
	return proof.Proof{Index: p.Index, Hashes: hashes, Checkpoint: []byte(p.signed()), Extra: p.Timestamp}, err
}

// record returns the inclusion proof of the entry at index in the tree of that size.
func (l *Log) record(ctx context.Context, r row, size, index int64) (tlog.RecordProof, error) {
	hashes, err := tlog.ProveRecord(size, index, l.hashes(ctx, r))
	if err != nil {
		return nil, fmt.Errorf("prove log entry: %w", err)
	}
	return hashes, nil
}
