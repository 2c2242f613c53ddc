package service_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/consign-dev/consign/internal/blob"
)

// slowBucket advances the job's clock by one minute per deletion.
type slowBucket struct {
	blob.Store
	deleted int
	elapse  func(time.Duration)
}

// Delete implements blob.Store.
func (s *slowBucket) Delete(context.Context, blob.Key) error {
	s.deleted++
	s.elapse(time.Minute)
	return nil
}

// shortening is a context whose deadline comes nearer as other code runs.
type shortening struct {
	context.Context
	left time.Duration
}

// Deadline implements context.Context.
func (s *shortening) Deadline() (time.Time, bool) { return time.Now().Add(s.left), true }

// TestPurgeContinuesInFurtherRuns: purging thousands of files in a bucket takes several runs. None of them fails, and each
// continues where the one before stopped.
func TestPurgeContinuesInFurtherRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO transfer.discarded_objects (object, discarded_at) SELECT gen_random_uuid(), now() FROM generate_series(1, 25)`)
	w.exec(`INSERT INTO transfer.segments (uid, object, number, size) SELECT object, object, 1, 1 FROM transfer.discarded_objects`)
	run := &shortening{Context: t.Context()}
	bucket := &slowBucket{Store: w.blobs, elapse: func(d time.Duration) { run.left -= d }}
	_, files := w.serve(bucket)
	var again *river.JobSnoozeError
	for _, left := range []int64{15, 5} {
		run.left = 10*time.Minute + 10*time.Second
		if err := files.PurgeBytes(run); !errors.As(err, &again) {
			t.Errorf("a run that could not purge everything ended with %v", err)
		}
		if n := w.count(`SELECT count(*) FROM transfer.discarded_objects`); n != left {
			t.Errorf("%d are noted, not %d", n, left)
		}
	}
	run.left = 10 * time.Minute
	if err := files.PurgeBytes(run); err != nil || bucket.deleted != 25 {
		t.Errorf("%d deletions, %v", bucket.deleted, err)
	}
}

// brokenBucket panics at the first deletion.
type brokenBucket struct {
	blob.Store
	deleted int
}

// Delete implements blob.Store.
func (s *brokenBucket) Delete(context.Context, blob.Key) error {
	if s.deleted++; s.deleted == 1 {
		panic("unexpected answer")
	}
	return nil
}

// TestPurgeAfterPanic: jobs recover from panics, and the next purge removes what is left.
func TestPurgeAfterPanic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO transfer.discarded_objects (object, discarded_at) VALUES (gen_random_uuid(), now())`)
	w.exec(`INSERT INTO transfer.segments (uid, object, number, size) SELECT object, object, 1, 1 FROM transfer.discarded_objects`)
	_, files := w.serve(&brokenBucket{Store: w.blobs})
	func() {
		defer func() { _ = recover() }()
		_ = files.PurgeBytes(t.Context())
	}()
	done := make(chan error, 1)
	go func() { done <- files.PurgeBytes(t.Context()) }()
	select {
	case err := <-done:
		if err != nil || w.count(`SELECT count(*) FROM transfer.discarded_objects`) != 0 {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the next purge blocks")
	}
}

// TestPurgeVolumes: the volumes of old months are deleted, and what organizations that are gone have stored. The volume of this month
// stays.
func TestPurgeVolumes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO transfer.volumes (subject, month, kind, held)
		SELECT gen_random_uuid(), date_trunc('month', now()) - m * interval '1 month', 'person', 1 FROM generate_series(0, 20) m,
			generate_series(1, 100)`)
	w.exec(`INSERT INTO transfer.stored_volumes (organization, bytes) VALUES (gen_random_uuid(), 0), (gen_random_uuid(), 1)`)
	if err := w.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	for sql, want := range map[string]int64{
		`SELECT count(*) FROM transfer.volume_totals WHERE month < now() - interval '401 days'`:                                  0,
		`SELECT count(DISTINCT month) FROM transfer.volume_totals WHERE month >= date_trunc('month', now()) - interval '1 year'`: 13,
		`SELECT count(*) FROM transfer.stored_totals WHERE bytes = 0`:                                                            0,
		`SELECT count(*) FROM transfer.stored_totals WHERE bytes = 1`:                                                            1,
	} {
		if n := w.count(sql); n != want {
			t.Errorf("%s: %d, want %d", sql, n, want)
		}
	}
}
