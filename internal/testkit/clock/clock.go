// Package clock provides the manual clock of the tests. It has no dependencies, so every package's tests can import it.
package clock

import (
	"sync"
	"time"
)

// Manual is a clock that moves only by Advance. It is safe for concurrent use.
type Manual struct {
	mu  sync.Mutex
	now time.Time
}

// At returns a clock that stands at start.
func At(start time.Time) *Manual { return &Manual{now: start} }

// New returns a clock that stands at a fixed time, for tests that involve no other clock.
func New() *Manual { return At(time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)) }

// Now returns the time of the clock.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Advance moves the clock forward by d.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}
