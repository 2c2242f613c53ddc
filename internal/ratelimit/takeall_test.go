package ratelimit_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/ratelimit"
)

// slow is a limit that drains too slowly to matter in a test.
func slow(capacity int) ratelimit.Limit {
	return ratelimit.Limit{Capacity: capacity, PerSecond: ratelimit.Every(time.Hour)}
}

// TestTakeAll: a refusal of one bucket takes no token of the others, and names the bucket that refused.
func TestTakeAll(t *testing.T) {
	t.Parallel()
	m := ratelimit.NewMemory(func() time.Time { return start })
	mine, all := ratelimit.Ask{Key: "mine", Limit: slow(3)}, ratelimit.Ask{Key: "all", Limit: slow(2)}
	for i, want := range []int{-1, -1, 1, 1, 1} {
		if refused, r, err := m.TakeAll(t.Context(), []ratelimit.Ask{mine, all}); err != nil || refused != want || r.Allowed != (want < 0) ||
			r.Limit != 2 {
			t.Errorf("try %d: key %d refuses, %+v, %v", i, refused, r, err)
		}
	}
	if r, err := m.Take(t.Context(), "mine", slow(3)); err != nil || !r.Allowed || r.Remaining != 0 {
		t.Errorf("the refusals have taken tokens of the first bucket: %+v, %v", r, err)
	}
	if refused, r, err := m.TakeAll(t.Context(), []ratelimit.Ask{mine, all}); err != nil || refused != 0 || r.Limit != 3 {
		t.Errorf("key %d refuses, %+v, %v", refused, r, err)
	}
}

// TestTakeAllInParallel: no request of one bucket is refused because another one holds a token that it then returns. With tokens
// taken in sequence, a client whose bucket has room would be refused while the refused requests of the full one are under way.
func TestTakeAllInParallel(t *testing.T) {
	t.Parallel()
	m := ratelimit.NewMemory(func() time.Time { return start })
	full := ratelimit.Ask{Key: "full", Limit: slow(0)}
	var wait sync.WaitGroup
	var done atomic.Bool
	for range 4 {
		wait.Go(func() {
			for !done.Load() {
				_, _, _ = m.TakeAll(context.Background(), []ratelimit.Ask{{Key: "mine", Limit: slow(1000)}, full})
				_, _, _ = m.TakeAll(context.Background(), []ratelimit.Ask{full, {Key: "mine", Limit: slow(1000)}})
			}
		})
	}
	for i := range 1000 {
		if r, err := m.Take(t.Context(), "mine", slow(1000)); err != nil || !r.Allowed || r.Remaining != 999-i {
			t.Fatalf("try %d: %+v, %v", i, r, err)
		}
	}
	done.Store(true)
	wait.Wait()
}

// TestLimiterTakesAll: the refusal is that of the bucket without room, and buckets that are off do not count.
func TestLimiterTakesAll(t *testing.T) {
	t.Parallel()
	l := ratelimit.NewLimiter(ratelimit.NewMemory(func() time.Time { return start }), false, slog.New(slog.DiscardHandler))
	off := ratelimit.Part{Bucket: ratelimit.Bucket{Name: "off", Limit: slow(0)}, Identifier: "a"}
	on := ratelimit.Part{Bucket: ratelimit.Bucket{Name: "on", Limit: slow(1), Essential: true}, Identifier: "a"}
	for i, allowed := range []bool{true, false} {
		taken, err := l.Take(t.Context(), off, on)
		if err != nil || taken.Allowed != allowed || taken.Bucket.Name != "on" || taken.Limit != 1 {
			t.Errorf("try %d: %+v, %v", i, taken, err)
		}
		if err := taken.Err(); (err == nil) != allowed || err != nil && !errors.Is(err, fault.ErrRateLimited) {
			t.Errorf("try %d: %v", i, err)
		}
	}
	if taken, err := l.Take(t.Context(), off); err != nil || !taken.Allowed || taken.Limit != 0 {
		t.Errorf("%+v, %v", taken, err)
	}
	if n := l.Refusals()["on"]; n != 1 {
		t.Errorf("%d refusals are counted", n)
	}
}
