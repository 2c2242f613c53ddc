//go:build redis

package redis_test

import (
	"bytes"
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
	"github.com/consign-dev/consign/internal/testkit/redistest"
)

// logs collects what a store logs.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) count(sentence string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), sentence)
}

func open(t testing.TB, url string, now func() time.Time) (*redis.Store, *logs) {
	t.Helper()
	l := &logs{}
	s, err := redis.New(context.Background(), url, redis.Options{Now: now, Log: slog.New(slog.NewTextHandler(l, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, l
}

// dial returns a connection to database n of a server, beside the store's.
func dial(t *testing.T, server *redistest.Server, n int) *client.Client {
	t.Helper()
	c := client.NewClient(&client.Options{Network: "unix", Addr: strings.TrimPrefix(server.URL, "unix://"), DB: n})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// hour drains too slowly to matter in a test.
func hour(capacity int) ratelimit.Limit {
	return ratelimit.Limit{Capacity: capacity, PerSecond: ratelimit.Every(time.Hour)}
}

// admitted takes n tokens at once, shared out among the stores.
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

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("not within 10 s: %s", what)
}

func TestTwoInstancesAdmitTheCapacity(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	a, _ := open(t, server.URL, nil)
	b, _ := open(t, server.URL, nil)
	for round := range 20 {
		if n := admitted(t, fmt.Sprint("round ", round), hour(60), 200, a, b); n != 60 {
			t.Fatalf("%d of 200 were admitted, want 60", n)
		}
	}
	if s := a.Stats(); s != (redis.Stats{}) {
		t.Errorf("%+v", s)
	}
}

// TestAsInMemory does the same at random with Redis and with the memory, at the same times.
func TestAsInMemory(t *testing.T) {
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
		now = now.Add(time.Duration(random.IntN(400)) * time.Millisecond)
	}
	now = now.Add(-time.Hour)
	got := take(t, shared, "bucket 3", limits[3])
	want, _ := memory.Take(t.Context(), "bucket 3", limits[3])
	if got.Allowed != want.Allowed || got.Remaining != want.Remaining {
		t.Errorf("a clock that went back: %+v, in memory %+v", got, want)
	}
}

// TestServersClock lets buckets drain by Redis's own clock, however wrong the replicas' are.
func TestServersClock(t *testing.T) {
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
	until(t, "the token drains", func() bool { return take(t, s, "x", l).Allowed })
}

// TestKeysTellNothing looks at what lies in Redis: no address, and nothing that stays for ever.
func TestKeysTellNothing(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	s, _ := open(t, server.URL, nil)
	take(t, s, "login:ann@example.com", ratelimit.Limit{Capacity: 3, PerSecond: ratelimit.Every(15 * time.Second)})
	take(t, s, "never", ratelimit.Limit{Capacity: 3})
	c := dial(t, server, 0)
	keys, err := c.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 3 { // the two and the ping
		t.Fatalf("%q, %v", keys, err)
	}
	for _, key := range keys {
		life, err := c.PTTL(t.Context(), key).Result()
		if !strings.HasPrefix(key, "consign:bucket:") || strings.Contains(key, "ann") || err != nil || life <= 0 || life > 24*time.Hour {
			t.Errorf("%s lives for %s, %v", key, life, err)
		}
	}
	if err := errors.Join(s.Return(t.Context(), "login:ann@example.com", ratelimit.Limit{Capacity: 3, PerSecond: 1}), s.Return(t.Context(), "never", hour(3)), s.Return(t.Context(), "unknown", hour(3))); err != nil {
		t.Fatal(err)
	}
	if keys := c.Keys(t.Context(), "*").Val(); len(keys) != 1 {
		t.Errorf("after their only tokens were returned: %q", keys)
	}
}

// TestURLSaysWhoAndWhere: the user, the password and the number of the database are those of the URL.
func TestURLSaysWhoAndWhere(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	c := dial(t, server, 3)
	if err := c.Do(t.Context(), "ACL", "SETUSER", "ann", "on", ">p@ss", "~consign:*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	socket := strings.TrimPrefix(server.URL, "unix://")
	s, _ := open(t, "unix://ann:p%40ss@"+socket+"?db=3", nil)
	take(t, s, "x", hour(1))
	if keys, err := c.Keys(t.Context(), "*").Result(); len(keys) != 2 || err != nil || s.Stats().Away {
		t.Errorf("in database 3: %q, %v; %+v", keys, err, s.Stats())
	}
	if stranger, _ := open(t, "unix://ann:wrong@"+socket, nil); !stranger.Stats().Away {
		t.Error("a wrong password is taken")
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
			if n := admitted(t, "before", hour(10), 40, a, b); n != 10 {
				t.Fatalf("%d admitted", n)
			}
			test.fail(server)
			begin := time.Now()
			if n := admitted(t, "meanwhile", hour(10), 80, a, b); n != 20 {
				t.Errorf("each replica for itself admits 10: %d admitted by two", n)
			}
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("80 tokens took %s when Redis failed", took)
			}
			begin = time.Now()
			if take(t, a, "meanwhile", hour(10)).Allowed {
				t.Error("the replica forgot its own bucket")
			}
			if err := a.Return(t.Context(), "meanwhile", hour(10)); err != nil || !take(t, a, "meanwhile", hour(10)).Allowed {
				t.Errorf("a returned token still counts: %v", err)
			}
			if took := time.Since(begin); took > 50*time.Millisecond {
				t.Errorf("tokens still wait for Redis: %s", took)
			}
			stats := a.Stats()
			if !stats.Away || stats.Failures != 1 || stats.Fallbacks < 40 || logA.count("level=WARN") != 1 {
				t.Errorf("%+v, logged %d times", stats, logA.count("level=WARN"))
			}
			test.mend(server)
			until(t, "both share again", func() bool {
				take(t, a, "probe", hour(1))
				take(t, b, "probe", hour(1))
				return !a.Stats().Away && !b.Stats().Away
			})
			if n := admitted(t, "after", hour(60), 200, a, b); n != 60 {
				t.Errorf("%d of 200 were admitted after Redis came back, want 60", n)
			}
			if test.keepsLevels && take(t, b, "before", hour(10)).Allowed {
				t.Error("levels from before are lost, though Redis kept them")
			}
			if logA.count("level=INFO") != 1 || a.Stats().Failures != 1 {
				t.Errorf("the return was logged %d times, %+v", logA.count("level=INFO"), a.Stats())
			}
		})
	}
}

func TestStartsWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	server.Kill()
	s, log := open(t, server.URL, nil)
	if n := admitted(t, "x", hour(5), 20, s); n != 5 || !s.Stats().Away || log.count("level=WARN") != 1 {
		t.Errorf("%d admitted, %+v", n, s.Stats())
	}
	server.Start()
	until(t, "it is found", func() bool { take(t, s, "probe", hour(1)); return !s.Stats().Away })
}

// TestRefusingServer is one that answers, but takes no writes.
func TestRefusingServer(t *testing.T) {
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
	if n := admitted(t, "x", hour(5), 20, s); n != 5 || !s.Stats().Away {
		t.Errorf("%d admitted, %+v", n, s.Stats())
	}
	set("0")
	until(t, "it takes writes again", func() bool { take(t, s, "probe", hour(1)); return !s.Stats().Away })
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
