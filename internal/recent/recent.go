// Package recent remembers for a moment what many ask for at once, such as a mailbox whose link was sent to a thousand people, so
// that it costs the database one look-up a moment. What changes where it is remembered shows at once; what other replicas and
// commands change shows within the moment, well within the second in which settings have to hold everywhere (contract 7).
package recent

import (
	"sync"
	"sync/atomic"
	"time"
)

// Copies are values by key, as they were read at most Moment ago. Values are shared: nobody may change them.
type Copies[K comparable, V any] struct {
	changes   func() uint64
	forgotten atomic.Uint64 // how often

	mu   sync.RWMutex
	list map[K]copied[V]
}

type copied[V any] struct {
	value   V
	until   time.Time
	changes uint64 // before it was read
}

const (
	// Moment is how long a copy serves.
	Moment = 500 * time.Millisecond

	maxCopies = 1_000 // more are forgotten together: what only one asks for is not worth the memory
)

// New returns no copies yet. changes counts what this process has changed, as database.DB.Changes does: a copy made before the last
// change serves nobody. Nil: a copy serves for its moment whatever happens, for what may not cost more on a busy server.
func New[K comparable, V any](changes func() uint64) *Copies[K, V] {
	if changes == nil {
		changes = func() uint64 { return 0 }
	}
	return &Copies[K, V]{changes: changes}
}

// Get returns the copy of key, or what load returns, which is remembered unless it is an error.
func (c *Copies[K, V]) Get(key K, load func() (V, error)) (V, error) {
	now := time.Now() // the age of a copy is real time, whatever clock its user has
	changes := c.changes() + c.forgotten.Load()
	c.mu.RLock()
	found, ok := c.list[key]
	c.mu.RUnlock()
	if ok && found.changes == changes && now.Before(found.until) {
		return found.value, nil
	}
	value, err := load()
	if err != nil {
		return value, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.list == nil:
		c.list = map[K]copied[V]{}
	case len(c.list) >= maxCopies:
		clear(c.list)
	}
	c.list[key] = copied[V]{value: value, until: now.Add(Moment), changes: changes}
	return value, nil
}

// Forget makes every copy useless, those on their way included.
func (c *Copies[K, V]) Forget() { c.forgotten.Add(1) }
