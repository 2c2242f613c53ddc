package content

import (
	"context"
	"net/netip"
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
}

// acquire counts an upload of ctx's client. It does not wait. The caller calls release once, unless acquire fails.
// Errors: transfer.ErrUploads, transfer.ErrClientUploads, transfer.ErrReservationUploads.
func (s *slots) acquire(ctx context.Context, r id.Reservation, l Limits) (release func(), err error) {
	network := ratelimit.Network(ratelimit.ClientFrom(ctx))
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.reservations[r] >= l.ReservationUploads:
		return nil, transfer.ErrReservationUploads
	case network.IsValid() && s.networks[network] >= l.NetworkUploads:
		return nil, transfer.ErrClientUploads
	case s.all >= l.Uploads:
		return nil, transfer.ErrUploads
	}
	if s.reservations == nil {
		s.reservations, s.networks = map[id.Reservation]int{}, map[netip.Prefix]int{}
	}
	s.all++
	s.reservations[r]++
	s.networks[network]++
	return func() { s.release(r, network) }, nil
}

func (s *slots) release(r id.Reservation, network netip.Prefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.reservations[r]--; s.reservations[r] == 0 {
		delete(s.reservations, r)
	}
	if s.networks[network]--; s.networks[network] == 0 {
		delete(s.networks, network)
	}
}
