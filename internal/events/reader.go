package events

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
)

// reader reads the feed of one connected person for all of that person's streams. A wake costs one query for all streams: the first
// stream reads a page, and the others use that page. A stream that lags behind the page runs its own queries.
type reader struct {
	db      *database.DB
	person  id.Person
	streams map[*stream]struct{} // guarded by Feed.mu

	wakes   atomic.Int64  // number of wakes so far
	reading chan struct{} // semaphore of one slot; guards page
	page    page
}

// page is the result of the last query.
type page struct {
	wakes   int64 // reader.wakes before the query; after a later wake the page is outdated
	from    int64 // cursor that the records follow
	records []record
	full    bool // there may be more records after the last
}

func newReader(db *database.DB, person id.Person) *reader {
	return &reader{
		db: db, person: person, streams: map[*stream]struct{}{},
		reading: make(chan struct{}, 1), page: page{wakes: -1},
	}
}

// wake makes every stream read on. The caller holds Feed.mu.
func (r *reader) wake() {
	r.wakes.Add(1)
	for s := range r.streams {
		select {
		case s.woken <- struct{}{}:
		default: // it is woken already
		}
	}
}

// next returns the events after cursor, in order, or none when there are no more now. The caller must not change the records.
// Errors: errReading when the table could not be read.
func (r *reader) next(ctx context.Context, cursor int64) ([]record, error) {
	select {
	case r.reading <- struct{}{}:
		defer func() { <-r.reading }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	wakes := r.wakes.Load()
	if r.page.wakes == wakes && r.page.from <= cursor {
		if rest := r.page.after(cursor); len(rest) > 0 || !r.page.full {
			return rest, nil
		}
	}
	records, err := after(ctx, r.db.Pool, r.person, cursor)
	if err != nil {
		return nil, err
	}
	r.page = page{wakes: wakes, from: cursor, records: records, full: len(records) == pageSize}
	return records, nil
}

// after returns the records beyond cursor.
func (p page) after(cursor int64) []record {
	for i, rec := range p.records {
		if rec.ID > cursor {
			return p.records[i:]
		}
	}
	return nil
}

// record is one row of a feed.
type record struct {
	ID        int64
	UID       uuid.UUID
	Kind      string
	Subject   string
	CreatedAt time.Time
}

// position returns the number of a person's newest event, 0 when there is none.
func position(ctx context.Context, q database.Querier, person id.Person) (int64, error) {
	return database.Scalar[int64](ctx, q, "read position of feed", nil, `
		SELECT coalesce(max(last_id), 0) FROM event_feeds WHERE person = $1`, person)
}

// after returns a person's next events, at most pageSize, in the order of their numbers.
// Errors: errReading.
func after(ctx context.Context, q database.Querier, person id.Person, cursor int64) ([]record, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	records, err := database.All[record](ctx, q, "read events", `
		SELECT id, uid, kind, subject, created_at FROM events
		WHERE person = $1 AND id > $2 ORDER BY id LIMIT $3`, person, cursor, pageSize)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errReading, err)
	}
	return records, nil
}
