// Tests of buckets: times, parallel calls, and bounded memory.

package ratelimit_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/ratelimit"
)

var start = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

func TestTake(t *testing.T) {
	t.Parallel()
	login := ratelimit.Limit{Capacity: 3, PerSecond: ratelimit.Every(15 * time.Second)}
	steps := []struct {
		after time.Duration // start
		want  ratelimit.Result
	}{
		{0, ratelimit.Result{Allowed: true, Limit: 3, Remaining: 2}},
		{0, ratelimit.Result{Allowed: true, Limit: 3, Remaining: 1}},
		{0, ratelimit.Result{Allowed: true, Limit: 3, Remaining: 0}},
		{0, ratelimit.Result{Limit: 3, RetryAfter: 15 * time.Second}},
		{10 * time.Second, ratelimit.Result{Limit: 3, RetryAfter: 5 * time.Second}},
		{15 * time.Second, ratelimit.Result{Allowed: true, Limit: 3, Remaining: 0}},
		{15 * time.Second, ratelimit.Result{Limit: 3, RetryAfter: 15 * time.Second}},
		{52*time.Second + 500*time.Millisecond, ratelimit.Result{Allowed: true, Limit: 3, Remaining: 1}}, // 2.5 drained
		{time.Hour, ratelimit.Result{Allowed: true, Limit: 3, Remaining: 2}},
		{time.Minute, ratelimit.Result{Allowed: true, Limit: 3, Remaining: 1}}, // a clock that went back
	}
	var level ratelimit.Level
	for i, step := range steps {
		var got ratelimit.Result
		level, got = login.Take(level, start.Add(step.after))
		got.RetryAfter = got.RetryAfter.Round(time.Microsecond)
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
}

// TestRetryAfter: a request that waits for RetryAfter is allowed, at rates that do not divide evenly.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for _, every := range []time.Duration{time.Millisecond, 7 * time.Millisecond, 333 * time.Millisecond, time.Second, 15 * time.Second,
		60 * time.Second} {
		l := ratelimit.Limit{Capacity: 7, PerSecond: ratelimit.Every(every)}
		var level ratelimit.Level
		now := start
		for range 200 {
			var result ratelimit.Result
			if level, result = l.Take(level, now); result.Allowed {
				continue
			}
			now = now.Add(result.RetryAfter)
			if level, result = l.Take(level, now); !result.Allowed {
				t.Fatalf("every %s: refused after RetryAfter; now %s", every, result.RetryAfter)
			}
		}
	}
}

func TestLimitsWithoutCapacityOrRate(t *testing.T) {
	t.Parallel()
	if _, r := (ratelimit.Limit{}).Take(ratelimit.Level{}, start); r.Allowed || r.RetryAfter != 24*time.Hour {
		t.Errorf("no capacity: %+v", r)
	}
	never := ratelimit.Limit{Capacity: 1}
	level, _ := never.Take(ratelimit.Level{}, start)
	if _, r := never.Take(level, start.Add(1000*time.Hour)); r.Allowed || r.RetryAfter != 24*time.Hour {
		t.Errorf("no drain rate: %+v", r)
	}
	l := ratelimit.Limit{Capacity: 1, PerSecond: 1}
	level, _ = l.Take(ratelimit.Level{}, start)
	if _, r := l.Take(l.Return(level, start), start); !r.Allowed {
		t.Error("a returned token still counts")
	}
}

func TestParallelTakesAreExact(t *testing.T) {
	t.Parallel()
	m := ratelimit.NewMemory(func() time.Time { return start })
	limiter := ratelimit.NewLimiter(m, true, slog.New(slog.DiscardHandler))
	bucket := ratelimit.Bucket{Name: "general", Limit: ratelimit.Limit{Capacity: 60, PerSecond: 1}}
	var passed atomic.Int64
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			result, err := limiter.Take(context.Background(), ratelimit.Part{Bucket: bucket, Identifier: "one"})
			if err != nil {
				t.Error(err)
			}
			if result.Allowed {
				passed.Add(1)
			}
		})
	}
	all.Wait()
	if passed.Load() != 60 {
		t.Errorf("%d of 200 passed, want 60", passed.Load())
	}
}

func TestMemoryIsBoundedAndSwept(t *testing.T) {
	t.Parallel()
	now := start
	m := ratelimit.NewMemory(func() time.Time { return now })
	l := ratelimit.Limit{Capacity: 1, PerSecond: 1}
	for i := range 200_000 {
		if _, err := m.Take(t.Context(), strconv.Itoa(i), l); err != nil {
			t.Fatal(err)
		}
	}
	if n := m.Len(); n > 64*2048 {
		t.Errorf("%d buckets in memory", n)
	}
	now = now.Add(2 * time.Minute)
	for i := range 2000 { // reaches every shard
		_, _ = m.Take(t.Context(), "later"+strconv.Itoa(i), l)
	}
	if n := m.Len(); n != 2000 {
		t.Errorf("%d buckets in memory after all but 2000 drained", n)
	}
}

func TestLimiterOff(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	limiter := ratelimit.NewLimiter(ratelimit.NewMemory(time.Now), false, slog.New(slog.NewTextHandler(&out, nil)))
	if strings.Count(out.String(), "CONSIGN_RATE_LIMIT") != 1 {
		t.Errorf("log: %s", out.String())
	}
	l := ratelimit.Limit{Capacity: 1, PerSecond: 1e-6}
	for i := range 3 {
		r, err := limiter.Take(t.Context(), ratelimit.Part{Bucket: ratelimit.Bucket{Name: "general", Limit: l}, Identifier: "x"})
		if err != nil || !r.Allowed || r.Limit != 0 {
			t.Errorf("general: %+v, %v", r, err)
		}
		r, err = limiter.Take(t.Context(), ratelimit.Part{Bucket: ratelimit.Bucket{Name: "login", Limit: l, Essential: true}, Identifier: "x"})
		if err != nil || r.Allowed != (i == 0) {
			t.Errorf("login %d: %+v, %v", i, r, err)
		}
	}
	login := ratelimit.Bucket{Name: "login", Limit: l, Essential: true}
	if err := limiter.Return(t.Context(), ratelimit.Part{Bucket: login, Identifier: "x"}); err != nil {
		t.Fatal(err)
	}
	if r, _ := limiter.Take(t.Context(), ratelimit.Part{Bucket: login, Identifier: "x"}); !r.Allowed {
		t.Error("the returned token still counts")
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	result := ratelimit.Result{RetryAfter: 3 * time.Second}
	if err := (ratelimit.Bucket{}).Refused(result); !errors.Is(err, fault.ErrRateLimited) || err.RetryAfter != 3*time.Second {
		t.Errorf("%+v", err)
	}
	own := fault.New(429002, "wait")
	if err := (ratelimit.Bucket{Refusal: own}).Refused(result); !errors.Is(err, own) || err.RetryAfter != 3*time.Second {
		t.Errorf("%+v", err)
	}
}

func BenchmarkTake(b *testing.B) {
	m := ratelimit.NewMemory(time.Now)
	limiter := ratelimit.NewLimiter(m, true, slog.New(slog.DiscardHandler))
	bucket := ratelimit.Bucket{Name: "general", Limit: ratelimit.Limit{Capacity: 60, PerSecond: 1}}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = limiter.Take(b.Context(), ratelimit.Part{Bucket: bucket, Identifier: "0190d2f4-7c1e-7b44-8d6a-3f1f6f0e2c11"})
	}
}
