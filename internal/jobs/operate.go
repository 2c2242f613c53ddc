// Jobs as operators see them: list, run now, cancel.

package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river/rivertype"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/fault"
)

// ErrNotFound says that there is no job with this id, or it was removed since it ended.
var ErrNotFound = fault.ErrNotFound.With("id: there is no such job")

// States are the states that Filter knows.
var States = []string{"available", "cancelled", "completed", "discarded", "pending", "retryable", "running", "scheduled"}

// Job is a job as operators see it: what it is about is not in it.
type Job struct {
	ID          int64
	Kind        string // with the name of periodic work, as in "periodic audit-clean"
	Queue       string
	State       string
	Attempt     int
	MaxAttempts int
	CreatedAt   time.Time
	ScheduledAt time.Time
	AttemptedAt *time.Time
	FinalizedAt *time.Time
	LastError   string // of the last run that failed; empty: none did
}

// Filter selects jobs for List. A zero field does not restrict.
type Filter struct {
	State string // one of States
	Queue string
	After int64 // cursor: only jobs before it in the list
	Limit int   // at least 1
}

const jobColumns = `id, CASE kind WHEN 'periodic' THEN 'periodic ' || coalesce(args->>'name', '') ELSE kind END AS kind, queue, state::text AS state,
	attempt::int AS attempt, max_attempts::int AS max_attempts, created_at, scheduled_at, attempted_at, finalized_at,
	coalesce(left(errors[array_upper(errors, 1)]->>'error', 500), '') AS last_error`

// List returns the newest jobs first.
func (r *Runner) List(ctx context.Context, f Filter) ([]Job, error) {
	return database.All[Job](ctx, r.db.Pool, "list jobs", `
		SELECT `+jobColumns+` FROM river_job
		WHERE ($1 = '' OR state::text = $1) AND ($2 = '' OR queue = $2) AND ($3 = 0 OR id < $3)
		ORDER BY id DESC LIMIT $4`, f.State, f.Queue, f.After, f.Limit)
}

// Retry makes a job due now. A running one is left alone; one that has ended runs again.
// Errors: ErrNotFound.
func (r *Runner) Retry(ctx context.Context, id int64) (Job, error) {
	if _, err := r.inserter.JobRetry(ctx, id); err != nil {
		return Job{}, unknown(err)
	}
	return r.job(ctx, id)
}

// Cancel ends a job: it does not run again. The context of one that runs is cancelled. A job that has ended is left alone.
// Errors: ErrNotFound.
func (r *Runner) Cancel(ctx context.Context, id int64) (Job, error) {
	if _, err := r.inserter.JobCancel(ctx, id); err != nil {
		return Job{}, unknown(err)
	}
	return r.job(ctx, id)
}

func (r *Runner) job(ctx context.Context, id int64) (Job, error) {
	return database.One[Job](ctx, r.db.Pool, "read job", ErrNotFound, `SELECT `+jobColumns+` FROM river_job WHERE id = $1`, id)
}

func unknown(err error) error {
	if errors.Is(err, rivertype.ErrNotFound) {
		return ErrNotFound
	}
	return err
}
