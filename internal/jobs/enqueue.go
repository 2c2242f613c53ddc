// Puts jobs into the queue within a transaction, and their options.

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

// maxAttempts spans about four days with the delays of retryPolicy.
const maxAttempts = 100

// unfinished lists the states of a job that still has to run. Such a job blocks the insertion of another Unique one.
var unfinished = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
	rivertype.JobStateRunning, rivertype.JobStateScheduled,
}

// Option changes how a job is inserted.
type Option func(*river.InsertOpts)

// On puts the job into a queue of AddQueue.
func On(queue string) Option { return func(o *river.InsertOpts) { o.Queue = queue } }

// At delays the job until t, by real time even if a test uses a manual clock.
func At(t time.Time) Option { return func(o *river.InsertOpts) { o.ScheduledAt = t } }

// Unique inserts nothing while an unfinished Unique job has the same kind and arguments. A running job counts as
// unfinished, so it must look for new work until it finds none; otherwise enqueue without Unique.
func Unique() Option {
	return func(o *river.InsertOpts) {
		o.UniqueOpts = river.UniqueOpts{ByArgs: true, ByState: unfinished}
	}
}

// Enqueue inserts a job in the caller's transaction. The job starts within about 150 ms after the commit, and never
// without a commit.
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

// origin is stored in a job's metadata: the request that enqueued it, for the log.
type origin struct {
	RequestID string `json:"request_id,omitempty"`
}

// metadata returns the origin from the context, encoded; nil without a request.
func metadata(ctx context.Context) []byte {
	id := requestid.From(ctx)
	if id == "" {
		return nil
	}
	raw, err := json.Marshal(origin{RequestID: id})
	if err != nil { // impossible for a string
		return nil
	}
	return raw
}

// withOrigin returns ctx with the request id of a job's metadata, if there is one.
func withOrigin(ctx context.Context, metadata []byte) context.Context {
	var o origin
	if json.Unmarshal(metadata, &o) != nil {
		return ctx
	}
	return requestid.With(ctx, o.RequestID)
}

// notify wakes the servers that work a queue when the transaction commits, in the form that River's listener expects.
// Postgres sends identical notifications of one transaction once.
func notify(ctx context.Context, q database.Querier, queue string) error {
	payload, err := json.Marshal(map[string]string{"queue": queue})
	if err != nil {
		return fmt.Errorf("encode notification: %w", err)
	}
	_, err = database.Exec(ctx, q, "notify job queue", `SELECT pg_notify(current_schema() || '.river_insert', $1)`, string(payload))
	return err
}

// Again returns the error with which a job asks for another run after d, without counting a failure.
func Again(d time.Duration) error { return river.JobSnooze(max(d, 0)) }

// GiveUp returns the error with which a job ends without further retries. err is the logged reason.
func GiveUp(err error) error { return river.JobCancel(err) }
