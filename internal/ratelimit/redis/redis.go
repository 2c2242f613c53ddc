// Package redis keeps the levels of rate limit buckets in Redis or Valkey, so that replicas share them. Each token is one
// atomic script call.
//
// While Redis does not answer, the replica falls back to buckets in its own memory. It logs each change of state and counts
// the fallbacks. Requests never fail because of Redis.
package redis

import (
	"context"
	"crypto/sha256"
	_ "embed" // take.lua
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	client "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/consign-dev/consign/internal/ratelimit"
)

const (
	// answerWithin is how long a request waits for Redis before the fallback. It is long because a replica that lacks CPU
	// time must not mistake that for a failure of Redis.
	answerWithin = 3 * time.Second
	askEvery     = time.Second    // between pings while Redis does not answer
	forgetAfter  = 24 * time.Hour // as in ratelimit.Limit.Empty
	connections  = 64             // maximum; a token holds one for about 100 µs
	idleFor      = time.Minute    // idle connections are closed after this

	keyPrefix = "consign:bucket:"
)

//go:embed take.lua
var script string

// Options configure a Store.
type Options struct {
	// Now is the clock by which buckets drain. Nil: the clock of Redis, which all replicas share. Tests set a manual clock.
	Now func() time.Time
	Log *slog.Logger
}

// Store is a ratelimit.Store in Redis.
type Store struct {
	client   *client.Client
	script   *client.Script
	now      func() time.Time
	log      *slog.Logger
	fallback *ratelimit.Memory

	away      atomic.Bool
	asked     atomic.Int64 // time of the last ping while away, in Unix nanoseconds
	failures  atomic.Int64
	fallbacks atomic.Int64
}

var _ ratelimit.Store = (*Store)(nil)

// Stats counts the failures of Redis since the start.
type Stats struct {
	Away      bool  // this replica currently uses its own memory
	Failures  int64 // how often it switched to its own memory
	Fallbacks int64 // tokens counted in memory instead of Redis
}

// errURL does not repeat the URL, which may hold a password.
var errURL = errors.New("is not a URL like redis://user:password@host:6379/0, rediss://host:6379/0 or unix:///path/to/socket?db=0")

// New returns a store at a URL like redis://user:password@host:6379/0, rediss://host or unix:///path/to/socket?db=0. A server
// that does not answer is not an error.
// Errors: for a malformed URL.
func New(ctx context.Context, url string, o Options) (*Store, error) {
	options, err := client.ParseURL(url)
	if err != nil {
		return nil, errURL
	}
	logging.Disable()                                 // the library would write to standard error; fail logs each change of state
	options.MaxRetries, options.DialerRetries = -1, 1 // the fallback is faster than a retry; a token must not count twice
	options.ContextTimeoutEnabled = true
	options.DialTimeout = answerWithin
	options.PoolSize, options.ConnMaxIdleTime = connections, idleFor
	options.Protocol, options.DisableIdentity = 2, true // no commands beyond authentication when a connection opens
	fallbackClock := o.Now
	if fallbackClock == nil {
		fallbackClock = time.Now
	}
	s := &Store{client: client.NewClient(options), script: client.NewScript(script), now: o.Now, log: o.Log,
		fallback: ratelimit.NewMemory(fallbackClock)}
	if err := s.ping(ctx); err != nil {
		s.fail(err)
	}
	return s, nil
}

// Try returns how long the server at url takes for an answer. It does what a request does: it runs a script.
func Try(ctx context.Context, url string) (time.Duration, error) {
	options, err := client.ParseURL(url)
	if err != nil {
		return 0, errURL
	}
	logging.Disable()
	options.MaxRetries, options.DialerRetries, options.ContextTimeoutEnabled, options.DialTimeout = -1, 1, true, answerWithin
	options.Protocol, options.DisableIdentity = 2, true
	c := client.NewClient(options)
	defer func() { _ = c.Close() }()
	if err := c.Set(ctx, keyPrefix+"ping", 1, time.Minute).Err(); err != nil {
		return 0, err
	}
	began := time.Now()
	err = c.Eval(ctx, "return redis.call('GET', KEYS[1])", []string{keyPrefix + "ping"}).Err()
	return time.Since(began), err
}

// Close closes the connections.
func (s *Store) Close() error { return s.client.Close() }

// Stats returns the counters.
func (s *Store) Stats() Stats {
	return Stats{Away: s.away.Load(), Failures: s.failures.Load(), Fallbacks: s.fallbacks.Load()}
}

// Take implements ratelimit.Store; it returns no errors.
func (s *Store) Take(ctx context.Context, key string, l ratelimit.Limit) (ratelimit.Result, error) {
	_, result, err := s.TakeAll(ctx, []ratelimit.Ask{{Key: key, Limit: l}})
	return result, err
}

// TakeAll implements ratelimit.Store; it returns no errors.
func (s *Store) TakeAll(ctx context.Context, asks []ratelimit.Ask) (refused int, r ratelimit.Result, err error) {
	if !s.usable(ctx) {
		s.fallbacks.Add(1)
		return s.fallback.TakeAll(ctx, asks)
	}
	refused, before, err := s.run(ctx, 1, asks...)
	if err != nil {
		s.fail(err)
		s.fallbacks.Add(1)
		return s.fallback.TakeAll(ctx, asks)
	}
	decided := refused
	if refused < 0 {
		decided = len(asks) - 1
	}
	_, r = asks[decided].Limit.Take(ratelimit.Level{Tokens: before}, time.Time{})
	r.Allowed = refused < 0 // the script decides; the arithmetic is the same
	return refused, r, nil
}

// Return implements ratelimit.Store; it returns no errors. If Redis came back since the token was taken in memory, the
// token is returned in Redis instead, which leaves that bucket one token short, in the caller's favour.
func (s *Store) Return(ctx context.Context, key string, l ratelimit.Limit) error {
	if s.usable(ctx) {
		_, _, err := s.run(ctx, -1, ratelimit.Ask{Key: key, Limit: l})
		if err == nil {
			return nil
		}
		s.fail(err)
	}
	return s.fallback.Return(ctx, key, l)
}

// run runs the script: change 1 takes a token of each key, -1 returns one. refused is the index of the key whose bucket is full, -1 when
// none is. before is the level that this key, or the last one, had before the change. run ignores the cancellation of ctx: the token
// counts even if the client is gone.
func (s *Store) run(ctx context.Context, change int, asks ...ratelimit.Ask) (refused int, before float64, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
	defer cancel()
	var now int64
	if s.now != nil {
		now = s.now().UnixMicro()
	}
	keys, args := make([]string, len(asks)), []any{change, now, forgetAfter.Milliseconds()}
	for i, a := range asks {
		keys[i], args = bucketKey(a.Key), append(args, a.Limit.Capacity, strconv.FormatFloat(a.Limit.PerSecond, 'g', -1, 64))
	}
	answer, err := s.script.Run(ctx, s.client, keys, args...).Slice()
	if err != nil {
		return 0, 0, err
	}
	if len(answer) == 2 {
		index, isIndex := answer[0].(int64)
		text, _ := answer[1].(string)
		if before, err := strconv.ParseFloat(text, 64); err == nil && isIndex && index <= int64(len(asks)) {
			return int(index) - 1, before, nil
		}
	}
	return 0, 0, fmt.Errorf("unexpected answer: %v", answer)
}

// bucketKey hashes the identifier, which may be an address or the key of a link.
func bucketKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return keyPrefix + base64.RawURLEncoding.EncodeToString(sum[:18])
}

// usable reports whether to use Redis. While Redis is away, it starts one ping per second in the background.
func (s *Store) usable(ctx context.Context) bool {
	if !s.away.Load() {
		return true
	}
	asked, now := s.asked.Load(), time.Now().UnixNano()
	if now-asked >= int64(askEvery) && s.asked.CompareAndSwap(asked, now) {
		go s.Ask(context.WithoutCancel(ctx))
	}
	return false
}

// Ask asks Redis whether it answers. A server without requests calls it, so that Stats are true without traffic, too.
func (s *Store) Ask(ctx context.Context) {
	switch err := s.ping(ctx); {
	case ctx.Err() != nil:
	case err != nil:
		s.fail(err)
	case s.away.CompareAndSwap(true, false):
		s.log.Info("rate limits are shared again: Redis answers", "tokens_counted_locally", s.fallbacks.Load())
	}
}

// ping checks that Redis accepts writes. A server that is loading, full or a read replica does not.
func (s *Store) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return s.client.Set(ctx, keyPrefix+"ping", 1, time.Minute).Err()
}

// fail switches to the fallback.
func (s *Store) fail(err error) {
	s.asked.Store(time.Now().UnixNano())
	if s.away.CompareAndSwap(false, true) {
		s.failures.Add(1)
		s.log.Warn("rate limits are counted by this replica alone until Redis answers again", "error", err)
	}
}
