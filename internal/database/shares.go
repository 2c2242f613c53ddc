package database

import (
	"context"
	"net/netip"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ClientKey is the key under which a context has the address of the client for whom its statements are, a *netip.Addr.
type ClientKey struct{}

// shares keep connections for others while one client address uses many at once: requests that wait for one another's locks hold theirs
// meanwhile, and fewer of them than there are connections would make everybody else wait with them. Work for no client is not counted.
type shares struct {
	each int // connections of one client

	mu   sync.Mutex
	of   map[netip.Prefix]*share
	held map[*pgx.Conn]*share
}

// share is that of a client that holds connections or waits for them.
type share struct {
	client netip.Prefix
	turns  chan struct{} // one element for each connection that is held, or will be at once
	users  int           // those that wait included
}

type shareKey struct{}

// newShares leaves a quarter of the connections to others.
func newShares(maxConns int32) *shares {
	return &shares{each: max(1, int(maxConns)*3/4), of: map[netip.Prefix]*share{}, held: map[*pgx.Conn]*share{}}
}

// wait returns ctx with the turn that it has waited for, unless ctx ends before or is for no client.
func (s *shares) wait(ctx context.Context) context.Context {
	address, _ := ctx.Value(ClientKey{}).(*netip.Addr)
	if address == nil || !address.IsValid() {
		return ctx
	}
	mine := s.enter(network(*address))
	select {
	case mine.turns <- struct{}{}:
		return context.WithValue(ctx, shareKey{}, mine)
	case <-ctx.Done():
		s.leave(mine)
		return ctx
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

func (s *shares) enter(client netip.Prefix) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.of[client]
	if one == nil {
		one = &share{client: client, turns: make(chan struct{}, s.each)}
		s.of[client] = one
	}
	one.users++
	return one
}

func (s *shares) leave(one *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(s.of, one.client)
	}
}

// TraceAcquireStart implements pgxpool.AcquireTracer.
func (p patience) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	return p.shares.wait(p.bound(ctx, p.acquire))
}

// TraceAcquireEnd implements pgxpool.AcquireTracer.
func (p patience) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, data pgxpool.TraceAcquireEndData) {
	release(ctx)
	mine, _ := ctx.Value(shareKey{}).(*share)
	switch {
	case mine == nil:
	case data.Err != nil:
		<-mine.turns
		p.shares.leave(mine)
	default:
		p.shares.mu.Lock()
		defer p.shares.mu.Unlock()
		p.shares.held[data.Conn] = mine
	}
}

// TraceRelease implements pgxpool.ReleaseTracer.
func (p patience) TraceRelease(_ *pgxpool.Pool, data pgxpool.TraceReleaseData) {
	p.shares.mu.Lock()
	mine := p.shares.held[data.Conn]
	delete(p.shares.held, data.Conn)
	p.shares.mu.Unlock()
	if mine != nil {
		<-mine.turns
		p.shares.leave(mine)
	}
}
