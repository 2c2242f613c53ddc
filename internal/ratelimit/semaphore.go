// Slots of scarce work: who waits, in which order, and how much one client network may hold.

package ratelimit

import (
	"container/heap"
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Semaphore is a semaphore with a per-client cap. While requests wait, the network that has asked least lately is served first, with the
// networks around it in mind (Around); among equals the first one. Requests of known devices (WithKnownDevice) come before all.
type Semaphore struct {
	clients *ClientCap
	asked   *Memory // by network, the requests that found no free slot

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

// often is how many requests of a network are told apart, and how fast they are forgotten.
var often = Limit{Capacity: 60, PerSecond: Every(time.Minute)}

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

// rank returns how often the client of ctx, or the networks around it, have found no free slot lately: 1 for the first time, 0 for a
// known device.
func (s *Semaphore) rank(ctx context.Context) int64 {
	s.mu.Lock()
	free := s.free > 0
	s.mu.Unlock()
	known, _ := ctx.Value(knownKey{}).(bool)
	network := Network(ClientFrom(ctx))
	switch {
	case known:
		return 0
	case free || !network.IsValid():
		return 1
	}
	most := 1
	for _, n := range chain(network) {
		r, _ := s.asked.Take(ctx, n.Network.String(), often)
		if most = max(most, (often.Capacity-r.Remaining)*networkShare/n.Percent); !r.Allowed {
			break // no bucket for each address of a prefix that asks so often
		}
	}
	return int64(most)
}

// chain returns the network and those around it, the widest first. The parts are multiples of networkShare.
func chain(network netip.Prefix) []Wide {
	around := Around(network, networkShare)
	all := make([]Wide, 0, len(around)+1)
	for _, wide := range slices.Backward(around) {
		all = append(all, wide)
	}
	return append(all, Wide{network, networkShare})
}

// Forgive takes back that the client of ctx has asked, for work that shows that it is no stranger.
func (s *Semaphore) Forgive(ctx context.Context) {
	if network := Network(ClientFrom(ctx)); network.IsValid() {
		for _, n := range chain(network) {
			_ = s.asked.Return(ctx, n.Network.String(), often)
		}
	}
}

func (s *Semaphore) enter(rank int64) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	w := &waiter{rank: rank, number: s.next, ready: make(chan struct{})}
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

// ClientCap caps how much of a scarce resource one client may hold, with the widest network around it (Around): otherwise somebody with
// two networks held everything. Requests over the cap wait, in FIFO order.
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
	network = chain(network)[0].Network
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
