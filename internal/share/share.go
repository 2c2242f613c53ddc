// Package share leaves something for others of what there is little of: whoever asks for it a hundred times at once waits for himself,
// and not before everybody else. Who asks is told by the address of the client; it does not know what is shared.
package share

import (
	"context"
	"net/netip"
	"sync"
)

// ClientKey is the key under which a context has the address of the client for whom something is done, a *netip.Addr.
type ClientKey struct{}

// Turns are had by whoever comes first among different clients.
type Turns struct {
	shares *Shares
	taken  chan struct{} // holds one for each that is
}

// NewTurns makes so many.
func NewTurns(n int) *Turns { return &Turns{shares: New(n), taken: make(chan struct{}, n)} }

// Take waits for a turn. release must be called, once, unless there is an error: the cause of ctx's end.
func (t *Turns) Take(ctx context.Context) (release func(), err error) {
	leave, err := t.shares.Take(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case t.taken <- struct{}{}:
		release = func() {
			<-t.taken
			leave()
		}
		if ctx.Err() != nil { // both at once
			release()
			return nil, context.Cause(ctx)
		}
		return release, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}

// Shares gives each client address some of the places there are. Work for no client is not counted.
type Shares struct {
	each int

	mu sync.Mutex
	of map[netip.Prefix]*share
}

// share is that of a client that has places or waits for them.
type share struct {
	places chan struct{} // holds one for each that is taken
	users  int           // those that wait included
}

// New gives each client seven of eight places: all but one of fewer, and one where there is one.
func New(places int) *Shares {
	return &Shares{each: max(1, places-max(1, places/8)), of: map[netip.Prefix]*share{}}
}

// Take waits until the client of ctx has a place. leave must be called, once, unless there is an error: the cause of ctx's end.
func (s *Shares) Take(ctx context.Context) (leave func(), err error) {
	address, _ := ctx.Value(ClientKey{}).(*netip.Addr)
	if address == nil || !address.IsValid() {
		return func() {}, nil
	}
	client := network(*address)
	mine := s.enter(client)
	select {
	case mine.places <- struct{}{}:
		return func() {
			<-mine.places
			s.leave(client, mine)
		}, nil
	case <-ctx.Done():
		s.leave(client, mine)
		return nil, context.Cause(ctx)
	}
}

// network is whose an address is: a holder of IPv6 addresses has a whole /64 of them.
func network(address netip.Addr) netip.Prefix {
	bits := 32
	if address = address.Unmap(); address.Is6() {
		bits = 64
	}
	prefix, _ := address.WithZone("").Prefix(bits) // both have as many bits
	return prefix
}

func (s *Shares) enter(client netip.Prefix) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := s.of[client]
	if mine == nil {
		mine = &share{places: make(chan struct{}, s.each)}
		s.of[client] = mine
	}
	mine.users++
	return mine
}

func (s *Shares) leave(client netip.Prefix, mine *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if mine.users--; mine.users == 0 {
		delete(s.of, client)
	}
}
