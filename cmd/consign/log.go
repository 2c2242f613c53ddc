package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/config"
)

// logger writes to w as the configuration says.
func logger(cfg config.Config, w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.LogLevel)) // config knows no other words
	options := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// serverLogger is logger for a server, whose lines of JSON wait for each other: one write for many lines instead of one for each
// request. flush has to be called in the end. Text, which somebody may be watching, does not wait.
func serverLogger(cfg config.Config, w io.Writer) (log *slog.Logger, flush func()) {
	if cfg.LogFormat != "json" {
		return logger(cfg, w), func() {}
	}
	lines := &gatherer{w: w}
	return slog.New(gathering{logger(cfg, lines).Handler(), lines}), func() { _ = lines.flush() }
}

// gathering is a handler that writes to a gatherer, which it empties with each warning and whatever is worse.
type gathering struct {
	slog.Handler
	lines *gatherer
}

// Handle implements slog.Handler.
func (g gathering) Handle(ctx context.Context, r slog.Record) error {
	err := g.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		err = errors.Join(err, g.lines.flush())
	}
	return err
}

// WithAttrs implements slog.Handler.
func (g gathering) WithAttrs(attrs []slog.Attr) slog.Handler {
	return gathering{g.Handler.WithAttrs(attrs), g.lines}
}

// WithGroup implements slog.Handler.
func (g gathering) WithGroup(name string) slog.Handler {
	return gathering{g.Handler.WithGroup(name), g.lines}
}

const (
	gatherBytes = 32 << 10
	gatherTime  = 100 * time.Millisecond // the most that a crash may lose
)

// gatherer passes what is written to it on to w: when another line would make it too much, when the first has waited for long
// enough, and when told to. A line is never divided. What w refuses is lost, as it would be without a gatherer.
type gatherer struct {
	w io.Writer

	mu      sync.Mutex
	waiting []byte
	timer   *time.Timer
}

// Write implements io.Writer. p is one line or more.
func (g *gatherer) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var err error
	if len(g.waiting)+len(p) > gatherBytes {
		err = g.pass()
	}
	if len(g.waiting) == 0 {
		g.start()
	}
	g.waiting = append(g.waiting, p...)
	return len(p), err
}

// start sets the timer. One that is still set for lines that have left flushes early, which does no harm.
func (g *gatherer) start() {
	if g.timer == nil {
		g.timer = time.AfterFunc(gatherTime, func() { _ = g.flush() })
		return
	}
	g.timer.Reset(gatherTime)
}

// flush writes what waits.
func (g *gatherer) flush() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pass()
}

func (g *gatherer) pass() error {
	if len(g.waiting) == 0 {
		return nil
	}
	_, err := g.w.Write(g.waiting)
	g.waiting = g.waiting[:0]
	return err
}
