package httpapi

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/token"
)

// Bucketing says which bucket a route's requests pay into. The zero value is General.
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
	// General is the bucket of every route that names no other: capacity 60, one drop a second, per session.
	General = Bucketing{}
	// NoBucket is for routes that are not limited.
	NoBucket = Bucketing{rule: ruleNone}
	// OwnBucket is for routes whose handler takes the drop itself, with Buckets.Take, since only the body tells whose it is.
	OwnBucket = Bucketing{rule: ruleOwn}

	generalBucket = ratelimit.Bucket{Name: "general", Limit: ratelimit.Limit{Capacity: 60, PerSecond: 1}, By: ratelimit.BySession}
	addressBucket = ratelimit.Bucket{Name: "address", Limit: ratelimit.Limit{Capacity: 600, PerSecond: 10}, By: ratelimit.ByAddress}
)

// PerSession is a bucket that several routes share by its name, kept per session, reservation or delivery.
func PerSession(name string, l ratelimit.Limit) Bucketing {
	return Bucketing{rule: ruleDeclared, bucket: ratelimit.Bucket{Name: name, Limit: l, By: ratelimit.BySession}}
}

// PerAddress is a bucket that several routes share by its name, kept per client address.
func PerAddress(name string, l ratelimit.Limit) Bucketing {
	return Bucketing{rule: ruleDeclared, bucket: ratelimit.Bucket{Name: name, Limit: l, By: ratelimit.ByAddress}}
}

// Essential keeps the bucket on while CONSIGN_RATE_LIMIT is off.
func (b Bucketing) Essential() Bucketing {
	b.bucket.Essential = true
	return b
}

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

// Buckets takes drops and tells the client about it.
type Buckets struct{ limiter *ratelimit.Limiter }

// NewBuckets returns buckets over limiter. Handlers of routes with OwnBucket hold one.
func NewBuckets(limiter *ratelimit.Limiter) *Buckets { return &Buckets{limiter: limiter} }

// Take adds a drop to identifier's bucket of kind b, sets the X-RateLimit headers, and returns the refusal when the
// bucket is full: b.Refusal, else 429001 or, in the identity style, 509001, with the time to retry.
func (b *Buckets) Take(w http.ResponseWriter, ctx context.Context, bucket ratelimit.Bucket, identifier string, style Style) error {
	result, err := b.limiter.Take(ctx, bucket, identifier)
	if err != nil {
		return err
	}
	if result.Limit > 0 {
		values := []string{strconv.Itoa(result.Limit), strconv.Itoa(result.Remaining)}
		h := w.Header()
		h["X-Ratelimit-Limit"], h["X-Ratelimit-Remaining"] = values[:1:1], values[1:]
	}
	if result.Allowed {
		return nil
	}
	return style.refusal(bucket.Refused(result))
}

// TakeQuietly is Take for a bucket beside the one that the route declares or is known for: its headers appear only on a refusal.
func (b *Buckets) TakeQuietly(w http.ResponseWriter, ctx context.Context, bucket ratelimit.Bucket, identifier string, style Style) error {
	h := w.Header()
	limit, remaining := h["X-Ratelimit-Limit"], h["X-Ratelimit-Remaining"]
	err := b.Take(w, ctx, bucket, identifier, style)
	if err == nil {
		restore(h, "X-Ratelimit-Limit", limit)
		restore(h, "X-Ratelimit-Remaining", remaining)
	}
	return err
}

// TakeFor is TakeQuietly around work that is only counted if it says so. The drop falls before, so that of parallel requests no more
// are let in than there is room for, and is returned afterwards when it does not count.
func (b *Buckets) TakeFor(w http.ResponseWriter, ctx context.Context, bucket ratelimit.Bucket, identifier string, style Style, work func() (counts bool, err error)) error {
	if err := b.TakeQuietly(w, ctx, bucket, identifier, style); err != nil {
		return err
	}
	counts, err := work()
	if counts {
		return err
	}
	return cmp.Or(err, b.limiter.Return(ctx, bucket, identifier))
}

func restore(h http.Header, name string, values []string) {
	if values == nil {
		delete(h, name)
		return
	}
	h[name] = values
}

// refusal renders the general refusal as the API calls it; a refusal with a code of its own stays (contract 1.7).
func (s Style) refusal(f *fault.Error) *fault.Error {
	if s != Identity || f.Code != fault.ErrRateLimited.Code {
		return f
	}
	overloaded := fault.ErrOverloaded.WithRetryAfter(f.RetryAfter).Because(f)
	overloaded.Details = f.Details
	return overloaded
}

// pay takes the route's drop. An anonymous client without a session pays from its address, and is given a session,
// which costs the address another drop in a bucket of its own.
func (a *API) pay(x *exchange, r *http.Request, b Bucketing, caller token.Caller) error {
	bucket := b.bucket
	switch b.rule {
	case ruleNone, ruleOwn:
		return nil
	case ruleGeneral:
		bucket = generalBucket
		bucket.Essential = b.bucket.Essential
	}
	ctx := r.Context()
	if bucket.By == ratelimit.ByAddress {
		return a.buckets.Take(x, ctx, bucket, AddressKey(x.client().Address), x.style)
	}
	if identifier := sessionKey(caller); identifier != "" {
		return a.buckets.Take(x, ctx, bucket, identifier, x.style)
	}
	if session := a.sessions.read(r, x.client().Host.Name); session != "" {
		return a.buckets.Take(x, ctx, bucket, session, x.style)
	}
	address := AddressKey(x.client().Address)
	if err := a.buckets.Take(x, ctx, bucket, address, x.style); err != nil {
		return err
	}
	if len(x.Header()["X-Ratelimit-Limit"]) == 0 { // not counted: nobody needs a session
		return nil
	}
	if err := a.buckets.TakeQuietly(x, ctx, a.address, address, x.style); err != nil {
		return err
	}
	http.SetCookie(x, a.sessions.start(x.client().Host.Name))
	return nil
}

// sessionKey identifies the bucket of an authenticated caller: what the specifications call the session id.
func sessionKey(c token.Caller) string {
	switch {
	case c.Anonymous():
		return ""
	case c.Kind == token.KindReservation:
		return c.Reservation.String()
	case c.Kind == token.KindDownload:
		return c.Delivery.String()
	case !c.Session.IsZero():
		return c.Session.String()
	case !c.Person.IsZero():
		return c.Person.String()
	}
	return c.JTI.String()
}

// AddressKey identifies the bucket of an address. A holder of IPv6 addresses has a whole /64 of them.
func AddressKey(addr netip.Addr) string {
	if !addr.IsValid() {
		return "unknown"
	}
	if addr.Is6() && !addr.Is4In6() {
		prefix, _ := addr.WithZone("").Prefix(64) // 64 bits are always there
		raw := prefix.Addr().As16()
		return base64.RawURLEncoding.EncodeToString(raw[:8])
	}
	return addr.Unmap().String()
}

// isInvalidToken tells a token that failed from one that is missing, and from a failure that is not the client's.
func isInvalidToken(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && f.Kind == fault.Unauthenticated && !errors.Is(err, token.ErrMissing)
}
