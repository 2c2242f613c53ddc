package jobs_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
)

type greet struct {
	Name string `json:"name"`
}

// Kind implements river.JobArgs.
func (greet) Kind() string { return "greet" }

func open(t testing.TB, url string) *database.DB {
	t.Helper()
	db, err := database.New(t.Context(), url, 5)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// newRunner returns a Runner. Zero values of o are replaced.
func newRunner(db *database.DB, o jobs.Options) *jobs.Runner {
	o.Log = slog.New(slog.DiscardHandler)
	o.Workers = cmp.Or(o.Workers, 8)
	o.PollInterval = cmp.Or(o.PollInterval, 5*time.Second)
	o.JobTimeout = cmp.Or(o.JobTimeout, 2*time.Minute)
	o.StopWithin = cmp.Or(o.StopWithin, 10*time.Second)
	return jobs.New(db, o)
}

// start runs a Runner until the returned function is called or the test ends; the function returns Run's error.
func start(t testing.TB, r *jobs.Runner) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return stop
}

func enqueue(t testing.TB, db *database.DB, r *jobs.Runner, name string, options ...jobs.Option) {
	t.Helper()
	err := db.InTx(t.Context(), func(tx database.Tx) error {
		return r.Enqueue(t.Context(), tx, greet{name}, options...)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func receive[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came within 20 s")
		panic("unreachable")
	}
}

func quiet(t testing.TB, from <-chan string, d time.Duration) {
	t.Helper()
	select {
	case v := <-from:
		t.Fatalf("unexpected run of %q", v)
	case <-time.After(d):
	}
}

// greeter registers the kind and tells each run.
func greeter(r *jobs.Runner) <-chan string {
	ran := make(chan string, 1000)
	jobs.Register(r, func(_ context.Context, args greet) error {
		ran <- args.Name
		return nil
	})
	return ran
}

func TestCommitAndRollback(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	r := newRunner(db, jobs.Options{PollInterval: time.Minute})
	ran := greeter(r)
	start(t, r)

	broken := errors.New("broken")
	err := db.InTx(t.Context(), func(tx database.Tx) error {
		if err := r.Enqueue(t.Context(), tx, greet{"never"}); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	enqueue(t, db, r, "ann")
	if got := receive(t, ran); got != "ann" {
		t.Fatalf("ran %q", got)
	}
	quiet(t, ran, 50*time.Millisecond)
}

// TestPromptness: with polling as good as off, a job starts because it was notified, also when many transactions insert
// at the same time, which River's own notifications would miss.
func TestPromptness(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	db := open(t, url)
	r := newRunner(db, jobs.Options{PollInterval: time.Hour, NoPeriodic: true})
	ran := greeter(r)
	start(t, r)
	enqueue(t, db, r, "first")
	receive(t, ran)

	// Another process inserts: it has a Runner that never runs.
	other := open(t, url)
	inserter := newRunner(other, jobs.Options{})
	const rounds, parallel = 10, 4
	var slowest time.Duration
	for range rounds {
		began := time.Now()
		var wg sync.WaitGroup
		for i := range parallel {
			wg.Go(func() { enqueue(t, other, inserter, fmt.Sprint(i)) })
		}
		wg.Wait()
		for range parallel {
			receive(t, ran)
		}
		slowest = max(slowest, time.Since(began))
	}
	// Generous for a busy machine, yet far below what waiting for anything but the notification would take.
	if slowest > 3*time.Second {
		t.Errorf("the slowest of %d rounds took %v", rounds, slowest)
	}
	t.Logf("slowest round: %v", slowest)
}

func TestFailureIsRetried(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	r := newRunner(db, jobs.Options{PollInterval: 200 * time.Millisecond})
	runs := make(chan int, 10)
	var n atomic.Int32
	jobs.Register(r, func(context.Context, greet) error {
		i := int(n.Add(1))
		runs <- i
		switch i {
		case 1:
			return errors.New("not yet")
		case 2:
			panic("not yet either")
		case 3:
			return jobs.Again(0)
		}
		return jobs.GiveUp(errors.New("never"))
	})
	start(t, r)
	enqueue(t, db, r, "ann")
	for want := 1; want <= 4; want++ {
		if got := receive(t, runs); got != want {
			t.Fatalf("run %d, want %d", got, want)
		}
	}
	waitFor(t, "the job given up to be cancelled", func() bool { return count(t, db, "cancelled") == 1 })
}

func TestUnique(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	r := newRunner(db, jobs.Options{NoPeriodic: true})
	for range 3 {
		enqueue(t, db, r, "ann", jobs.Unique())
	}
	enqueue(t, db, r, "bob", jobs.Unique())
	enqueue(t, db, r, "ann")
	if n := count(t, db, "available"); n != 3 {
		t.Fatalf("%d jobs wait, want 3", n)
	}
	ran := greeter(r)
	start(t, r)
	for range 3 {
		receive(t, ran)
	}
	waitFor(t, "all to be finished", func() bool { return count(t, db, "completed") == 3 })
	enqueue(t, db, r, "ann", jobs.Unique()) // a finished job is in nobody's way
	receive(t, ran)
}

func TestAtAndOwnQueue(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	r := newRunner(db, jobs.Options{Workers: 1, NoPeriodic: true})
	r.AddQueue("other", 1)
	release, ran := make(chan struct{}), make(chan string, 10)
	jobs.Register(r, func(ctx context.Context, args greet) error {
		if args.Name == "blocker" {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		ran <- args.Name
		return nil
	})
	start(t, r)
	enqueue(t, db, r, "blocker")
	enqueue(t, db, r, "behind")
	enqueue(t, db, r, "later", jobs.At(time.Now().Add(time.Hour)), jobs.On("other"))
	enqueue(t, db, r, "beside", jobs.On("other"))
	if got := receive(t, ran); got != "beside" {
		t.Fatalf("%q ran first", got)
	}
	quiet(t, ran, 50*time.Millisecond)
	close(release)
	if a, b := receive(t, ran), receive(t, ran); a != "blocker" || b != "behind" {
		t.Fatalf("then ran %q and %q", a, b)
	}
	if n := count(t, db, "scheduled"); n != 1 {
		t.Errorf("%d jobs scheduled, want 1", n)
	}
}

// TestStopFinishesRunningJobs: the job's context lives on after Run's has ended.
func TestStopFinishesRunningJobs(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	r := newRunner(db, jobs.Options{StopWithin: 20 * time.Second, NoPeriodic: true})
	started, release := make(chan struct{}), make(chan struct{})
	jobs.Register(r, func(ctx context.Context, _ greet) error {
		close(started)
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	stop := start(t, r)
	enqueue(t, db, r, "ann")
	receive(t, started)
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	select {
	case err := <-stopped:
		t.Fatalf("Run returned %v while a job was running", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(release)
	if err := receive(t, stopped); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, "completed"); n != 1 {
		t.Errorf("%d jobs completed, want 1", n)
	}
}

// TestStopIsBounded: a job that goes on has its context ended and is left for the next server, which does it.
func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	db := open(t, url)
	r := newRunner(db, jobs.Options{StopWithin: 50 * time.Millisecond, NoPeriodic: true})
	started := make(chan struct{})
	jobs.Register(r, func(ctx context.Context, _ greet) error {
		close(started)
		<-ctx.Done()
		return ctx.Err()
	})
	stop := start(t, r)
	enqueue(t, db, r, "ann")
	receive(t, started)
	began := time.Now()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("the stop took %v", d)
	}
	next := newRunner(open(t, url), jobs.Options{PollInterval: 200 * time.Millisecond, NoPeriodic: true})
	ran := greeter(next)
	start(t, next)
	if got := receive(t, ran); got != "ann" {
		t.Errorf("ran %q", got)
	}
}

// TestKilledServer: a job that was running when its server was killed is done by the next.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	r := newRunner(db, jobs.Options{
		PollInterval: 100 * time.Millisecond, JobTimeout: time.Minute, NoPeriodic: true,
	})
	enqueue(t, db, r, "stuck")
	enqueue(t, db, r, "running elsewhere")
	_, err := db.Pool.Exec(t.Context(), `
		UPDATE river_job
		SET state = 'running', attempt = 1, attempted_by = '{gone}',
		    attempted_at = now() - CASE args->>'name' WHEN 'stuck' THEN interval '3 minutes' ELSE interval '1 minute' END`)
	if err != nil {
		t.Fatal(err)
	}
	ran := greeter(r)
	start(t, r)
	if got := receive(t, ran); got != "stuck" {
		t.Errorf("ran %q", got)
	}
	quiet(t, ran, 100*time.Millisecond)
}

// TestEvery: three replicas share recurring work, which begins at start; while one run goes on, none else begins.
func TestEvery(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	runs, release := make(chan string, 100), make(chan struct{})
	for i := range 3 {
		r := newRunner(open(t, url), jobs.Options{PollInterval: 100 * time.Millisecond})
		r.Every("tick", 50*time.Millisecond, func(ctx context.Context) error {
			runs <- fmt.Sprint(i)
			select {
			case <-release:
			case <-ctx.Done():
			}
			return nil
		})
		start(t, r)
	}
	for range 3 {
		receive(t, runs)
		quiet(t, runs, 250*time.Millisecond) // five intervals
		release <- struct{}{}
	}
	close(release)
}

// TestDailyWorkHasTime: what comes once a day, such as the sweep of a large store, may take longer than a job.
func TestDailyWorkHasTime(t *testing.T) {
	t.Parallel()
	r := newRunner(open(t, pgtest.URL(t)), jobs.Options{JobTimeout: time.Minute})
	left := make(chan time.Duration, 1)
	r.Every("sweep", 24*time.Hour, func(ctx context.Context) error {
		deadline, _ := ctx.Deadline()
		left <- time.Until(deadline)
		return nil
	})
	start(t, r)
	if got := receive(t, left); got < 59*time.Minute || got > time.Hour {
		t.Errorf("has %v, want an hour", got)
	}
}

func TestRunOnce(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	r := newRunner(db, jobs.Options{NoPeriodic: true})
	ran, broken := 0, errors.New("broken")
	r.Every("tidy", time.Hour, func(context.Context) error { ran++; return nil })
	r.Every("fail", time.Hour, func(context.Context) error { return broken })
	if err := r.RunOnce(t.Context(), "tidy"); err != nil || ran != 1 {
		t.Errorf("RunOnce = %v, ran %d times", err, ran)
	}
	if err := r.RunOnce(t.Context(), "fail"); !errors.Is(err, broken) {
		t.Errorf("RunOnce = %v", err)
	}
	if err := r.RunOnce(t.Context(), "nothing"); err == nil {
		t.Error("RunOnce of an unknown name succeeded")
	}
}

func TestPollOnly(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	r := newRunner(db, jobs.Options{PollOnly: true, PollInterval: 100 * time.Millisecond, NoPeriodic: true})
	ran := greeter(r)
	start(t, r)
	enqueue(t, db, r, "ann")
	receive(t, ran)
}

// TestRunWaitsForPostgres: Run does not fail while the database is away, and stops at once when asked to.
func TestRunWaitsForPostgres(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	r := newRunner(db, jobs.Options{})
	db.Close() // every query fails from here on
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	select {
	case err := <-done:
		t.Fatalf("Run returned %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	cancel()
	if err := receive(t, done); err != nil {
		t.Fatal(err)
	}
}

func count(t testing.TB, db *database.DB, state string) int {
	t.Helper()
	var n int
	err := db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE state::text = $1`, state).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited 20 s for %s", what)
		}
	}
}
