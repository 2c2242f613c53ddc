package audit

import (
	"context"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/database"
)

// Taken is an entry that was queued for the stream.
type Taken struct {
	Record
	Missing bool // the audit has deleted it since; only ID and At are known
}

// Take removes the entries that were queued first from the queue, and returns them in the order of their IDs.
func Take(ctx context.Context, tx database.Tx, limit int) ([]Taken, error) {
	// ARRAY is computed once, as in package translog.
	queued, err := database.All[struct {
		ID int64
		At time.Time
	}](ctx, tx, "take queued audit entries", `
		WITH taken AS (
			DELETE FROM audit_pending WHERE ctid = ANY (ARRAY (SELECT ctid FROM audit_pending ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED))
				RETURNING id, at
		)
		SELECT id, at FROM taken ORDER BY id`, limit)
	if err != nil || len(queued) == 0 {
		return nil, err
	}
	out, ids := make([]Taken, len(queued)), make([]int64, len(queued))
	first, last := queued[0].At, queued[0].At
	places := make(map[int64]int, len(queued))
	for i, q := range queued {
		out[i].Record, out[i].Missing = Record{ID: q.ID, At: q.At.UTC(), Entry: Entry{Action: "audit.missing"}}, true
		ids[i], places[q.ID] = q.ID, i
		first, last = slices.MinFunc([]time.Time{first, q.At}, time.Time.Compare), slices.MaxFunc([]time.Time{last, q.At}, time.Time.Compare)
	}
	// The bounds leave out the partitions of other months.
	records, err := database.All[Record](ctx, tx, "read queued audit entries",
		`SELECT `+columns+` FROM audit WHERE id = ANY ($1) AND at BETWEEN $2 AND $3`, ids, first, last)
	for _, r := range records {
		r.At = r.At.UTC()
		out[places[r.ID]] = Taken{Record: r}
	}
	return out, err
}
