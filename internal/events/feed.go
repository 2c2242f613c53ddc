// The feed of one process: wakes its streams after notifications, or polls without a listener. Deletes old events.

package events

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
)

const (
	// pollInterval is the pause between polls of the table while the listener is not confirmed. The listener counts as working when it
	// was confirmed within confirmedWithin. Together they stay below the second that contract 3.15 allows.
	pollInterval    = 400 * time.Millisecond
	confirmedWithin = 500 * time.Millisecond
	// pageSize bounds the events of one person in memory, however far the streams lag.
	pageSize = 100
	// readTimeout bounds one query of a feed. The stream retries after it.
	readTimeout = 5 * time.Second
	// cleanBatch bounds the rows that one statement of Clean deletes, so that it holds locks only briefly.
	cleanBatch = 5000
)

// Feed serves the event streams of this process. Its memory is bounded by the number of connected streams, because it queues no events:
// a wake makes a stream read on from its own cursor, at the pace of its client.
type Feed struct {
	db          *database.DB
	listener    *database.Listener
	revocations *token.Revocations
	retention   time.Duration
	now         func() time.Time
	log         *slog.Logger
	heartbeat   time.Duration
	closeGrace  time.Duration

	unreadable atomic.Bool // the last attempt to read failed

	stopped chan struct{} // closed when Run ends
	stop    sync.Once

	mu       sync.Mutex
	persons  map[id.Person]*reader    // of the connected persons
	sessions map[id.Session][]*stream // streams of a session, oldest first
}

// NewFeed returns a Feed that keeps events for retention. It subscribes with the listener. Call it before the listener runs.
func NewFeed(db *database.DB, listener *database.Listener, revocations *token.Revocations, retention time.Duration,
	now func() time.Time, log *slog.Logger) *Feed {
	f := &Feed{
		db: db, listener: listener, revocations: revocations, retention: retention, now: now, log: log,
		heartbeat:  heartbeatInterval,
		closeGrace: closeGraceLimit,
		stopped:    make(chan struct{}),
		persons:    map[id.Person]*reader{},
		sessions:   map[id.Session][]*stream{},
	}
	listener.Handle(channel, f.notified, func(context.Context) error {
		f.wakeAll() // notifications were lost while there was no connection
		return nil
	})
	return f
}

// Run polls the table for all streams while the listener is not confirmed, and ends all streams when ctx ends.
func (f *Feed) Run(ctx context.Context) error {
	defer f.stop.Do(func() { close(f.stopped) })
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			f.runOnce()
		}
	}
}

// runOnce is one round of Run.
func (f *Feed) runOnce() {
	if !f.listener.ConfirmedWithin(confirmedWithin) {
		f.wakeAll()
	}
}

// notified handles one notification of Append.
func (f *Feed) notified(payload string) {
	persons, all := receivers(payload)
	if all {
		f.wakeAll()
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, person := range persons {
		if r := f.persons[person]; r != nil {
			r.wake()
		}
	}
}

func (f *Feed) wakeAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.persons {
		r.wake()
	}
}

// Clean deletes events older than the retention, and the counters of feeds without events since then. A new counter starts at the
// clock, so Clean deletes only counters whose last number is older than the retention.
func (f *Feed) Clean(ctx context.Context) error {
	before := f.now().Add(-f.retention)
	for _, step := range []struct {
		name, sql string
		args      []any
	}{
		{"events", `
			DELETE FROM events WHERE ctid = ANY (ARRAY (SELECT ctid FROM events WHERE created_at < $1 LIMIT $2))`,
			[]any{before, cleanBatch}},
		{"event feeds", `
			DELETE FROM event_feeds WHERE ctid = ANY (ARRAY (
				SELECT ctid FROM event_feeds WHERE used_at < $1 AND last_id < $3 ORDER BY used_at LIMIT $2
				FOR UPDATE SKIP LOCKED))`,
			[]any{before, cleanBatch, before.UnixMicro()}},
	} {
		for {
			n, err := database.Exec(ctx, f.db.Pool, "clean "+step.name, step.sql, step.args...)
			if err != nil {
				return err
			}
			if n < cleanBatch {
				break
			}
		}
	}
	return nil
}
