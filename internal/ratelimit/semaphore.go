// Slots of scarce work: who waits, in which order, and how much one client network may hold.

package ratelimit

import (
	"container/heap"
	"context"
	"net/netip"
	"sync"
	"time"
)

// Semaphore is a semaphore with a per-client cap. While requests wait, the network that has asked least lately is served first, with the
// networks around it in mind (Around); among equals the first one. Requests of known devices (WithKnownDevice) come before all.
type Semaphore struct {
	clients *ClientCap
	asked   *Memory // by network, the requests of late

	mu      sync.Mutex
	free    int
	waiting waiters
	next    int64
}

// waiter is a request that waits for a slot.
type waiter struct {
	rank, number int64
	index        int // in waiters; -1: it has a slot
	ready        chan struct{}
}

// crowd is how many may wait and be served in the order in which they came. Of more the newest is first: the others have waited for so
// long that they may be gone, and an attacker's requests wait already when somebody else comes.
const crowd = 8

type knownKey struct{}

// WithKnownDevice returns a context whose work is asked for by a device that the person has used before.
func WithKnownDevice(ctx context.Context) context.Context {
	return context.WithValue(ctx, knownKey{}, true)
}

// NewSemaphore returns a semaphore with n slots.
func NewSemaphore(n int) *Semaphore {
	return &Semaphore{clients: NewClientCap(n), asked: NewMemory(time.Now), free: n}
}

// Acquire waits for a slot. The caller must call release exactly once, unless Acquire fails.
// Errors: the cause of ctx when it ends first.
func (s *Semaphore) Acquire(ctx context.Context) (release func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	rank, leave := s.rank(ctx), func() {}
	if rank > 0 {
		if leave, err = s.clients.Acquire(ctx); err != nil {
			return nil, err
		}
	}
	w := s.enter(rank)
	release = func() {
		s.release()
		leave()
	}
	select {
	case <-w.ready:
		return release, nil
	case <-ctx.Done():
		if s.giveUp(w) {
			leave()
		} else {
			release()
		}
		return nil, context.Cause(ctx)
	}
}

// lately counts the requests that a rank looks at.
var lately = Limit{Capacity: 60, PerSecond: Every(20 * time.Minute)}

// rank returns how often the client of ctx, or the networks around it, have asked lately: 1 for the first time, 0 for a known device.
func (s *Semaphore) rank(ctx context.Context) int64 {
	if known, _ := ctx.Value(knownKey{}).(bool); known {
		return 0
	}
	network := Network(ClientFrom(ctx))
	if !network.IsValid() {
		return 1
	}
	n, _ := asked(ctx, s.asked, "", lately, network) // Memory returns no errors
	return int64(n)
}

// Forgive takes back that the client of ctx has asked, for work that shows that it is no stranger.
func (s *Semaphore) Forgive(ctx context.Context) {
	if network := Network(ClientFrom(ctx)); network.IsValid() {
		for _, n := range chain(network, NetworkShare) {
			_ = s.asked.Return(ctx, n.Network.String(), lately.times(n.Percent/NetworkShare))
		}
	}
}

func (s *Semaphore) enter(rank int64) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	w := &waiter{rank: rank, number: s.next, ready: make(chan struct{})}
	if len(s.waiting) >= crowd {
		w.number = -s.next
	}
	heap.Push(&s.waiting, w)
	s.serve()
	return w
}

func (s *Semaphore) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	s.serve()
}

// serve gives free slots to the first who wait. mu is held.
func (s *Semaphore) serve() {
	for s.free > 0 && len(s.waiting) > 0 {
		w := heap.Pop(&s.waiting).(*waiter)
		s.free--
		close(w.ready)
	}
}

// giveUp ends the waiting of w, and reports whether it had no slot yet.
func (s *Semaphore) giveUp(w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.index < 0 {
		return false
	}
	heap.Remove(&s.waiting, w.index)
	return true
}

// waiters is a heap.
type waiters []*waiter

func (w waiters) Len() int { return len(w) }

func (w waiters) Less(i, j int) bool {
	if w[i].rank != w[j].rank {
		return w[i].rank < w[j].rank
	}
	return w[i].number < w[j].number
}

func (w waiters) Swap(i, j int) {
	w[i], w[j] = w[j], w[i]
	w[i].index, w[j].index = i, j
}

// Push implements heap.Interface.
func (w *waiters) Push(x any) {
	added := x.(*waiter)
	added.index = len(*w)
	*w = append(*w, added)
}

// Pop implements heap.Interface.
func (w *waiters) Pop() any {
	last := len(*w) - 1
	removed := (*w)[last]
	(*w)[last], *w = nil, (*w)[:last]
	removed.index = -1
	return removed
}

// ClientCap caps how much of a scarce resource one client network may hold, and with the widest network around it (Around): otherwise
// somebody with two networks held everything. Requests over the cap wait, in FIFO order. Work without a client (jobs, commands) is not
// counted.
type ClientCap struct{ own, wide networkCap }

// networkCap caps how much a network may hold.
type networkCap struct {
	limit int

	mu       sync.Mutex
	networks map[netip.Prefix]*networkSlots
}

// networkSlots counts what one network holds.
type networkSlots struct {
	slots chan struct{} // one element per slot in use
	users int           // holders and waiters; the entry is removed at zero
}

// NewClientCap returns the cap for a resource of n units: three quarters of them for a client network, and seven eighths for the widest
// around it; at least one, and at most all but one.
func NewClientCap(n int) *ClientCap {
	less := func(part int) networkCap {
		return networkCap{limit: max(1, n-max(1, n/part)), networks: map[netip.Prefix]*networkSlots{}}
	}
	return &ClientCap{own: less(4), wide: less(8)}
}

// Acquire waits until the client of ctx (WithClient) holds less than its cap. The caller must call release exactly once,
// unless Acquire fails.
// Errors: the cause of ctx when it ends first.
func (c *ClientCap) Acquire(ctx context.Context) (release func(), err error) {
	network := Network(ClientFrom(ctx))
	if !network.IsValid() {
		return func() {}, nil
	}
	leave, err := c.own.acquire(ctx, network)
	if err != nil {
		return nil, err
	}
	leaveWide, err := c.wide.acquire(ctx, chain(network, NetworkShare)[0].Network)
	if err != nil {
		leave()
		return nil, err
	}
	return func() {
		leaveWide()
		leave()
	}, nil
}

func (c *networkCap) acquire(ctx context.Context, network netip.Prefix) (release func(), err error) {
	held := c.enter(network)
	select {
	case held.slots <- struct{}{}:
		return func() {
			<-held.slots
			c.leave(network, held)
		}, nil
	case <-ctx.Done():
		c.leave(network, held)
		return nil, context.Cause(ctx)
	}
}

func (c *networkCap) enter(network netip.Prefix) *networkSlots {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.networks[network]
	if held == nil {
		held = &networkSlots{slots: make(chan struct{}, c.limit)}
		c.networks[network] = held
	}
	held.users++
	return held
}

func (c *networkCap) leave(network netip.Prefix, held *networkSlots) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if held.users--; held.users == 0 {
		delete(c.networks, network)
	}
}
