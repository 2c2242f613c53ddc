package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/transfer/request"
	"github.com/consign-dev/consign/internal/translog"
)

// WantsHeartbeat reports whether a request with a due time runs at a time and the last heartbeat is older than pause. It takes the advisory
// lock of heartbeats: of several servers one appends.
func (s *Store) WantsHeartbeat(ctx context.Context, now, after, last time.Time) (bool, error) {
	n, err := countLocked(ctx, s.q, "look for running requests", "transfer.heartbeats", `
		SELECT count(*) AS n WHERE EXISTS (SELECT FROM transfer.requests WHERE due > $2 AND NOT template AND created_at <= $1)
			AND NOT EXISTS (SELECT FROM transfer.heartbeats WHERE at > $3)`, now, after, last)
	return n == 1, err
}

// InsertHeartbeat stores a heartbeat and queues it for the log.
func (s *Store) InsertHeartbeat(ctx context.Context, h request.Heartbeat) error {
	if _, err := database.Exec(ctx, s.q, "store heartbeat", `INSERT INTO transfer.heartbeats (at, body, entry) VALUES ($1, $2, $3)`,
		h.At, h.Body, h.Entry); err != nil {
		return err
	}
	return translog.AppendAll(ctx, s.tx, [][]byte{h.Entry})
}

// Heartbeats returns heartbeats in order.
func (s *Store) Heartbeats(ctx context.Context, from, until time.Time) ([]request.Heartbeat, error) {
	return database.All[request.Heartbeat](ctx, s.q, "list heartbeats",
		`SELECT at, body, entry FROM transfer.heartbeats WHERE at BETWEEN $1 AND $2 ORDER BY at`, from, until)
}

// DeleteHeartbeats deletes heartbeats before a time.
func (s *Store) DeleteHeartbeats(ctx context.Context, before time.Time, limit int) (int, error) {
	return database.Exec(ctx, s.q, "delete heartbeats", `
		DELETE FROM transfer.heartbeats WHERE at IN (SELECT at FROM transfer.heartbeats WHERE at < $1 ORDER BY at LIMIT $2)`, before, limit)
}
