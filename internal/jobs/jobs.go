// Package jobs owns work that happens after the transaction that causes it: durable jobs, retried until they succeed,
// and work that recurs. It runs on River, whose tables live in the same database, so that a job is inserted in the
// caller's transaction and exists exactly if that transaction commits.
//
// It does not own what the jobs do. Every job must bear being run twice: a server killed at the wrong moment leaves a
// finished job looking unfinished, and another server then does it again.
package jobs

import (
	"cmp"
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

// Options of a Runner. Zero values take the defaults in brackets.
type Options struct {
	Log *slog.Logger // [none]
	// Workers is how many jobs of the default queue run at once [8]. A job that queries holds a connection meanwhile.
	Workers int
	// PollOnly does without LISTEN/NOTIFY and the connection that takes, for a pooler that cannot pass notifications
	// on; jobs then start within PollInterval.
	PollOnly bool
	// PollInterval is how often the queue is read although nothing was notified [5 s; 1 s if PollOnly].
	PollInterval time.Duration
	// JobTimeout bounds one run of a job; its context ends then and the run counts as failed [2 min]. Recurring work may take a
	// 24th of its interval where that is longer: what is done once a day looks at everything there is.
	JobTimeout time.Duration
	// StuckAfter is when a job whose server vanished is given to another [JobTimeout + 30 s]; never below JobTimeout.
	StuckAfter time.Duration
	// StopWithin bounds how long Run lets running jobs go on after its context ended, before it ends theirs [10 s].
	StopWithin time.Duration
	// NoPeriodic registers what Every is given but never schedules it: tests call RunOnce when they want it.
	NoPeriodic bool
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Workers = cmp.Or(o.Workers, 8)
	if o.PollOnly {
		o.PollInterval = cmp.Or(o.PollInterval, time.Second)
	}
	o.PollInterval = max(cmp.Or(o.PollInterval, 5*time.Second), fetchCooldown)
	o.JobTimeout = cmp.Or(o.JobTimeout, 2*time.Minute)
	o.StuckAfter = max(cmp.Or(o.StuckAfter, o.JobTimeout+30*time.Second), o.JobTimeout)
	o.StopWithin = cmp.Or(o.StopWithin, 10*time.Second)
	return o
}

// Runner inserts jobs and, while Run runs, works them. A Runner on which Run is never called only inserts: that is what
// commands beside a running server use. Register, AddQueue and Every come before Run; Enqueue may be called at any time.
type Runner struct {
	db       *database.DB
	options  Options
	inserter *river.Client[pgx.Tx]
	workers  *river.Workers
	queues   map[string]river.QueueConfig
	failures atomic.Int64

	mu       sync.Mutex
	periodic map[string]periodicWork
}

type periodicWork struct {
	interval time.Duration
	work     func(ctx context.Context) error
}

// periodicArgs is the one kind of job behind all recurring work.
type periodicArgs struct {
	Name string `json:"name"`
}

// Kind implements river.JobArgs.
func (periodicArgs) Kind() string { return "periodic" }

// New makes a Runner; it does not touch the database.
func New(db *database.DB, o Options) *Runner {
	r := &Runner{
		db:       db,
		options:  o.withDefaults(),
		workers:  river.NewWorkers(),
		queues:   map[string]river.QueueConfig{},
		periodic: map[string]periodicWork{},
	}
	// The inserting client would send its own notifications, but at most one per cooldown and process, which leaves the
	// jobs of a second transaction to the next poll. Enqueue notifies itself, so this one is kept quiet.
	inserter, err := river.NewClient(riverpgxv5.New(db.Pool), &river.Config{
		Logger:            riverLog(r.options.Log),
		FetchCooldown:     24 * time.Hour,
		FetchPollInterval: 24 * time.Hour,
	})
	if err != nil {
		panic(fmt.Sprintf("jobs: a client with a constant configuration was refused: %v", err))
	}
	r.inserter = inserter
	r.queues[river.QueueDefault] = river.QueueConfig{MaxWorkers: r.options.Workers}
	river.AddWorker(r.workers, periodicWorker{r: r})
	return r
}

// periodicWorker does recurring work.
type periodicWorker struct {
	river.WorkerDefaults[periodicArgs]
	r *Runner
}

// Work implements river.Worker.
func (w periodicWorker) Work(ctx context.Context, job *river.Job[periodicArgs]) error {
	return w.r.RunOnce(database.Unhurried(ctx), job.Args.Name)
}

// Timeout implements river.Worker. A run that goes on for so long is not given to another server before, however long StuckAfter is.
func (w periodicWorker) Timeout(job *river.Job[periodicArgs]) time.Duration {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	return max(w.r.options.JobTimeout, w.r.periodic[job.Args.Name].interval/24)
}

// Register tells how jobs of A's kind are done. work gets a context that ends after Options.JobTimeout and when a stop
// takes too long. Its error means another try later (see Again and GiveUp). Kinds have two characters at least and are
// registered once; anything else panics at start, being a mistake in the program.
func Register[A river.JobArgs](r *Runner, work func(ctx context.Context, args A) error) {
	river.AddWorker(r.workers, river.WorkFunc(func(ctx context.Context, job *river.Job[A]) error {
		return work(database.Unhurried(caused(ctx, job.Metadata)), job.Args) // JobTimeout bounds it
	}))
}

// AddQueue makes a queue of its own, worked by that many jobs at once, so that slow jobs cannot hold up the others.
// Jobs get there by the option On.
func (r *Runner) AddQueue(name string, workers int) {
	r.queues[name] = river.QueueConfig{MaxWorkers: workers}
}

// Every runs work at start and then once an interval, on one replica at a time: while one run is unfinished, none else
// is begun. A run that fails is repeated soon, up to five times, then at the next interval. Names are unique.
func (r *Runner) Every(name string, interval time.Duration, work func(ctx context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.periodic[name]; taken {
		panic(fmt.Sprintf("jobs: recurring work %q is registered twice", name))
	}
	r.periodic[name] = periodicWork{interval: interval, work: work}
}

// RunOnce does the recurring work of that name now, in the caller's goroutine, whatever its schedule says.
func (r *Runner) RunOnce(ctx context.Context, name string) error {
	r.mu.Lock()
	p, ok := r.periodic[name]
	r.mu.Unlock()
	if !ok {
		return fmt.Errorf("no recurring work is called %q", name)
	}
	if err := p.work(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
