// Works jobs: delays between attempts, time limits, the orderly stop, and the log of failures.

package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/consign-dev/consign/internal/repeats"
)

const (
	fetchCooldown    = 100 * time.Millisecond // minimum time between reads of a queue: the longest delay of a notified job
	startRetry       = time.Second            // between attempts to start while Postgres is unavailable
	stuckMargin      = 30 * time.Second       // after JobTimeout, a job that still counts as running is given to another server
	stopGrace        = 5 * time.Second        // for jobs to return after their context ended
	maxRetryDelay    = time.Hour
	periodicAttempts = 5
)

// Run works jobs until ctx ends. Then it takes no more jobs, and gives running ones Options.StopWithin before their
// contexts end. It returns nil after an orderly stop, even if Postgres was unavailable. Another server runs the unfinished
// jobs again.
func (r *Runner) Run(ctx context.Context) error {
	for {
		client, err := r.client()
		if err != nil {
			return fmt.Errorf("configure jobs: %w", err)
		}
		// River ends job contexts only SoftStopTimeout after ctx ends.
		if err = client.Start(ctx); err == nil {
			return r.wait(ctx, client)
		}
		if ctx.Err() != nil {
			return nil
		}
		r.options.Log.WarnContext(ctx, "cannot start jobs; retrying", slog.Any("error", err))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(startRetry):
		}
	}
}

func (r *Runner) wait(ctx context.Context, client *river.Client[pgx.Tx]) error {
	stopped := client.Stopped()
	select {
	case <-ctx.Done():
	case <-stopped:
		if ctx.Err() == nil {
			return errors.New("jobs stopped unexpectedly")
		}
	}
	select {
	case <-stopped:
		return nil
	case <-time.After(r.options.StopWithin + stopGrace):
	}
	if r.running.Load() > 0 {
		return errors.New("stop jobs: some still run after their context ended")
	}
	// River waits for a database that does not answer: to store results, 10 s three times. The end of the pool ends that.
	r.options.Log.WarnContext(ctx, "the jobs ended, and the database does not take their results; another server runs them again")
	return nil
}

// counted counts a job while its code runs.
func (r *Runner) counted(ctx context.Context, _ *rivertype.JobRow, work func(context.Context) error) error {
	r.running.Add(1)
	defer r.running.Add(-1)
	return work(ctx)
}

// client returns a new working client: a client that failed to start cannot be started again.
func (r *Runner) client() (*river.Client[pgx.Tx], error) {
	return river.NewClient(riverpgxv5.New(r.db.Pool), &river.Config{
		Workers:              r.workers,
		Queues:               r.queues,
		Logger:               riverLog(repeats.Logger(r.options.Log, time.Minute, time.Now)),
		ErrorHandler:         failureLog{r.options.Log, &r.failures},
		RetryPolicy:          retryPolicy{},
		Middleware:           []rivertype.Middleware{river.WorkerMiddlewareFunc(r.counted)},
		FetchCooldown:        fetchCooldown,
		FetchPollInterval:    r.options.PollInterval,
		PollOnly:             r.options.PollOnly,
		JobTimeout:           r.options.JobTimeout,
		RescueStuckJobsAfter: r.options.JobTimeout + stuckMargin,
		SoftStopTimeout:      r.options.StopWithin,
		MaxAttempts:          maxAttempts,
		PeriodicJobs:         r.periodicJobs(),

		CompletedJobRetentionPeriod: time.Hour,
		CancelledJobRetentionPeriod: 24 * time.Hour,
		DiscardedJobRetentionPeriod: 7 * 24 * time.Hour,
	})
}

func (r *Runner) periodicJobs() []*river.PeriodicJob {
	if r.options.NoPeriodic {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*river.PeriodicJob, 0, len(r.periodic))
	for name, p := range r.periodic {
		construct := func() (river.JobArgs, *river.InsertOpts) {
			return periodicArgs{Name: name}, &river.InsertOpts{
				MaxAttempts: periodicAttempts,
				UniqueOpts:  river.UniqueOpts{ByArgs: true, ByState: unfinished},
			}
		}
		// A server that restarts more often than the interval would otherwise never run the work.
		list = append(list, river.NewPeriodicJob(river.PeriodicInterval(p.interval), construct,
			&river.PeriodicJobOpts{ID: name, RunOnStart: true}))
	}
	return list
}

// retryPolicy is exponential back-off: 1, 2, 4 … seconds, at most an hour, with up to 25 % jitter.
type retryPolicy struct{}

// NextRetry implements river.ClientRetryPolicy.
func (retryPolicy) NextRetry(job *rivertype.JobRow) time.Time {
	delay := min(time.Second<<min(len(job.Errors), 12), maxRetryDelay)
	return time.Now().Add(delay + rand.N(delay/4))
}

// failureLog counts failed runs and logs one line for each, without the job's arguments.
type failureLog struct {
	log   *slog.Logger
	count *atomic.Int64
}

// HandleError implements river.ErrorHandler.
func (f failureLog) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	f.count.Add(1)
	f.log.WarnContext(withOrigin(ctx, job.Metadata), "job failed", slog.String("kind", job.Kind), slog.Int64("job", job.ID),
		slog.Int("attempt", job.Attempt), slog.Any("error", err))
	return nil
}

// HandlePanic implements river.ErrorHandler.
func (f failureLog) HandlePanic(ctx context.Context, job *rivertype.JobRow, value any, trace string) *river.ErrorHandlerResult {
	f.count.Add(1)
	f.log.ErrorContext(withOrigin(ctx, job.Metadata), "job panicked", slog.String("kind", job.Kind), slog.Int64("job", job.ID),
		slog.Int("attempt", job.Attempt), slog.Any("panic", value), slog.String("trace", trace))
	return nil
}

// riverLog passes River's warnings and drops lower levels: failureLog logs failed jobs.
func riverLog(log *slog.Logger) *slog.Logger { return slog.New(warnings{log.Handler()}) }

type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler. It drops records about work that a stop canceled.
func (w warnings) Handle(ctx context.Context, r slog.Record) error {
	canceled := false
	r.Attrs(func(a slog.Attr) bool {
		canceled = canceled || strings.Contains(a.Value.String(), context.Canceled.Error())
		return !canceled
	})
	if canceled {
		return nil
	}
	return w.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
