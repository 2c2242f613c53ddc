// The jobs and runners of the tests of this package.

package jobs_test

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/jobs"
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

// start runs a Runner until stop is called or the test ends. stop returns Run's error.
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

// receive returns the next value of a channel. It fails the test when none comes within 20 s.
func receive[T any](t testing.TB, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(20 * time.Second):
		t.Fatal("no value within 20 s")
	}
	return value
}

// wantNoRun fails the test when a job runs within d.
func wantNoRun(t testing.TB, from <-chan string, d time.Duration) {
	t.Helper()
	select {
	case v := <-from:
		t.Fatalf("unexpected run of %q", v)
	case <-time.After(d):
	}
}

// registerGreet registers the job greet. The channel receives the name of each run.
func registerGreet(r *jobs.Runner) <-chan string {
	ran := make(chan string, 1000)
	jobs.Register(r, func(_ context.Context, args greet) error {
		ran <- args.Name
		return nil
	})
	return ran
}

// count returns the number of jobs in a state.
func count(t testing.TB, db *database.DB, state string) int {
	t.Helper()
	var n int
	err := db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE state::text = $1`, state).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
