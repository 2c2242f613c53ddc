// Package repeats thins out a log: of lines with the same message it passes one a minute and counts the others.
package repeats

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Attr is the attribute of a line that says how many like it were left out before.
const Attr = "repeated"

// maxMessages bounds what is remembered. Messages are literals of programs, so there are few.
const maxMessages = 1024

// Logger returns log with a handler that passes one line of each level and message in every interval.
func Logger(log *slog.Logger, every time.Duration, now func() time.Time) *slog.Logger {
	return slog.New(handler{log.Handler(), &state{every: every, now: now, seen: map[line]*count{}}})
}

type line struct {
	level   slog.Level
	message string
}

type count struct {
	passed time.Time
	left   int64
}

type state struct {
	every time.Duration
	now   func() time.Time
	mu    sync.Mutex // guards seen
	seen  map[line]*count
}

// pass reports whether a line is passed, and how many like it were not since the last one.
func (s *state) pass(l line) (passes bool, left int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, now := s.seen[l], s.now()
	if c == nil {
		if len(s.seen) >= maxMessages {
			clear(s.seen)
		}
		s.seen[l] = &count{passed: now}
		return true, 0
	}
	if now.Sub(c.passed) < s.every {
		c.left++
		return false, 0
	}
	left = c.left
	c.passed, c.left = now, 0
	return true, left
}

type handler struct {
	slog.Handler
	state *state
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	passes, left := h.state.pass(line{r.Level, r.Message})
	if !passes {
		return nil
	}
	if left > 0 {
		r.AddAttrs(slog.Int64(Attr, left))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs), h.state}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.state}
}
