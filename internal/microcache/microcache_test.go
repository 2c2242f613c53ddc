package microcache

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestTTL: a value is loaded once within the TTL and again after each change. Errors are not cached.
func TestTTL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var changes, loads atomic.Uint64
		c := New[string, uint64](changes.Load)
		get := func() uint64 {
			v, err := c.Get("key", func() (uint64, error) { return loads.Add(1), nil })
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		for number, step := range []struct {
			before func()
			want   uint64
		}{
			{func() {}, 1},
			{func() { time.Sleep(TTL - 1) }, 1},
			{func() { time.Sleep(time.Nanosecond) }, 2},
			{func() { changes.Add(1) }, 3},
			{func() {}, 3},
			{c.Invalidate, 4},
			{func() {}, 4},
		} {
			step.before()
			if got := get(); got != step.want {
				t.Errorf("step %d: value %d, want %d", number, got, step.want)
			}
		}
		failure := errors.New("gone")
		for range 2 {
			if _, err := c.Get("other", func() (uint64, error) { loads.Add(1); return 0, failure }); !errors.Is(err, failure) {
				t.Errorf("got %v", err)
			}
		}
		if loads.Load() != 6 {
			t.Errorf("%d loads, want 6: failed loads are repeated", loads.Load())
		}
	})
}

// TestLoadOvertakenByChange: a value that was read before a change and arrives after it is not cached.
func TestLoadOvertakenByChange(t *testing.T) {
	t.Parallel()
	var changes atomic.Uint64
	c := New[string, string](changes.Load)
	old, _ := c.Get("key", func() (string, error) {
		changes.Add(1) // changed while the old value is loading
		return "old", nil
	})
	fresh, _ := c.Get("key", func() (string, error) { return "new", nil })
	if old != "old" || fresh != "new" {
		t.Errorf("%s, then %s", old, fresh)
	}
}

// TestBounded: the cache never holds more than maxEntries values.
func TestBounded(t *testing.T) {
	t.Parallel()
	c := New[int, int](nil)
	var all sync.WaitGroup
	for part := range 4 {
		all.Go(func() {
			for i := range maxEntries {
				key := part*maxEntries + i
				if got, _ := c.Get(key, func() (int, error) { return key, nil }); got != key {
					t.Errorf("got %d for %d", got, key)
				}
			}
		})
	}
	all.Wait()
	if len(c.entries) > maxEntries {
		t.Errorf("%d entries, want at most %d", len(c.entries), maxEntries)
	}
}
