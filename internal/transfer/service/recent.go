package service

import (
	"sync"
	"time"
)

// recent remembers for a moment what many ask for at once, such as a mailbox whose link was sent to a thousand people, so that it
// costs the database one look-up a moment. A transaction of this process makes it forget everything, so whoever changes
// something here sees it at once; what other replicas and commands change shows within the moment, well within the second in which
// settings have to hold everywhere (contract 7). Values are shared: nobody may change them.
type recent[K comparable, V any] struct {
	changes func() uint64 // database.DB.Changes

	mu     sync.RWMutex
	copies map[K]copied[V]
}

type copied[V any] struct {
	value   V
	until   time.Time
	changes uint64 // before it was read
}

const (
	recentMoment = 500 * time.Millisecond
	recentCopies = 10_000 // more are forgotten together
)

// get returns the copy of key, or what load returns, which is remembered unless it is an error.
func (r *recent[K, V]) get(key K, load func() (V, error)) (V, error) {
	now := time.Now() // the age of a copy is real time, whatever clock the service has
	changes := r.changes()
	r.mu.RLock()
	c, ok := r.copies[key]
	r.mu.RUnlock()
	if ok && c.changes == changes && now.Before(c.until) {
		return c.value, nil
	}
	value, err := load()
	if err != nil {
		return value, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.copies == nil || len(r.copies) >= recentCopies {
		r.copies = map[K]copied[V]{}
	}
	r.copies[key] = copied[V]{value: value, until: now.Add(recentMoment), changes: changes}
	return value, nil
}
