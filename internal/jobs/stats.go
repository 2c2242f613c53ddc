package jobs

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/database"
)

// QueueStats counts the jobs of one queue, over all replicas.
type QueueStats struct {
	Queue     string
	Due       int64 // ready to run
	Scheduled int64 // will run later: scheduled, or waiting for a retry
	Running   int64
	OldestDue time.Duration // age of the oldest due job; 0 when none is due
}

// Failures returns how many runs of jobs failed in this process.
func (r *Runner) Failures() int64 { return r.failures.Load() }

// Stats returns the counts of each queue of this Runner, and of queues in which other versions left jobs, sorted by name.
// It takes one statement.
func (r *Runner) Stats(ctx context.Context) ([]QueueStats, error) {
	found, err := database.All[QueueStats](ctx, r.db.Pool, "count jobs", `
		SELECT queue,
		       count(*) FILTER (WHERE state <> 'running' AND scheduled_at <= clock_timestamp()) AS due,
		       count(*) FILTER (WHERE state <> 'running' AND scheduled_at > clock_timestamp()) AS scheduled,
		       count(*) FILTER (WHERE state = 'running') AS running,
		       coalesce(clock_timestamp() - min(scheduled_at) FILTER (WHERE state <> 'running' AND scheduled_at <= clock_timestamp()),
			'0') AS oldest_due
		FROM river_job
		WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
		GROUP BY queue`)
	if err != nil {
		return nil, err
	}
	byName := map[string]QueueStats{}
	for name := range r.queues {
		byName[name] = QueueStats{Queue: name}
	}
	for _, s := range found {
		byName[s.Queue] = s
	}
	var all []QueueStats
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, byName[name])
	}
	return all, nil
}
