package httpserver

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/consign-dev/consign/internal/requestid"
)

// logRequest writes the access line: one a request, without path, query, token or body (contract 1.13). Failures of
// ours carry their cause here and nowhere else.
//
// It hands a handler a record made here, which spares each request the look-up of its line in the source.
func (s *Server) logRequest(x *exchange, f Finished) {
	level := slog.LevelInfo
	switch status := max(f.Status, x.torn); {
	case x.stack != nil || status == http.StatusInternalServerError:
		level = slog.LevelError
	case status > http.StatusInternalServerError && status != 509:
		level = slog.LevelWarn
	case x.probe:
		level = slog.LevelDebug
	}
	ctx := context.Background() // the request's would add its id once more
	if !s.log.Enabled(ctx, level) {
		return
	}
	line := slog.NewRecord(x.started.Add(f.Elapsed), level, "request", 0)
	line.AddAttrs(
		slog.Int64("bytes", x.bytes),
		slog.Int64("micros", f.Elapsed.Microseconds()),
		slog.String(requestid.Attr, x.context.id),
		slog.String("client", x.clientName()),
		slog.String("host", x.client().Host.Name),
	)
	if f.Aborted {
		line.AddAttrs(slog.Bool("aborted", true))
	}
	if x.err != nil && (level > slog.LevelInfo || f.Aborted) {
		line.AddAttrs(slog.String("error", x.err.Error()))
	}
	if x.stack != nil {
		line.AddAttrs(slog.String("stack", string(x.stack)))
	}
	_ = s.lines.of(f).Handle(ctx, line) // a log that cannot be written has nowhere to say so
}

// lines are handlers of access lines whose beginning is written already. A map is never written to after it is stored; a new
// kind of line comes with a copy.
type lines struct {
	log   slog.Handler
	mu    sync.Mutex // held by the one that makes a copy
	known atomic.Pointer[map[lineKind]slog.Handler]
}

// lineKind is what many requests have in common. None of it is a client's choice.
type lineKind struct {
	method, route string
	status        int
}

func newLines(log slog.Handler) *lines {
	l := &lines{log: log}
	l.known.Store(&map[lineKind]slog.Handler{})
	return l
}

// of returns the handler for the line of a request.
func (l *lines) of(f Finished) slog.Handler {
	k := lineKind{f.Method, f.Route, f.Status}
	if h, ok := (*l.known.Load())[k]; ok {
		return h
	}
	h := l.log.WithAttrs([]slog.Attr{slog.String("method", f.Method), slog.String("route", f.Route), slog.Int("status", f.Status)})
	l.mu.Lock()
	defer l.mu.Unlock()
	all := maps.Clone(*l.known.Load())
	all[k] = h
	l.known.Store(&all)
	return h
}
