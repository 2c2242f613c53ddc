//go:build redis

// Tests of buckets in a real Redis that is killed and frozen.

package redis_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	client "github.com/redis/go-redis/v9"

	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/ratelimit/redis"
	"github.com/consign-dev/consign/internal/testkit/output"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/testkit/redistest"
)

func open(t testing.TB, url string, now func() time.Time) (*redis.Store, *output.Buffer) {
	t.Helper()
	l := &output.Buffer{}
	s, err := redis.New(context.Background(), url, redis.Options{Now: now, Log: slog.New(slog.NewTextHandler(l, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, l
}

// dial returns a connection of its own to database n of a server.
func dial(t *testing.T, server *redistest.Server, n int) *client.Client {
	t.Helper()
	c := client.NewClient(&client.Options{Network: "unix", Addr: strings.TrimPrefix(server.URL, "unix://"), DB: n})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// slow returns a limit that drains one token an hour, so not within a test.
func slow(capacity int) ratelimit.Limit {
	return ratelimit.Limit{Capacity: capacity, PerSecond: ratelimit.Every(time.Hour)}
}

// admitted takes n tokens in parallel, from the stores in turn. It returns how many were allowed.
func admitted(t *testing.T, key string, l ratelimit.Limit, n int, stores ...*redis.Store) int64 {
	t.Helper()
	var passed atomic.Int64
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			r, err := stores[i%len(stores)].Take(context.Background(), key, l)
			if err != nil {
				t.Error(err)
			}
			if r.Allowed {
				passed.Add(1)
			}
		})
	}
	all.Wait()
	return passed.Load()
}

func take(t *testing.T, s *redis.Store, key string, l ratelimit.Limit) ratelimit.Result {
	t.Helper()
	r, err := s.Take(t.Context(), key, l)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTwoReplicasShareTheCapacity(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	a, _ := open(t, server.URL, nil)
	b, _ := open(t, server.URL, nil)
	for round := range 20 {
		if n := admitted(t, fmt.Sprint("round ", round), slow(60), 200, a, b); n != 60 {
			t.Fatalf("%d of 200 were admitted, want 60", n)
		}
	}
	if s := a.Stats(); s != (redis.Stats{}) {
		t.Errorf("%+v", s)
	}
}

// TestSameAsMemory: the same random operations give the same results with Redis and in memory.
func TestSameAsMemory(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	shared, _ := open(t, redistest.New(t).URL, clock)
	memory := ratelimit.NewMemory(clock)
	limits := []ratelimit.Limit{
		{}, {Capacity: 1}, {Capacity: 3, PerSecond: ratelimit.Every(15 * time.Second)}, {Capacity: 60, PerSecond: 1},
		{Capacity: 600, PerSecond: 10}, {Capacity: 7, PerSecond: ratelimit.Every(333 * time.Millisecond)},
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 5000 {
		n := random.IntN(len(limits))
		key, l := fmt.Sprint("bucket ", n), limits[n]
		if random.IntN(8) == 0 {
			_ = shared.Return(t.Context(), key, l)
			_ = memory.Return(t.Context(), key, l)
		}
		got := take(t, shared, key, l)
		want, _ := memory.Take(t.Context(), key, l)
		got.RetryAfter, want.RetryAfter = got.RetryAfter.Round(time.Millisecond), want.RetryAfter.Round(time.Millisecond)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("step %d, %+v (-memory +redis):\n%s", i, l, diff)
		}
		other := random.IntN(len(limits))
		if other != n {
			pair := []ratelimit.Ask{{Key: key, Limit: l}, {Key: fmt.Sprint("bucket ", other), Limit: limits[other]}}
			gotRefused, got, _ := shared.TakeAll(t.Context(), pair)
			wantRefused, want, _ := memory.TakeAll(t.Context(), pair)
			got.RetryAfter, want.RetryAfter = got.RetryAfter.Round(time.Millisecond), want.RetryAfter.Round(time.Millisecond)
			if diff := cmp.Diff(want, got); diff != "" || gotRefused != wantRefused {
				t.Fatalf("step %d, pair %+v, refused %d and %d (-memory +redis):\n%s", i, pair, wantRefused, gotRefused, diff)
			}
		}
		now = now.Add(time.Duration(random.IntN(400)) * time.Millisecond)
	}
	now = now.Add(-time.Hour)
	got := take(t, shared, "bucket 3", limits[3])
	want, _ := memory.Take(t.Context(), "bucket 3", limits[3])
	if got.Allowed != want.Allowed || got.Remaining != want.Remaining {
		t.Errorf("a clock that went back: %+v, in memory %+v", got, want)
	}
}

// TestRedisClock: buckets drain by the clock of Redis.
func TestRedisClock(t *testing.T) {
	t.Parallel()
	s, _ := open(t, redistest.New(t).URL, nil)
	l := ratelimit.Limit{Capacity: 1, PerSecond: 20}
	if !take(t, s, "x", l).Allowed {
		t.Fatal("an empty bucket refuses")
	}
	r := take(t, s, "x", l)
	if r.Allowed || r.RetryAfter <= 0 || r.RetryAfter > 50*time.Millisecond {
		t.Fatalf("a full bucket: %+v", r)
	}
	poll.Until(t, "the token drains", func() bool { return take(t, s, "x", l).Allowed })
}

// TestKeysAreHashedAndExpire: keys in Redis contain no address, and every key has a TTL.
func TestKeysAreHashedAndExpire(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	s, _ := open(t, server.URL, nil)
	take(t, s, "login:ann@example.com", ratelimit.Limit{Capacity: 3, PerSecond: ratelimit.Every(15 * time.Second)})
	take(t, s, "never", ratelimit.Limit{Capacity: 3})
	c := dial(t, server, 0)
	keys, err := c.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 3 { // two buckets and the ping
		t.Fatalf("%q, %v", keys, err)
	}
	for _, key := range keys {
		life, err := c.PTTL(t.Context(), key).Result()
		if !strings.HasPrefix(key, "consign:bucket:") || strings.Contains(key, "ann") || err != nil || life <= 0 || life > 24*time.Hour {
			t.Errorf("key %s, TTL %s, %v", key, life, err)
		}
	}
	if err := errors.Join(s.Return(t.Context(), "login:ann@example.com", ratelimit.Limit{Capacity: 3, PerSecond: 1}),
		s.Return(t.Context(), "never", slow(3)), s.Return(t.Context(), "unknown", slow(3))); err != nil {
		t.Fatal(err)
	}
	if keys := c.Keys(t.Context(), "*").Val(); len(keys) != 1 {
		t.Errorf("keys after all tokens were returned: %q", keys)
	}
}

// TestURL: user, password and database number are taken from the URL.
func TestURL(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	c := dial(t, server, 3)
	if err := c.Do(t.Context(), "ACL", "SETUSER", "ann", "on", ">p@ss", "~consign:*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	socket := strings.TrimPrefix(server.URL, "unix://")
	s, _ := open(t, "unix://ann:p%40ss@"+socket+"?db=3", nil)
	take(t, s, "x", slow(1))
	if keys, err := c.Keys(t.Context(), "*").Result(); len(keys) != 2 || err != nil || s.Stats().Away {
		t.Errorf("in database 3: %q, %v; %+v", keys, err, s.Stats())
	}
	if s, _ := open(t, "unix://ann:wrong@"+socket, nil); !s.Stats().Away {
		t.Error("a wrong password is accepted")
	}
}

func TestFallback(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		fail, mend  func(*redistest.Server)
		keepsLevels bool
	}{
		{"killed", (*redistest.Server).Kill, (*redistest.Server).Start, false},
		{"hanging", (*redistest.Server).Stop, (*redistest.Server).Continue, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.New(t)
			a, logA := open(t, server.URL, nil)
			b, _ := open(t, server.URL, nil)
			if n := admitted(t, "before", slow(10), 40, a, b); n != 10 {
				t.Fatalf("%d admitted", n)
			}
			test.fail(server)
			begin := time.Now()
			if n := admitted(t, "meanwhile", slow(10), 80, a, b); n != 20 {
				t.Errorf("%d were admitted without Redis, want 10 by each of two replicas", n)
			}
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("80 takes needed %s after Redis failed", took)
			}
			begin = time.Now()
			if take(t, a, "meanwhile", slow(10)).Allowed {
				t.Error("a full bucket in the replica's memory allows a token")
			}
			if err := a.Return(t.Context(), "meanwhile", slow(10)); err != nil || !take(t, a, "meanwhile", slow(10)).Allowed {
				t.Errorf("a returned token still counts: %v", err)
			}
			if took := time.Since(begin); took > 50*time.Millisecond {
				t.Errorf("takes still wait for Redis: %s", took)
			}
			stats := a.Stats()
			if !stats.Away || stats.Failures != 1 || stats.Fallbacks < 40 || strings.Count(logA.String(), "level=WARN") != 1 {
				t.Errorf("%+v, logged %d times", stats, strings.Count(logA.String(), "level=WARN"))
			}
			test.mend(server)
			poll.Until(t, "both replicas use Redis again", func() bool {
				take(t, a, "probe", slow(1))
				take(t, b, "probe", slow(1))
				return !a.Stats().Away && !b.Stats().Away
			})
			if n := admitted(t, "after", slow(60), 200, a, b); n != 60 {
				t.Errorf("%d of 200 were admitted after Redis came back, want 60", n)
			}
			if test.keepsLevels && take(t, b, "before", slow(10)).Allowed {
				t.Error("the level of a bucket from before the failure is lost, though Redis kept it")
			}
			if strings.Count(logA.String(), "level=INFO") != 1 || a.Stats().Failures != 1 {
				t.Errorf("the recovery was logged %d times, %+v", strings.Count(logA.String(), "level=INFO"), a.Stats())
			}
		})
	}
}

func TestIdleServerNoticesRedis(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	s, _ := open(t, server.URL, nil)
	s.Ask(t.Context())
	if s.Stats().Away {
		t.Error("Redis answers")
	}
	server.Kill()
	s.Ask(t.Context())
	s.Ask(t.Context())
	if got := s.Stats(); !got.Away || got.Failures != 1 {
		t.Errorf("Redis is away: %+v", got)
	}
}

func TestStartsWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	server.Kill()
	s, log := open(t, server.URL, nil)
	if n := admitted(t, "x", slow(5), 20, s); n != 5 || !s.Stats().Away || strings.Count(log.String(), "level=WARN") != 1 {
		t.Errorf("%d admitted, %+v", n, s.Stats())
	}
	server.Start()
	poll.Until(t, "the store uses Redis", func() bool { take(t, s, "probe", slow(1)); return !s.Stats().Away })
}

// TestReadOnlyRedis: a Redis that answers but refuses writes counts as away.
func TestReadOnlyRedis(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	s, _ := open(t, server.URL, nil)
	c := dial(t, server, 0)
	set := func(memory string) {
		if err := c.ConfigSet(t.Context(), "maxmemory", memory).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set("1")
	if n := admitted(t, "x", slow(5), 20, s); n != 5 || !s.Stats().Away {
		t.Errorf("%d admitted, %+v", n, s.Stats())
	}
	set("0")
	poll.Until(t, "Redis accepts writes again", func() bool { take(t, s, "probe", slow(1)); return !s.Stats().Away })
}

func BenchmarkTake(b *testing.B) {
	s, _ := open(b, redistest.New(b).URL, nil)
	l := ratelimit.Limit{Capacity: 60, PerSecond: 1}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = s.Take(b.Context(), "general:0190d2f4-7c1e-7b44-8d6a-3f1f6f0e2c11", l)
	}
}

func BenchmarkTakeParallel(b *testing.B) {
	s, _ := open(b, redistest.New(b).URL, nil)
	l := ratelimit.Limit{Capacity: 60, PerSecond: 1}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, _ = s.Take(b.Context(), "general:0190d2f4-7c1e-7b44-8d6a-3f1f6f0e2c11", l)
		}
	})
}
