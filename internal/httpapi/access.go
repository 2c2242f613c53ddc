package httpapi

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/consign-dev/consign/internal/requestid"
)

// logRequest writes the access line: one a request, without path, query, token or body (contract 1.13). Failures of
// ours carry their cause here and nowhere else.
func (a *API) logRequest(x *exchange, r *http.Request, elapsed time.Duration, aborted bool) {
	level := slog.LevelInfo
	switch {
	case x.stack != nil || x.status == http.StatusInternalServerError:
		level = slog.LevelError
	case x.status > http.StatusInternalServerError && x.status != 509:
		level = slog.LevelWarn
	case x.probe:
		level = slog.LevelDebug
	}
	if !a.log.Enabled(r.Context(), level) {
		return
	}
	attrs := make([]slog.Attr, 0, 12)
	attrs = append(attrs,
		slog.String("method", knownMethod(r.Method)),
		slog.String("route", x.route),
		slog.Int("status", x.status),
		slog.Int64("bytes", x.bytes),
		slog.Int64("micros", elapsed.Microseconds()),
		slog.String(requestid.Attr, x.id),
		slog.String("client", x.client.Address.String()),
		slog.String("host", x.client.Host.Name),
	)
	if aborted {
		attrs = append(attrs, slog.Bool("aborted", true))
	}
	if x.err != nil && (level > slog.LevelInfo || aborted) {
		attrs = append(attrs, slog.String("error", x.err.Error()))
	}
	if x.stack != nil {
		attrs = append(attrs, slog.String("stack", string(x.stack)))
	}
	a.log.LogAttrs(r.Context(), level, "request", attrs...)
}
