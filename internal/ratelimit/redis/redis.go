// Package redis keeps the levels of rate limit buckets in Redis or Valkey, so that several replicas share them: one script
// a drop, which admits as atomically as one process does.
//
// It owns what happens when Redis does not answer: the replica keeps buckets of its own in memory until it does, which
// is logged at each change and counted. A request never fails because of it.
package redis

import (
	"context"
	"crypto/sha256"
	_ "embed" // take.lua
	"encoding/base64"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	client "github.com/gomodule/redigo/redis"

	"github.com/consign-dev/consign/internal/ratelimit"
)

const (
	// answerWithin is how long a request waits for Redis, once, before the memory takes over. It is long because a replica
	// that is short of processor time must not take that for a failure of Redis.
	answerWithin = 3 * time.Second
	askEvery     = time.Second    // how often Redis is asked, while it does not answer, whether it does again
	forgetAfter  = 24 * time.Hour // as in ratelimit.Limit.Empty
	connections  = 64             // at most; a drop holds one for some 100 µs
	idleFor      = time.Minute    // a connection that nobody needed for so long is closed

	keyPrefix = "consign:bucket:"
)

//go:embed take.lua
var script string

// Options are what a store needs besides its server.
type Options struct {
	// Now is the clock by which buckets drain. Nil is Redis's own, the same for all replicas however much theirs differ;
	// tests give one to move it.
	Now func() time.Time
	Log *slog.Logger
}

// Store is a ratelimit.Store in Redis.
type Store struct {
	pool     *client.Pool
	script   *client.Script
	now      func() time.Time
	log      *slog.Logger
	fallback *ratelimit.Memory

	away      atomic.Bool
	asked     atomic.Int64 // when Redis was last asked whether it is back, in Unix nanoseconds
	failures  atomic.Int64
	fallbacks atomic.Int64
}

var _ ratelimit.Store = (*Store)(nil)

// Stats count how Redis fared since the start.
type Stats struct {
	Away      bool  // this replica keeps buckets of its own at the moment
	Failures  int64 // how often that has begun
	Fallbacks int64 // drops that went to the memory instead of Redis
}

// New returns a store at a URL like redis://user:password@host:6379/0, rediss://host or unix:///path/to/socket?db=0. That
// the server does not answer is no error. Errors never repeat the URL, which may hold a password.
func New(ctx context.Context, url string, o Options) (*Store, error) {
	dial, err := dialer(url)
	if err != nil {
		return nil, err
	}
	fallbackClock := o.Now
	if fallbackClock == nil {
		fallbackClock = time.Now
	}
	pool := &client.Pool{
		DialContext: dial, TestOnBorrowContext: alive,
		MaxActive: connections, MaxIdle: connections, IdleTimeout: idleFor, Wait: true,
	}
	s := &Store{pool: pool, script: client.NewScript(1, script), now: o.Now, log: o.Log, fallback: ratelimit.NewMemory(fallbackClock)}
	if err := s.ping(ctx); err != nil {
		s.fail(err)
	}
	return s, nil
}

// alive finds out whether a connection that lay idle still leads to a server, which may have been restarted.
func alive(ctx context.Context, c client.Conn, lastUsed time.Time) error {
	if time.Since(lastUsed) < askEvery {
		return nil
	}
	_, err := client.DoContext(c, ctx, "PING")
	return err
}

// Close closes the connections.
func (s *Store) Close() error { return s.pool.Close() }

// Stats returns the counters.
func (s *Store) Stats() Stats {
	return Stats{Away: s.away.Load(), Failures: s.failures.Load(), Fallbacks: s.fallbacks.Load()}
}

// Take implements ratelimit.Store; it returns no errors.
func (s *Store) Take(ctx context.Context, key string, l ratelimit.Limit) (ratelimit.Result, error) {
	if !s.usable(ctx) {
		s.fallbacks.Add(1)
		return s.fallback.Take(ctx, key, l)
	}
	allowed, before, err := s.run(ctx, key, l, 1)
	if err != nil {
		s.fail(err)
		s.fallbacks.Add(1)
		return s.fallback.Take(ctx, key, l)
	}
	_, result := l.Take(ratelimit.Level{Drops: before}, time.Time{})
	result.Allowed = allowed // the script has the last word; the arithmetic is the same
	return result, nil
}

// Return implements ratelimit.Store; it returns no errors. A drop that was taken in memory is looked for in Redis when
// that came back in between, where a bucket may so be a drop short: in the caller's favour.
func (s *Store) Return(ctx context.Context, key string, l ratelimit.Limit) error {
	if s.usable(ctx) {
		_, _, err := s.run(ctx, key, l, -1)
		if err == nil {
			return nil
		}
		s.fail(err)
	}
	return s.fallback.Return(ctx, key, l)
}

// run runs the script. It outlives the request that asked for it: its drop has fallen.
func (s *Store) run(ctx context.Context, key string, l ratelimit.Limit, drop int) (allowed bool, before float64, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
	defer cancel()
	var now int64
	if s.now != nil {
		now = s.now().UnixMicro()
	}
	conn, err := s.pool.GetContext(ctx)
	if err != nil {
		return false, 0, err
	}
	defer func() { _ = conn.Close() }()
	answer, err := client.Values(s.script.DoContext(ctx, conn, bucketKey(key),
		l.Capacity, strconv.FormatFloat(l.PerSecond, 'g', -1, 64), drop, now, forgetAfter.Milliseconds()))
	if err != nil {
		return false, 0, err
	}
	var verdict int64
	if _, err := client.Scan(answer, &verdict, &before); err != nil {
		return false, 0, fmt.Errorf("unexpected answer: %w", err)
	}
	return verdict == 1, before, nil
}

// bucketKey hides the identifier, which may be an address or the key of a link.
func bucketKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return keyPrefix + base64.RawURLEncoding.EncodeToString(sum[:18])
}

// usable reports whether Redis is to be asked. While it does not answer, one caller a second has it asked in the
// background whether it does again; nobody waits for that.
func (s *Store) usable(ctx context.Context) bool {
	if !s.away.Load() {
		return true
	}
	asked, now := s.asked.Load(), time.Now().UnixNano()
	if now-asked >= int64(askEvery) && s.asked.CompareAndSwap(asked, now) {
		go s.ask(context.WithoutCancel(ctx))
	}
	return false
}

func (s *Store) ask(ctx context.Context) {
	if s.ping(ctx) == nil && s.away.CompareAndSwap(true, false) {
		s.log.Info("rate limits are shared again: Redis answers", "drops_kept_alone", s.fallbacks.Load())
	}
}

// ping sees that Redis takes writes, which a server that is loading, full or a replica does not.
func (s *Store) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	conn, err := s.pool.GetContext(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_, err = client.DoContext(conn, ctx, "SET", keyPrefix+"ping", 1, "EX", 60)
	return err
}

// fail turns to the memory.
func (s *Store) fail(err error) {
	s.asked.Store(time.Now().UnixNano())
	if s.away.CompareAndSwap(false, true) {
		s.failures.Add(1)
		s.log.Warn("rate limits are kept by this replica alone until Redis answers again", "error", err)
	}
}
