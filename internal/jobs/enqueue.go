package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/requestid"
)

// maxAttempts with the delays of retryPolicy makes about four days.
const maxAttempts = 100

// unfinished are the states in which a job still has to run; it takes the place of a Unique one then.
var unfinished = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
	rivertype.JobStateRunning, rivertype.JobStateScheduled,
}

// Option changes how a job is inserted.
type Option func(*river.InsertOpts)

// On puts the job into a queue made by AddQueue.
func On(queue string) Option { return func(o *river.InsertOpts) { o.Queue = queue } }

// At starts the job not before t, by the clock of the machine, whatever clock a test uses.
func At(t time.Time) Option { return func(o *river.InsertOpts) { o.ScheduledAt = t } }

// Unique inserts nothing while a job of the same kind and arguments, inserted as Unique, is not finished. A job that
// already runs counts: what it should see must be committed in a way that it looks for again, or be enqueued without.
func Unique() Option {
	return func(o *river.InsertOpts) {
		o.UniqueOpts = river.UniqueOpts{ByArgs: true, ByState: unfinished}
	}
}

// Enqueue inserts a job in the caller's transaction. It starts within about 150 ms of the commit, and never without.
func (r *Runner) Enqueue(ctx context.Context, tx database.Tx, args river.JobArgs, options ...Option) error {
	return r.EnqueueAll(ctx, tx, []river.JobArgs{args}, options...)
}

// EnqueueAll inserts many jobs in two round trips; all get the same options.
func (r *Runner) EnqueueAll(ctx context.Context, tx database.Tx, all []river.JobArgs, options ...Option) error {
	if len(all) == 0 {
		return nil
	}
	opts := river.InsertOpts{MaxAttempts: maxAttempts, Queue: river.QueueDefault, Metadata: metadata(ctx)}
	for _, option := range options {
		option(&opts)
	}
	params := make([]river.InsertManyParams, len(all))
	for i, args := range all {
		own := opts
		params[i] = river.InsertManyParams{Args: args, InsertOpts: &own}
	}
	if _, err := r.inserter.InsertManyTx(ctx, tx, params); err != nil {
		return fmt.Errorf("insert jobs: %w", err)
	}
	return notify(ctx, tx, opts.Queue)
}

// origin is what a job's metadata hold of ours: the request that caused it, for the log.
type origin struct {
	RequestID string `json:"request_id,omitempty"`
}

// metadata gives a job what it keeps of the context it is enqueued in; nil for nothing.
func metadata(ctx context.Context) []byte {
	id := requestid.From(ctx)
	if id == "" {
		return nil
	}
	raw, err := json.Marshal(origin{RequestID: id})
	if err != nil { // a string is always encoded
		return nil
	}
	return raw
}

// caused returns ctx with the request that caused a job; metadata of other programs name none.
func caused(ctx context.Context, metadata []byte) context.Context {
	var o origin
	if json.Unmarshal(metadata, &o) != nil {
		return ctx
	}
	return requestid.With(ctx, o.RequestID)
}

// notify wakes the servers that work a queue once the transaction commits, in the form River's listener expects.
// Postgres sends a notification repeated within one transaction once.
func notify(ctx context.Context, q database.Querier, queue string) error {
	payload, err := json.Marshal(map[string]string{"queue": queue})
	if err != nil {
		return fmt.Errorf("encode notification: %w", err)
	}
	if _, err := q.Exec(ctx, `SELECT pg_notify(current_schema() || '.river_insert', $1)`, string(payload)); err != nil {
		return fmt.Errorf("notify job queue: %w", err)
	}
	return nil
}

// Again is what a job returns to be run once more after d without that counting as a failure.
func Again(d time.Duration) error { return river.JobSnooze(max(d, 0)) }

// GiveUp is what a job returns to be ended for good; err says why and is logged.
func GiveUp(err error) error { return river.JobCancel(err) }
