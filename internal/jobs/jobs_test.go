// Tests of jobs: transactions, retries, uniqueness, stop, and killed servers.

package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/testkit/relay"
)

func TestCommitAndRollback(t *testing.T) {
	t.Parallel()
	db := open(t, pgtest.URL(t))
	r := newRunner(db, jobs.Options{PollInterval: time.Minute})
	ran := registerGreet(r)
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
	wantNoRun(t, ran, 50*time.Millisecond)
}

// TestNotification: a job starts by notification, long before the next poll. This also holds when transactions insert jobs
// at the same time, which River's own notifications would miss.
func TestNotification(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	db := open(t, url)
	r := newRunner(db, jobs.Options{PollInterval: time.Hour, NoPeriodic: true})
	ran := registerGreet(r)
	start(t, r)
	enqueue(t, db, r, "first")
	receive(t, ran)

	// Another process inserts the jobs. Its Runner never runs.
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
	// Long enough for a busy machine, and far shorter than the poll interval.
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
	poll.Until(t, "the job to be cancelled after GiveUp", func() bool { return count(t, db, "cancelled") == 1 })
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
		t.Fatalf("%d jobs are available, want 3", n)
	}
	ran := registerGreet(r)
	start(t, r)
	for range 3 {
		receive(t, ran)
	}
	poll.Until(t, "all to be finished", func() bool { return count(t, db, "completed") == 3 })
	enqueue(t, db, r, "ann", jobs.Unique()) // a finished job does not count
	receive(t, ran)
}

func TestDelayAndOwnQueue(t *testing.T) {
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
	wantNoRun(t, ran, 50*time.Millisecond)
	close(release)
	if a, b := receive(t, ran), receive(t, ran); a != "blocker" || b != "behind" {
		t.Fatalf("then ran %q and %q", a, b)
	}
	if n := count(t, db, "scheduled"); n != 1 {
		t.Errorf("%d jobs scheduled, want 1", n)
	}
}

// TestStopFinishesRunningJobs: the end of Run's context does not end the job's.
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

// TestStopIsBounded: the context of a job that outlasts StopWithin is ended. The next server runs the job again.
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
	ran := registerGreet(next)
	start(t, next)
	if got := receive(t, ran); got != "ann" {
		t.Errorf("ran %q", got)
	}
}

// TestStopWhileTheDatabaseIsFrozen: a stop is orderly when jobs have ended and the database does not take their results. It is an error
// when a job goes on after its context ended.
func TestStopWhileTheDatabaseIsFrozen(t *testing.T) {
	t.Parallel()
	for name, obeys := range map[string]bool{"jobs ended": true, "a job runs on": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hop := relay.New(t, pgtest.URL(t))
			db := open(t, hop.URL)
			r := newRunner(db, jobs.Options{StopWithin: 50 * time.Millisecond, NoPeriodic: true})
			started, release := make(chan struct{}), make(chan struct{})
			t.Cleanup(hop.Up)
			t.Cleanup(func() { close(release) })
			jobs.Register(r, func(ctx context.Context, _ greet) error {
				close(started)
				if obeys {
					<-ctx.Done()
					return ctx.Err()
				}
				<-release
				return nil
			})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- r.Run(ctx) }()
			enqueue(t, db, r, "ann")
			receive(t, started)
			hop.Freeze()
			cancel()
			if err := receive(t, done); (err == nil) != obeys {
				t.Errorf("Run returned %v", err)
			}
		})
	}
}

// TestKilledServer: a job that was running when its server was killed is run by the next server.
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
	ran := registerGreet(r)
	start(t, r)
	if got := receive(t, ran); got != "stuck" {
		t.Errorf("ran %q", got)
	}
	wantNoRun(t, ran, 100*time.Millisecond)
}

// TestEvery: three replicas share a periodic job. It runs first at the start, and on one replica at a time.
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
		wantNoRun(t, runs, 250*time.Millisecond) // five intervals
		release <- struct{}{}
	}
	close(release)
}

// TestDailyJobTimeout: a daily job, such as the sweep of a large store, has an hour instead of JobTimeout.
func TestDailyJobTimeout(t *testing.T) {
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
		t.Errorf("the deadline is in %v, want an hour", got)
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
	ran := registerGreet(r)
	start(t, r)
	enqueue(t, db, r, "ann")
	receive(t, ran)
}

// TestRunWaitsForPostgres: Run does not fail while the database is unreachable, and stops at once when its context ends.
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
