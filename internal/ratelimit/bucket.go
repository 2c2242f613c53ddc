// Package ratelimit limits clients: leaky buckets (contract 1.7) with stores and a limiter, a FIFO semaphore and a
// per-client cap. It does not know HTTP: packages httpapi and httpserver choose the bucket of a request and write refusals.
package ratelimit

import (
	"math"
	"time"
)

// Limit is the size of a bucket and how fast it drains.
type Limit struct {
	Capacity  int     // tokens that fit
	PerSecond float64 // drain rate in tokens per second; 0: never drains
}

// Every returns the drain rate of one token per d.
func Every(d time.Duration) float64 { return float64(time.Second) / float64(d) }

// Level is how full a bucket was at a point in time. The zero Level is an empty bucket.
type Level struct {
	Tokens float64
	At     time.Time
}

// Result is the outcome of taking a token.
type Result struct {
	Allowed    bool
	Limit      int           // capacity of the bucket; 0 when the limit is off and nothing was counted
	Remaining  int           // whole tokens that still fit
	RetryAfter time.Duration // when refused: time until a token fits, at most a day
}

const (
	slack    = 1e-9 // admits a token that fits exactly in spite of rounding
	maxRetry = 24 * time.Hour
)

// Drain returns the level at now, before any new token. A clock that goes back drains nothing.
func (l Limit) Drain(level Level, now time.Time) Level {
	tokens := level.Tokens
	if elapsed := now.Sub(level.At); tokens > 0 && elapsed > 0 {
		tokens = max(0, tokens-elapsed.Seconds()*l.PerSecond)
	}
	return Level{Tokens: tokens, At: now}
}

// Take adds a token at now if it fits, and returns the new level. A refused token does not change the level.
func (l Limit) Take(level Level, now time.Time) (Level, Result) {
	level = l.Drain(level, now)
	free := float64(l.Capacity) - level.Tokens
	if free+slack >= 1 {
		level.Tokens++
		return level, Result{Allowed: true, Limit: l.Capacity, Remaining: int(math.Floor(free - 1 + slack))}
	}
	retry := maxRetry
	if wait := (1 - free) / l.PerSecond; l.Capacity > 0 && wait < maxRetry.Seconds() {
		retry = time.Duration(math.Ceil(wait * float64(time.Second)))
	}
	return level, Result{Limit: l.Capacity, RetryAfter: retry}
}

// Return removes a token at now, for a request that turned out not to count.
func (l Limit) Return(level Level, now time.Time) Level {
	level = l.Drain(level, now)
	level.Tokens = max(0, level.Tokens-1)
	return level
}

// Empty returns when a bucket will have drained if it gets no further token. A bucket that never drains counts as drained
// after a day, so that stores can forget it.
func (l Limit) Empty(level Level) time.Time {
	seconds := level.Tokens / l.PerSecond
	if !(seconds < maxRetry.Seconds()) {
		return level.At.Add(maxRetry)
	}
	return level.At.Add(time.Duration(seconds * float64(time.Second)))
}

// Share returns what one client network may take of a limit: a percentage, of the capacity at least one.
func (l Limit) Share(percent int) Limit {
	if l.Capacity > 0 {
		l.Capacity = max(1, l.Capacity*percent/100)
	}
	l.PerSecond = l.PerSecond * float64(percent) / 100
	return l
}

func (l Limit) times(n int) Limit {
	return Limit{Capacity: l.Capacity * n, PerSecond: l.PerSecond * float64(n)}
}

// kept returns how many tokens fit above a limit for networks that have taken little lately: a percentage, at least one.
func (l Limit) kept(percent int) int {
	if l.Capacity == 0 {
		return 0
	}
	return max(1, l.Capacity*percent/100)
}
