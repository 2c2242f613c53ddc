// The uploads under way: how many one client network may have, and which gives way when there are too many.

package content

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/transfer"
)

// slots counts the uploads under way in this process. The zero value is ready to use.
type slots struct {
	mu           sync.Mutex
	all          map[*slot]struct{}
	leaving      int // uploads that have given way and have not ended yet
	reservations map[id.Reservation]int
	networks     map[netip.Prefix]int
	parts        map[partsOf]map[int]int // by number, how many requests write it or wait to
}

// partsOf names an object that is uploaded in parts.
type partsOf struct {
	reservation id.Reservation
	clientID    string
}

var errPartsAtOnce = transfer.ErrReservationUploads.With(
	fmt.Sprintf("%d parts of a file at once are enough; wait for one of them, then send this part again", transfer.PartsAtOnce))

// acquirePart counts an upload of a part. A part that is written already does not count once more: its new writer ends the old one.
// The caller calls release once, unless acquirePart fails.
// Errors: transfer.ErrReservationUploads.
func (s *slots) acquirePart(to Target, number int) (release func(), err error) {
	key := partsOf{to.Reservation, to.ClientID}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.parts[key]) >= transfer.PartsAtOnce && s.parts[key][number] == 0 {
		return nil, errPartsAtOnce
	}
	if s.parts == nil {
		s.parts = map[partsOf]map[int]int{}
	}
	if s.parts[key] == nil {
		s.parts[key] = map[int]int{}
	}
	s.parts[key][number]++
	return func() { s.releasePart(key, number) }, nil
}

func (s *slots) releasePart(key partsOf, number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts[key][number]--; s.parts[key][number] == 0 {
		delete(s.parts[key], number)
	}
	if len(s.parts[key]) == 0 {
		delete(s.parts, key)
	}
}

// network is a network that counts an upload, with how many it may have.
type network struct {
	prefix netip.Prefix
	most   int
}

// networksOf returns the client's network and those around it.
func networksOf(ctx context.Context, l Limits) []network {
	own := ratelimit.Network(ratelimit.ClientFrom(ctx))
	if !own.IsValid() {
		return nil
	}
	all := []network{{own, l.NetworkUploads}}
	for _, wide := range ratelimit.Around(own, ratelimit.NetworkShare) {
		all = append(all, network{wide.Network, max(l.NetworkUploads, l.Uploads*wide.Percent/100)})
	}
	return all
}

// slot is one upload that counts.
type slot struct {
	reservation id.Reservation
	networks    []network
	began       time.Time
	moved       atomic.Int64 // bytes that have arrived
	end         context.CancelCauseFunc
	gaveWay     bool // it does not count any more
}

// When all slots are taken, the slowest upload of a network that has many gives way to one of a network that has few.
const (
	slowAfter  = 2 * time.Second // younger uploads are not slow yet
	manyAsFew  = 2               // how much more of its part the one network has than the other
	leaveAtMax = 64              // how many may be on their way out at once
)

// acquire counts an upload of ctx's client and of the networks around it. It does not wait. The context ends with transfer.ErrUploads when
// the upload has to give way. The caller calls release once, unless acquire fails.
// Errors: transfer.ErrUploads, transfer.ErrClientUploads, transfer.ErrReservationUploads.
func (s *slots) acquire(ctx context.Context, r id.Reservation, l Limits) (context.Context, *slot, error) {
	networks := networksOf(ctx, l)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.reservations[r] >= l.ReservationUploads:
		return nil, nil, transfer.ErrReservationUploads
	case slices.ContainsFunc(networks, func(n network) bool { return s.networks[n.prefix] >= n.most }):
		return nil, nil, transfer.ErrClientUploads
	case len(s.all) >= l.Uploads && !s.makeRoom(networks):
		return nil, nil, transfer.ErrUploads
	}
	if s.all == nil {
		s.all, s.reservations, s.networks = map[*slot]struct{}{}, map[id.Reservation]int{}, map[netip.Prefix]int{}
	}
	added := &slot{reservation: r, networks: networks, began: time.Now()}
	ctx, added.end = context.WithCancelCause(ctx)
	s.all[added] = struct{}{}
	s.reservations[r]++
	for _, n := range networks {
		s.networks[n.prefix]++
	}
	return ctx, added, nil
}

// makeRoom lets an upload give way to one of networks, and reports whether one does. mu is held.
func (s *slots) makeRoom(networks []network) bool {
	if s.leaving >= leaveAtMax {
		return false
	}
	many := manyAsFew * s.load(networks, 1)
	now := time.Now()
	var slowest *slot
	var least float64
	for one := range s.all {
		age := now.Sub(one.began)
		if age < slowAfter || s.load(one.networks, 0) < many {
			continue
		}
		if pace := float64(one.moved.Load()) / age.Seconds(); slowest == nil || pace < least {
			slowest, least = one, pace
		}
	}
	if slowest == nil {
		return false
	}
	slowest.gaveWay = true
	s.leaving++
	s.forget(slowest)
	slowest.end(transfer.ErrUploads)
	return true
}

// load returns how much of their parts networks have, with more uploads.
func (s *slots) load(networks []network, more int) (most float64) {
	for _, n := range networks {
		most = max(most, float64(s.networks[n.prefix]+more)/float64(n.most))
	}
	return most
}

func (s *slots) release(one *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.end(nil); one.gaveWay {
		s.leaving--
		return
	}
	s.forget(one)
}

// forget counts an upload no more. mu is held.
func (s *slots) forget(one *slot) {
	delete(s.all, one)
	if s.reservations[one.reservation]--; s.reservations[one.reservation] == 0 {
		delete(s.reservations, one.reservation)
	}
	for _, n := range one.networks {
		if s.networks[n.prefix]--; s.networks[n.prefix] == 0 {
			delete(s.networks, n.prefix)
		}
	}
}

// countedBody is a Body whose bytes count for a slot.
type countedBody struct {
	Body
	moved *atomic.Int64
}

// Read implements Body.
func (b countedBody) Read(p []byte) (int, error) {
	n, err := b.Body.Read(p)
	b.moved.Add(int64(n))
	return n, err
}
