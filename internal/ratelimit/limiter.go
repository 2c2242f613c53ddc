package ratelimit

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/consign-dev/consign/internal/fault"
)

// Store keeps the levels of buckets. Take is atomic: of parallel calls on one key, exactly as many are allowed as tokens
// fit. TakeAll takes a token of each of several keys or none: then refused is the index of the first key that refuses, else -1. The Result
// is that key's, else the last one's. A key's limit may change between calls; its level stays.
type Store interface {
	Take(ctx context.Context, key string, l Limit) (Result, error)
	TakeAll(ctx context.Context, asks []Ask) (refused int, r Result, err error)
	Return(ctx context.Context, key string, l Limit) error
}

// Ask is a key of TakeAll with its limit.
type Ask struct {
	Key   string
	Limit Limit
}

// By is what the identifier of a bucket identifies.
type By string

// The kinds of identifiers.
const (
	BySession By = "session" // sid, reservation or delivery of the token, else the anonymous session, else the address
	ByAddress By = "address" // the client's network: see Network
	ByPerson  By = "person"
	ByEmail   By = "email address"
	ByDevice  By = "device"
	ByServer  By = "server" // one bucket for everybody
	ByLink    By = "link"
	ByOwner   By = "mailbox owner"
	ByVisitor By = "mailbox owner and client address"
	ByAsker   By = "email address and client address"
)

// Bucket is a kind of bucket. Each identifier has its own bucket of the kind.
type Bucket struct {
	Name      string // unique among buckets; part of the store's key
	Limit     Limit
	By        By           // what the identifier identifies, for documentation
	Essential bool         // counts even while CONSIGN_RATE_LIMIT is off
	Refusal   *fault.Error // error of a refusal; nil: fault.ErrRateLimited
}

// Limiter takes tokens on behalf of requests.
type Limiter struct {
	store   Store
	enabled bool
	refused sync.Map // *atomic.Int64 by name of the bucket
}

// NewLimiter returns a limiter over store. When it is not enabled, only essential buckets count, and it logs one warning.
func NewLimiter(store Store, enabled bool, log *slog.Logger) *Limiter {
	if !enabled {
		log.Warn("request rate limits are off: CONSIGN_RATE_LIMIT=off; login, email, one-time-key, link and new-transfer limits stay")
	}
	return &Limiter{store: store, enabled: enabled}
}

// Take takes a token of identifier's bucket of kind b. A refusal is a Result, not an error.
// Errors: those of the store.
func (l *Limiter) Take(ctx context.Context, b Bucket, identifier string) (Result, error) {
	if !l.enabled && !b.Essential {
		return Result{Allowed: true}, nil
	}
	result, err := l.store.Take(ctx, b.Name+":"+identifier, b.Limit)
	if err != nil {
		return Result{}, fmt.Errorf("take from bucket %s: %w", b.Name, err)
	}
	if !result.Allowed {
		l.count(b.Name)
	}
	return result, nil
}

// Part is one bucket of TakeAll.
type Part struct {
	Bucket     Bucket
	Identifier string
}

// TakeAll takes a token of every part or of none. refused is the part that has no room, or nil.
// Errors: those of the store.
func (l *Limiter) TakeAll(ctx context.Context, parts ...Part) (refused *Part, r Result, err error) {
	var asks []Ask
	var counted []int
	for i, p := range parts {
		if l.enabled || p.Bucket.Essential {
			asks, counted = append(asks, Ask{Key: p.Bucket.Name + ":" + p.Identifier, Limit: p.Bucket.Limit}), append(counted, i)
		}
	}
	if len(asks) == 0 {
		return nil, Result{Allowed: true}, nil
	}
	n, r, err := l.store.TakeAll(ctx, asks)
	if err != nil {
		return nil, Result{}, fmt.Errorf("take from %d buckets: %w", len(asks), err)
	}
	if n < 0 {
		return nil, r, nil
	}
	refused = &parts[counted[n]]
	l.count(refused.Bucket.Name)
	return refused, r, nil
}

func (l *Limiter) count(bucket string) {
	n, ok := l.refused.Load(bucket)
	if !ok {
		n, _ = l.refused.LoadOrStore(bucket, new(atomic.Int64))
	}
	n.(*atomic.Int64).Add(1)
}

// Refusals returns how many tokens this process refused, by name of the bucket.
func (l *Limiter) Refusals() map[string]int64 {
	all := map[string]int64{}
	l.refused.Range(func(name, n any) bool {
		all[name.(string)] = n.(*atomic.Int64).Load()
		return true
	})
	return all
}

// Return returns the token of an earlier Take to its bucket.
// Errors: those of the store.
func (l *Limiter) Return(ctx context.Context, b Bucket, identifier string) error {
	if !l.enabled && !b.Essential {
		return nil
	}
	if err := l.store.Return(ctx, b.Name+":"+identifier, b.Limit); err != nil {
		return fmt.Errorf("return to bucket %s: %w", b.Name, err)
	}
	return nil
}

// Refused returns the error for a refused result: the bucket's Refusal with the result's RetryAfter and capacity.
func (b Bucket) Refused(result Result) *fault.Error {
	refusal := b.Refusal
	if refusal == nil {
		refusal = fault.ErrRateLimited
	}
	return refusal.WithRetryAfter(result.RetryAfter).WithCapacity(result.Limit)
}
