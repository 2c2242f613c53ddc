// Package requestid carries the identifier of a request (X-Request-Id) in its context, and from there into log lines, into
// the jobs that the request enqueues and into their log lines. It decides nothing: package httpapi makes identifiers.
package requestid

import (
	"context"
	"log/slog"
)

// Attr is what log lines call a request's identifier.
const Attr = "request_id"

// Key is what the identifier, a string, is called in a context.
type Key struct{}

// With returns a context of the request id; an empty id changes nothing.
func With(ctx context.Context, id string) context.Context {
	if id == "" {
		return ctx
	}
	return context.WithValue(ctx, Key{}, id)
}

// From returns the identifier that With put there, "" without one.
func From(ctx context.Context) string {
	id, _ := ctx.Value(Key{}).(string)
	return id
}

// Logger returns log with the identifier added to each line whose context has one.
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
