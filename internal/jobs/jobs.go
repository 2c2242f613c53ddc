// Package jobs runs durable background jobs and periodic work. It uses River, whose tables are in the same database: a job
// is inserted in the caller's transaction and exists exactly if that transaction commits. Failed jobs are retried with
// back-off.
//
// Jobs must be idempotent: a server that is killed after a job's work may leave the job unfinished, and another server runs
// it again.
package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/consign-dev/consign/internal/database"
)

// Options configure a Runner. Log is required, and what Run uses: Workers, PollInterval, JobTimeout and StopWithin.
type Options struct {
	Log *slog.Logger
	// Workers is how many jobs of the default queue run in parallel. A job holds a connection while it queries.
	Workers int
	// PollOnly avoids LISTEN/NOTIFY and its connection, for a pooler that does not forward notifications. Jobs then start
	// within PollInterval.
	PollOnly bool
	// PollInterval is how often the queue is read without a notification, 100 ms or more.
	PollInterval time.Duration
	// JobTimeout bounds one run of a job. Its context ends then and the run counts as failed. Periodic work may
	// take 1/24 of its interval where that is longer, because daily work reads whole tables. A job whose server died is given
	// to another server 30 s after its timeout.
	JobTimeout time.Duration
	// StopWithin is how long running jobs may continue after Run's context ended, before their contexts end.
	StopWithin time.Duration
	// NoPeriodic registers periodic work but never schedules it: tests call RunOnce instead.
	NoPeriodic bool
}

// Runner inserts jobs and, during Run, works them. Commands beside a running server never call Run and only insert. Call
// Register, AddQueue and Every before Run; Enqueue may be called at any time.
type Runner struct {
	db       *database.DB
	options  Options
	inserter *river.Client[pgx.Tx]
	workers  *river.Workers
	queues   map[string]river.QueueConfig
	failures atomic.Int64
	running  atomic.Int64 // jobs whose code runs now

	mu       sync.Mutex
	periodic map[string]periodicWork
}

type periodicWork struct {
	interval time.Duration
	work     func(ctx context.Context) error
}

// periodicArgs is the argument of the one job kind behind all periodic work.
type periodicArgs struct {
	Name string `json:"name"`
}

// Kind implements river.JobArgs.
func (periodicArgs) Kind() string { return "periodic" }

// New returns a Runner. It does not use the database yet.
func New(db *database.DB, o Options) *Runner {
	r := &Runner{
		db:       db,
		options:  o,
		workers:  river.NewWorkers(),
		queues:   map[string]river.QueueConfig{},
		periodic: map[string]periodicWork{},
	}
	// River sends at most one notification per cooldown and process, so the jobs of a second transaction would wait for the
	// next poll. Enqueue therefore sends its own notification, and the long cooldown suppresses River's.
	inserter, err := river.NewClient(riverpgxv5.New(db.Pool), &river.Config{
		Logger:            riverLog(r.options.Log),
		FetchCooldown:     24 * time.Hour,
		FetchPollInterval: 24 * time.Hour,
	})
	if err != nil {
		panic(fmt.Sprintf("jobs: River refuses a constant configuration: %v", err))
	}
	r.inserter = inserter
	r.queues[river.QueueDefault] = river.QueueConfig{MaxWorkers: r.options.Workers}
	river.AddWorker(r.workers, periodicWorker{r: r})
	return r
}

// periodicWorker runs periodic work.
type periodicWorker struct {
	river.WorkerDefaults[periodicArgs]
	r *Runner
}

// Work implements river.Worker.
func (w periodicWorker) Work(ctx context.Context, job *river.Job[periodicArgs]) error {
	return w.r.RunOnce(database.Unhurried(ctx), job.Args.Name)
}

// Timeout implements river.Worker. River rescues a run as stuck only after its timeout, even if stuckMargin is shorter.
func (w periodicWorker) Timeout(job *river.Job[periodicArgs]) time.Duration {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	return max(w.r.options.JobTimeout, w.r.periodic[job.Args.Name].interval/24)
}

// Register sets the worker of A's kind. The context of work ends after Options.JobTimeout, and StopWithin after a stop
// began. An error of work means a retry (see Again and GiveUp). Register panics when the kind has fewer than two characters
// or is registered twice.
func Register[A river.JobArgs](r *Runner, work func(ctx context.Context, args A) error) {
	river.AddWorker(r.workers, river.WorkFunc(func(ctx context.Context, job *river.Job[A]) error {
		return work(database.Unhurried(withOrigin(ctx, job.Metadata)), job.Args) // bounded by JobTimeout
	}))
}

// RegisterLong is Register with another time limit of one run than Options.JobTimeout.
func RegisterLong[A river.JobArgs](r *Runner, within time.Duration, work func(ctx context.Context, args A) error) {
	river.AddWorker(r.workers, longWorker[A]{within: within, work: work})
}

type longWorker[A river.JobArgs] struct {
	river.WorkerDefaults[A]
	within time.Duration
	work   func(ctx context.Context, args A) error
}

// Work implements river.Worker.
func (w longWorker[A]) Work(ctx context.Context, job *river.Job[A]) error {
	return w.work(database.Unhurried(withOrigin(ctx, job.Metadata)), job.Args)
}

// Timeout implements river.Worker.
func (w longWorker[A]) Timeout(*river.Job[A]) time.Duration { return w.within }

// AddQueue adds a queue with its own workers, so that slow jobs cannot delay others. The option On selects the queue.
func (r *Runner) AddQueue(name string, workers int) {
	r.queues[name] = river.QueueConfig{MaxWorkers: workers}
}

// Every runs work at the start of Run and then once per interval, on one replica at a time: no run starts while another is
// unfinished. A failed run is retried up to five times, then at the next interval. Every panics when the name is taken.
func (r *Runner) Every(name string, interval time.Duration, work func(ctx context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.periodic[name]; taken {
		panic(fmt.Sprintf("jobs: periodic work %q is registered twice", name))
	}
	r.periodic[name] = periodicWork{interval: interval, work: work}
}

// RunOnce runs the periodic work of that name now, in the caller's goroutine, regardless of its schedule.
func (r *Runner) RunOnce(ctx context.Context, name string) error {
	r.mu.Lock()
	p, ok := r.periodic[name]
	r.mu.Unlock()
	if !ok {
		return fmt.Errorf("no periodic work is named %q", name)
	}
	if err := p.work(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
