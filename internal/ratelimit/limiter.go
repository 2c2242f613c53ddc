// Takes tokens of buckets, of the networks around a client, and of what is kept for networks that ask little.

package ratelimit

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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
	Common    Limit        // of which Limit is what one client network may take, Percent percent; zero: Limit is four times as large
	Percent   int          // 0: a quarter
	Kept      int          // percentage of Limit that fits above it, for networks that have taken little lately; 0: a quarter
	By        By           // what the identifier identifies, for documentation
	Essential bool         // counts even while CONSIGN_RATE_LIMIT is off
	Refusal   *fault.Error // error of a refusal; nil: fault.ErrRateLimited
}

// Share returns the bucket of what one client network may take of b, a percentage.
func (b Bucket) Share(percent int) Bucket {
	b.Common, b.Percent, b.Limit = b.Limit, percent, b.Limit.Share(percent)
	return b
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

// Part is one bucket of Take.
type Part struct {
	Bucket     Bucket
	Identifier string
	Client     string // for a bucket that all networks share, AddressKey of the one that asks: see lately
}

// Taken says how Take went.
type Taken struct {
	Result
	Bucket Bucket // the one that refused, else the last part's
}

// Err returns the error of a refusal, nil if the tokens were taken.
func (t Taken) Err() error {
	if t.Allowed {
		return nil
	}
	return t.Bucket.Refused(t.Result)
}

// Take takes a token of every part or of none. A part that counts by client network also takes one of each network around it, and a part
// with a Client may use what is kept for networks that have taken little lately. A refusal is a Taken, not an error.
// Errors: those of the store.
func (l *Limiter) Take(ctx context.Context, parts ...Part) (Taken, error) {
	parts = l.counted(parts)
	if len(parts) == 0 {
		return Taken{Result: Result{Allowed: true}}, nil
	}
	kept := make([]int, len(parts)) // tokens above the limit that the caller may use
	for i, p := range parts {
		little, err := l.little(ctx, p)
		if err != nil {
			return Taken{}, err
		}
		if little {
			kept[i] = p.Bucket.Limit.kept(cmp.Or(p.Bucket.Kept, NetworkShare))
		}
	}
	asks := asksOf(parts)
	for i := range asks {
		asks[i].Limit.Capacity += kept[i]
	}
	refused, r, err := l.store.TakeAll(ctx, asks)
	if err != nil {
		return Taken{}, fmt.Errorf("take from %d buckets: %w", len(asks), err)
	}
	decided := refused
	if refused < 0 {
		decided = len(parts) - 1
	} else {
		l.count(parts[refused].Bucket.Name)
	}
	r.Limit, r.Remaining = r.Limit-kept[decided], max(0, r.Remaining-kept[decided])
	return Taken{r, parts[decided].Bucket}, nil
}

// counted returns the parts that count, each with the networks around it. The wide ones come first: somebody who uses up a whole prefix
// then leaves no bucket for each address of it.
func (l *Limiter) counted(parts []Part) []Part {
	all := make([]Part, 0, len(parts)+2)
	for _, p := range parts {
		if l.enabled || p.Bucket.Essential {
			all = append(append(all, p.around()...), p)
		}
	}
	return all
}

// around returns the parts of the networks around a part that counts by client network, from wide to narrow.
func (p Part) around() []Part {
	switch p.Bucket.By {
	case ByAddress, ByVisitor, ByAsker:
	default:
		return nil
	}
	b := p.Bucket
	if b.Percent == 0 {
		b.Percent, b.Common = NetworkShare, b.Limit.times(100/NetworkShare)
	}
	prefix, client := "", p.Identifier
	if i := strings.LastIndexByte(client, ' '); i >= 0 {
		prefix, client = client[:i+1], client[i+1:]
	}
	var all []Part
	for _, wide := range slices.Backward(Around(NetworkOf(client), b.Percent)) {
		b.Limit = b.Common.Share(wide.Percent)
		all = append(all, Part{Bucket: b, Identifier: prefix + wide.Network.String()})
	}
	return all
}

func asksOf(parts []Part) []Ask {
	asks := make([]Ask, len(parts))
	for i, p := range parts {
		asks[i] = Ask{Key: p.Bucket.Name + ":" + p.Identifier, Limit: p.Bucket.Limit}
	}
	return asks
}

// A network has taken little lately when it has asked for tokens of a kind of common buckets, whatever their identifiers, littleLately
// times at most. Above the limit of a bucket there is room for these networks only (Limit.kept). So somebody who has not asked finds
// room while others keep the bucket full. Refused requests count, too. The count drains slowly: an attacker with hundreds of networks
// would else come back with each of them before the bucket has drained.
const littleLately = 3

var latelyLimit = Limit{Capacity: 2 * littleLately, PerSecond: Every(8 * time.Hour)}

// little counts a request for a token of a common bucket, and reports whether its network has taken little lately.
func (l *Limiter) little(ctx context.Context, p Part) (bool, error) {
	network := NetworkOf(p.Client)
	if !network.IsValid() {
		return false, nil
	}
	n, err := asked(ctx, l.store, p.Bucket.Name+"-lately:", latelyLimit, network)
	if err != nil {
		return false, fmt.Errorf("take from bucket %s-lately: %w", p.Bucket.Name, err)
	}
	return n <= littleLately, nil
}

// asked counts a request of a client network and of those around it, and returns how many there were lately, this one among them: of the
// network that has made most for its size, at most as many as fit in limit.
func asked(ctx context.Context, store Store, kind string, limit Limit, network netip.Prefix) (int, error) {
	most := 1
	for _, n := range chain(network, NetworkShare) {
		times := n.Percent / NetworkShare
		wide := limit.times(times)
		r, err := store.Take(ctx, kind+n.Network.String(), wide)
		if err != nil || !r.Allowed { // then the smaller ones need no buckets
			return limit.Capacity, err
		}
		most = max(most, (wide.Capacity-r.Remaining+times-1)/times)
	}
	return most, nil
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

// Return returns the tokens of an earlier Take to their buckets.
// Errors: those of the store.
func (l *Limiter) Return(ctx context.Context, parts ...Part) error {
	var failed error
	for _, a := range asksOf(l.counted(parts)) {
		if err := l.store.Return(ctx, a.Key, a.Limit); err != nil {
			failed = fmt.Errorf("return to a bucket: %w", err)
		}
	}
	return failed
}

// Refused returns the error for a refused result: the bucket's Refusal with the result's RetryAfter and capacity.
func (b Bucket) Refused(result Result) *fault.Error {
	refusal := b.Refusal
	if refusal == nil {
		refusal = fault.ErrRateLimited
	}
	return refusal.WithRetryAfter(result.RetryAfter).WithCapacity(result.Limit)
}
