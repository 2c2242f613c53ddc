// Package microcache holds copies of hot rows, such as a public mailbox whose link many people open together, so that
// each copy costs the database one look-up per TTL. A change made by this process shows at once. A change made by another
// replica or a command shows within the TTL, well within the second in which settings must apply everywhere (contract 7).
package microcache

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// TTL is how long a copy of New's cache lives.
	TTL = 500 * time.Millisecond

	maxEntries = 1_000 // of New's cache
)

// Cache holds values by key until their TTL ends. Values are shared between callers, who must not modify them.
type Cache[K comparable, V any] struct {
	ttl           time.Duration
	maxEntries    int
	now           func() time.Time
	changes       func() uint64
	invalidations atomic.Uint64

	mu      sync.RWMutex
	entries map[K]entry[V]
}

type entry[V any] struct {
	value V
	stamp Stamp // of the look-up before the value was loaded
}

// Stamp says when a look-up was made and how many changes preceded it.
type Stamp struct {
	at      time.Time
	changes uint64
}

// New returns an empty cache of up to 1,000 copies that live for TTL of real time, not of the caller's clock.
// changes counts the changes that this process made, as database.DB.Changes does. A copy loaded before the last change is
// not served. With nil changes only the TTL and Invalidate end a copy, which is cheaper on a busy server.
func New[K comparable, V any](changes func() uint64) *Cache[K, V] {
	c := NewSized[K, V](TTL, maxEntries, time.Now)
	if changes != nil {
		c.changes = changes
	}
	return c
}

// NewSized returns an empty cache of up to entries copies that live for ttl by the clock now. A full cache is cleared
// before the next copy is stored: entries that only one caller reads are not worth an eviction policy.
func NewSized[K comparable, V any](ttl time.Duration, entries int, now func() time.Time) *Cache[K, V] {
	return &Cache[K, V]{ttl: ttl, maxEntries: entries, now: now, changes: func() uint64 { return 0 }, entries: map[K]entry[V]{}}
}

// Get returns the copy of key, or else the result of load, which it stores.
// Errors: those of load, which are not stored.
func (c *Cache[K, V]) Get(key K, load func() (V, error)) (V, error) {
	value, stamp, ok := c.Lookup(key)
	if ok {
		return value, nil
	}
	value, err := load()
	if err != nil {
		return value, err
	}
	c.Store(key, value, stamp)
	return value, nil
}

// Lookup returns the copy of key if there is a current one. The caller passes stamp to Store with the value that it loads
// after the look-up.
func (c *Cache[K, V]) Lookup(key K) (value V, stamp Stamp, ok bool) {
	stamp = Stamp{at: c.now(), changes: c.changes() + c.invalidations.Load()}
	c.mu.RLock()
	found, ok := c.entries[key]
	c.mu.RUnlock()
	return found.value, stamp, ok && found.stamp.changes == stamp.changes && stamp.at.Before(found.stamp.at.Add(c.ttl))
}

// Store keeps a value that was loaded after the look-up of stamp. A change in between makes the copy useless.
func (c *Cache[K, V]) Store(key K, value V, stamp Stamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.entries[key]; !known && len(c.entries) >= c.maxEntries {
		clear(c.entries)
	}
	c.entries[key] = entry[V]{value: value, stamp: stamp}
}

// Invalidate makes every copy useless, including those that are being loaded.
func (c *Cache[K, V]) Invalidate() { c.invalidations.Add(1) }
