// Package ratelimit owns the leaky buckets of contract 1.7: the arithmetic as pure functions, stores that keep the
// buckets' levels and admit atomically, and the limiter that names them. It knows nothing of HTTP: which bucket a
// request pays into, and how a refusal looks, is package httpapi's business.
package ratelimit

import (
	"math"
	"time"
)

// Limit is the size of a bucket and how fast it drains.
type Limit struct {
	Capacity  int     // drops that fit
	PerSecond float64 // drops that drain each second, continuously; 0 drains never
}

// Every is the drain rate of one drop each d.
func Every(d time.Duration) float64 { return float64(time.Second) / float64(d) }

// Level is how full a bucket was at a moment. The zero Level is an empty bucket.
type Level struct {
	Drops float64
	At    time.Time
}

// Result tells how a drop fared.
type Result struct {
	Allowed    bool
	Limit      int           // the bucket's capacity; 0 when nothing was counted, because the limit is off
	Remaining  int           // whole drops that still fit
	RetryAfter time.Duration // when refused: how long until the drop would fit, at most a day
}

const (
	slack    = 1e-9 // keeps a drop that fits exactly from being refused by rounding
	maxRetry = 24 * time.Hour
)

// Drain returns the level at now, before any new drop. A clock that goes back drains nothing.
func (l Limit) Drain(level Level, now time.Time) Level {
	drops := level.Drops
	if elapsed := now.Sub(level.At); drops > 0 && elapsed > 0 {
		drops = max(0, drops-elapsed.Seconds()*l.PerSecond)
	}
	return Level{Drops: drops, At: now}
}

// Take adds a drop at now if it fits and returns the new level; a refused drop leaves the level as it was.
func (l Limit) Take(level Level, now time.Time) (Level, Result) {
	level = l.Drain(level, now)
	free := float64(l.Capacity) - level.Drops
	if free+slack >= 1 {
		level.Drops++
		return level, Result{Allowed: true, Limit: l.Capacity, Remaining: int(math.Floor(free - 1 + slack))}
	}
	retry := maxRetry
	if wait := (1 - free) / l.PerSecond; l.Capacity > 0 && wait < maxRetry.Seconds() {
		retry = time.Duration(math.Ceil(wait * float64(time.Second)))
	}
	return level, Result{Limit: l.Capacity, RetryAfter: retry}
}

// Return takes a drop back out at now, for one that turned out not to count.
func (l Limit) Return(level Level, now time.Time) Level {
	level = l.Drain(level, now)
	level.Drops = max(0, level.Drops-1)
	return level
}

// Empty returns when a bucket that gets no further drop will have drained; a bucket that never drains counts as
// drained after a day, so that stores can forget it.
func (l Limit) Empty(level Level) time.Time {
	seconds := level.Drops / l.PerSecond
	if !(seconds < maxRetry.Seconds()) {
		return level.At.Add(maxRetry)
	}
	return level.At.Add(time.Duration(seconds * float64(time.Second)))
}
