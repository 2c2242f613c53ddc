// Package requestid carries the request id (X-Request-Id) in a context: into log lines, into the jobs that the request enqueues,
// and into their log lines. Package httpserver makes the ids.
package requestid

import (
	"context"
	"log/slog"
)

// Attr is the name of the request id in log lines.
const Attr = "request_id"

type key struct{}

// With returns a context that carries id. An empty id returns ctx unchanged.
func With(ctx context.Context, id string) context.Context {
	if id == "" {
		return ctx
	}
	return context.WithValue(ctx, key{}, id)
}

// From returns the request id of ctx, "" without one.
func From(ctx context.Context) string {
	id, _ := ctx.Value(key{}).(string)
	return id
}

// Logger returns log with a handler that adds the request id of the context to each line.
func Logger(log *slog.Logger) *slog.Logger { return slog.New(handler{log.Handler()}) }

type handler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if id := From(ctx); id != "" {
		r.AddAttrs(slog.String(Attr, id))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }
