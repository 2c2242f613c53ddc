package jobs

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/database"
)

// QueueStats are how much there is to do in one queue of the installation.
type QueueStats struct {
	Queue     string
	Due       int64         // may run and do not
	Scheduled int64         // shall run later: at their time, or again after a failure
	Running   int64         // on any replica
	OldestDue time.Duration // how long the job that has been due for longest has been; 0 when none is
}

// Failures returns how many runs of jobs have failed in this process since its start.
func (r *Runner) Failures() int64 { return r.failures.Load() }

// Stats returns the present numbers of each queue of this Runner and of those that other versions have left jobs in, in
// order. It takes one statement.
func (r *Runner) Stats(ctx context.Context) ([]QueueStats, error) {
	found, err := database.All[QueueStats](ctx, r.db.Pool, "count jobs", `
		SELECT queue,
		       count(*) FILTER (WHERE state <> 'running' AND scheduled_at <= clock_timestamp()) AS due,
		       count(*) FILTER (WHERE state <> 'running' AND scheduled_at > clock_timestamp()) AS scheduled,
		       count(*) FILTER (WHERE state = 'running') AS running,
		       coalesce(clock_timestamp() - min(scheduled_at) FILTER (WHERE state <> 'running' AND scheduled_at <= clock_timestamp()), '0') AS oldest_due
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
