package httpapi

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/ratelimit"
)

// Bucketing says from which bucket a route's requests take their token. The zero value is General.
type Bucketing struct {
	rule   rule
	bucket ratelimit.Bucket
}

type rule int

const (
	ruleGeneral rule = iota
	ruleNone
	ruleOwn
	ruleDeclared
)

// The buckets of the specifications' "Limits" sections and contract 1.7.
var (
	// General is the bucket of every route that names no other: capacity 60, drained by one token a second, per session.
	General = Bucketing{}
	// NoBucket is for routes that are not limited.
	NoBucket = Bucketing{rule: ruleNone}
	// OwnBucket is for routes whose handler takes the token itself, with Buckets.Take, because the bucket depends on the body.
	OwnBucket = Bucketing{rule: ruleOwn}

	generalBucket = ratelimit.Bucket{Name: "general", Limit: ratelimit.Limit{Capacity: 60, PerSecond: 1}, By: ratelimit.BySession}
)

// PerSession returns a bucket per session, reservation or delivery. Routes with the same name share it.
func PerSession(name string, l ratelimit.Limit) Bucketing {
	return Bucketing{rule: ruleDeclared, bucket: ratelimit.Bucket{Name: name, Limit: l, By: ratelimit.BySession}}
}

// PerAddress returns a bucket per client address. Routes with the same name share it.
func PerAddress(name string, l ratelimit.Limit) Bucketing {
	return Bucketing{rule: ruleDeclared, bucket: ratelimit.Bucket{Name: name, Limit: l, By: ratelimit.ByAddress}}
}

// Essential returns b as a bucket that stays on when CONSIGN_RATE_LIMIT is off.
func (b Bucketing) Essential() Bucketing {
	b.bucket.Essential = true
	return b
}

// Bucket returns the bucket that the pipeline takes a token from before it calls the handler, false when it takes none.
func (b Bucketing) Bucket() (ratelimit.Bucket, bool) {
	switch b.rule {
	case ruleNone, ruleOwn:
		return ratelimit.Bucket{}, false
	case ruleGeneral:
		bucket := generalBucket
		bucket.Essential = b.bucket.Essential
		return bucket, true
	}
	return b.bucket, true
}

// IsGeneral reports whether the route names no bucket of its own.
func (b Bucketing) IsGeneral() bool { return b.rule == ruleGeneral }

// String describes the bucket for tables and documents: "general", "none", "own", "upload per session".
func (b Bucketing) String() string {
	switch b.rule {
	case ruleGeneral:
		return "general"
	case ruleNone:
		return "none"
	case ruleOwn:
		return "own"
	}
	return b.bucket.Name + " per " + string(b.bucket.By)
}

// Buckets takes tokens and writes the X-RateLimit headers.
type Buckets struct{ limiter *ratelimit.Limiter }

// NewBuckets returns buckets over limiter. Handlers of routes with OwnBucket hold one.
func NewBuckets(limiter *ratelimit.Limiter) *Buckets { return &Buckets{limiter: limiter} }

// Take takes a token from identifier's bucket and sets the X-RateLimit headers. When the bucket is full it returns
// bucket.Refusal, else 429001 or, in the identity style, 509001, with the time to retry.
func (b *Buckets) Take(w http.ResponseWriter, ctx context.Context, bucket ratelimit.Bucket, identifier string, style Style) error {
	return b.TakePart(w, ctx, ratelimit.Part{Bucket: bucket, Identifier: identifier}, style)
}

// TakePart is Take for a part, which may name the client.
func (b *Buckets) TakePart(w http.ResponseWriter, ctx context.Context, part ratelimit.Part, style Style) error {
	taken, err := b.limiter.Take(ctx, part)
	if err != nil {
		return err
	}
	if taken.Limit > 0 {
		writeTaken(w.Header(), taken)
	}
	return style.refused(taken)
}

// TakeQuietly is Take for a second bucket beside the route's own: it sets the X-RateLimit headers only when it refuses.
func (b *Buckets) TakeQuietly(w http.ResponseWriter, ctx context.Context, bucket ratelimit.Bucket, identifier string, style Style) error {
	taken, err := b.limiter.Take(ctx, ratelimit.Part{Bucket: bucket, Identifier: identifier})
	if err != nil || taken.Allowed {
		return err
	}
	writeTaken(w.Header(), taken)
	return style.refused(taken)
}

func writeTaken(h http.Header, t ratelimit.Taken) {
	writeLimit(h, t.Bucket.Name, t.Bucket.Limit.PerSecond, t.Result)
}

// refused returns the error of a refusal as the API answers it, else nil.
func (s Style) refused(t ratelimit.Taken) error {
	if t.Allowed {
		return nil
	}
	return s.Refusal(t.Bucket.Refused(t.Result))
}

// writeLimit writes the state of a bucket: X-RateLimit-*, and the fields of draft-ietf-httpapi-ratelimit-headers-10. The window w is the
// time in which a full bucket drains.
func writeLimit(h http.Header, name string, perSecond float64, result ratelimit.Result) {
	limit, remaining, name := strconv.Itoa(result.Limit), strconv.Itoa(result.Remaining), strconv.Quote(name)
	h.Set("X-RateLimit-Limit", limit)
	h.Set("X-RateLimit-Remaining", remaining)
	policy, state := name+";q="+limit, name+";r="+remaining
	if perSecond > 0 {
		policy += ";w=" + strconv.Itoa(int(math.Ceil(float64(result.Limit)/perSecond)))
	}
	if !result.Allowed {
		state += ";t=" + strconv.Itoa(wholeSeconds(result.RetryAfter))
	}
	h.Set("RateLimit-Policy", policy)
	h.Set("RateLimit", state)
}

func wholeSeconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// TakeFor is TakeQuietly around work that reports whether it counts. The token is taken before the work, so that parallel
// requests cannot exceed the capacity, and returned after work that does not count.
func (b *Buckets) TakeFor(w http.ResponseWriter, ctx context.Context, bucket ratelimit.Bucket, identifier string, style Style,
	work func() (counts bool, err error)) error {
	return b.TakeAllFor(w, ctx, []ratelimit.Part{{Bucket: bucket, Identifier: identifier}}, style, work)
}

// TakeAllFor is TakeFor for a token of every part, or of none.
func (b *Buckets) TakeAllFor(w http.ResponseWriter, ctx context.Context, parts []ratelimit.Part, style Style,
	work func() (counts bool, err error)) error {
	taken, err := b.limiter.Take(ctx, parts...)
	if err != nil {
		return err
	}
	if !taken.Allowed {
		writeTaken(w.Header(), taken)
		return style.refused(taken)
	}
	counts, err := work()
	if counts {
		return err
	}
	return cmp.Or(err, b.limiter.Return(ctx, parts...))
}

// Admit takes a token of a bucket and reports whether one fit. It writes nothing.
func (b *Buckets) Admit(ctx context.Context, part ratelimit.Part) (bool, error) {
	taken, err := b.limiter.Take(ctx, part)
	return taken.Allowed, err
}

// Refusal returns f as the API answers it: in the identity API 429001 becomes 509001. Other codes stay (contract 1.7).
func (s Style) Refusal(f *fault.Error) *fault.Error {
	if s != Identity || f.Code != fault.ErrRateLimited.Code {
		return f
	}
	overloaded := fault.ErrOverloaded.WithRetryAfter(f.RetryAfter).WithCapacity(f.Capacity).Because(f)
	overloaded.Details = f.Details
	return overloaded
}
