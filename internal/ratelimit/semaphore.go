package ratelimit

import (
	"context"
	"net/netip"
	"sync"
)

// Semaphore is a FIFO semaphore with a per-client cap.
type Semaphore struct {
	clients *ClientCap
	slots   chan struct{} // one element per slot in use; the runtime serves waiting senders in FIFO order
}

// NewSemaphore returns a semaphore with n slots.
func NewSemaphore(n int) *Semaphore {
	return &Semaphore{clients: NewClientCap(n), slots: make(chan struct{}, n)}
}

// Acquire waits for a slot. The caller must call release exactly once, unless Acquire fails.
// Errors: the cause of ctx when
// it ends first.
func (s *Semaphore) Acquire(ctx context.Context) (release func(), err error) {
	releaseClient, err := s.clients.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case s.slots <- struct{}{}:
		release = func() {
			<-s.slots
			releaseClient()
		}
		if ctx.Err() != nil { // select picks at random when both cases are ready
			release()
			return nil, context.Cause(ctx)
		}
		return release, nil
	case <-ctx.Done():
		releaseClient()
		return nil, context.Cause(ctx)
	}
}

// ClientCap caps how much of a scarce resource one client network may hold. Requests over the cap wait, in FIFO order.
// Work without a client (jobs, commands) is not counted.
type ClientCap struct {
	limit int

	mu       sync.Mutex
	networks map[netip.Prefix]*networkSlots
}

// networkSlots counts what one client network holds.
type networkSlots struct {
	slots chan struct{} // one element per slot in use
	users int           // holders and waiters; the entry is removed at zero
}

// NewClientCap returns the cap for a resource of n units: seven eighths of them, at least one, and all but one of fewer
// than eight.
func NewClientCap(n int) *ClientCap {
	return &ClientCap{limit: max(1, n-max(1, n/8)), networks: map[netip.Prefix]*networkSlots{}}
}

// Acquire waits until the client of ctx (WithClient) holds less than its cap. The caller must call release exactly once,
// unless Acquire fails.
// Errors: the cause of ctx when it ends first.
func (c *ClientCap) Acquire(ctx context.Context) (release func(), err error) {
	network := Network(ClientFrom(ctx))
	if !network.IsValid() {
		return func() {}, nil
	}
	client := c.enter(network)
	select {
	case client.slots <- struct{}{}:
		return func() {
			<-client.slots
			c.leave(network, client)
		}, nil
	case <-ctx.Done():
		c.leave(network, client)
		return nil, context.Cause(ctx)
	}
}

func (c *ClientCap) enter(network netip.Prefix) *networkSlots {
	c.mu.Lock()
	defer c.mu.Unlock()
	client := c.networks[network]
	if client == nil {
		client = &networkSlots{slots: make(chan struct{}, c.limit)}
		c.networks[network] = client
	}
	client.users++
	return client
}

func (c *ClientCap) leave(network netip.Prefix, client *networkSlots) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if client.users--; client.users == 0 {
		delete(c.networks, network)
	}
}
