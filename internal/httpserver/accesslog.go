package httpserver

import (
	"log/slog"
	"net/http"

	"github.com/consign-dev/consign/internal/requestid"
)

// logRequest writes the access log: one line for each request, without path, query, token or body (contract 1.13). The cause of
// a server error is logged here and nowhere else.
func (s *Server) logRequest(x *exchange, r *http.Request, f Finished) {
	level := slog.LevelInfo
	switch status := max(f.Status, x.lateStatus); {
	case x.stack != nil || status == http.StatusInternalServerError:
		level = slog.LevelError
	case status > http.StatusInternalServerError && status != 509: // 509: a rate limit of the identity API
		level = slog.LevelWarn
	case x.probe:
		level = slog.LevelDebug
	}
	attrs := []slog.Attr{
		slog.String("method", f.Method),
		slog.String("route", f.Route),
		slog.Int("status", f.Status),
		slog.Int64("bytes", x.bytes),
		slog.Int64("micros", f.Elapsed.Microseconds()),
		slog.String(requestid.Attr, x.id),
		slog.String("client", x.client.Address.String()),
		slog.String("host", x.client.Host.Name),
	}
	if f.Aborted {
		attrs = append(attrs, slog.Bool("aborted", true))
	}
	if x.err != nil && (level > slog.LevelInfo || f.Aborted) {
		attrs = append(attrs, slog.String("error", x.err.Error()))
	}
	if x.stack != nil {
		attrs = append(attrs, slog.String("stack", string(x.stack)))
	}
	s.log.LogAttrs(r.Context(), level, "request", attrs...)
}
