package content

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/transfer"
)

// slots counts the uploads under way in this process. The zero value is ready to use.
type slots struct {
	mu           sync.Mutex
	all          int
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

// networkShare is the percentage of all uploads from which the parts of the networks around a client are made.
const networkShare = 25

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
	for _, wide := range ratelimit.Around(own, networkShare) {
		all = append(all, network{wide.Network, max(l.NetworkUploads, l.Uploads*wide.Percent/100)})
	}
	return all
}

// acquire counts an upload of ctx's client and of the networks around it. It does not wait. The caller calls release once, unless
// acquire fails.
// Errors: transfer.ErrUploads, transfer.ErrClientUploads, transfer.ErrReservationUploads.
func (s *slots) acquire(ctx context.Context, r id.Reservation, l Limits) (release func(), err error) {
	networks := networksOf(ctx, l)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.reservations[r] >= l.ReservationUploads:
		return nil, transfer.ErrReservationUploads
	case slices.ContainsFunc(networks, func(n network) bool { return s.networks[n.prefix] >= n.most }):
		return nil, transfer.ErrClientUploads
	case s.all >= l.Uploads:
		return nil, transfer.ErrUploads
	}
	if s.reservations == nil {
		s.reservations, s.networks = map[id.Reservation]int{}, map[netip.Prefix]int{}
	}
	s.all++
	s.reservations[r]++
	for _, n := range networks {
		s.networks[n.prefix]++
	}
	return func() { s.release(r, networks) }, nil
}

func (s *slots) release(r id.Reservation, networks []network) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.reservations[r]--; s.reservations[r] == 0 {
		delete(s.reservations, r)
	}
	for _, n := range networks {
		if s.networks[n.prefix]--; s.networks[n.prefix] == 0 {
			delete(s.networks, n.prefix)
		}
	}
}
