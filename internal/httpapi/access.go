package httpapi

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/consign-dev/consign/internal/requestid"
)

// logRequest writes the access line: one a request, without path, query, token or body (contract 1.13). Failures of
// ours carry their cause here and nowhere else.
//
// It hands the handler a record made here, which spares each request the look-up of its line in the source.
func (a *API) logRequest(x *exchange, f Finished) {
	level := slog.LevelInfo
	switch {
	case x.stack != nil || f.Status == http.StatusInternalServerError:
		level = slog.LevelError
	case f.Status > http.StatusInternalServerError && f.Status != 509:
		level = slog.LevelWarn
	case x.probe:
		level = slog.LevelDebug
	}
	ctx, handler := context.Background(), a.log.Handler() // the request's context would add its id once more
	if !handler.Enabled(ctx, level) {
		return
	}
	line := slog.NewRecord(x.started.Add(f.Elapsed), level, "request", 0)
	line.AddAttrs(
		slog.String("method", f.Method),
		slog.String("route", f.Route),
		slog.Int("status", f.Status),
		slog.Int64("bytes", x.bytes),
		slog.Int64("micros", f.Elapsed.Microseconds()),
		slog.String(requestid.Attr, x.id),
		slog.String("client", x.clientName()),
		slog.String("host", x.client.Host.Name),
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
	_ = handler.Handle(ctx, line) // a log that cannot be written has nowhere to say so
}
