package database

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/consign-dev/consign/internal/ratelimit"
)

const (
	statementPatience = 10 * time.Second
	acquirePatience   = 5 * time.Second
)

// patience holds the timeouts of statements and of waiting for a connection. A stopped Postgres, or a network that drops every
// packet, closes no connection; without timeouts requests would wait as long as their clients do. It is a tracer because pgx lets
// tracers replace the context of a call.
type patience struct {
	statement, acquire time.Duration
	clients            *ratelimit.ClientCap // caps the connections that one client holds
}

type (
	unhurriedKey struct{}
	cancelKey    struct{}
)

// Unhurried returns a context without these timeouts, for jobs and commands, which have their own time limits.
func Unhurried(ctx context.Context) context.Context {
	return context.WithValue(ctx, unhurriedKey{}, true)
}

func (p patience) bound(ctx context.Context, d time.Duration) context.Context {
	if ctx.Value(unhurriedKey{}) != nil {
		return ctx
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	return context.WithValue(ctx, cancelKey{}, cancel)
}

func release(ctx context.Context) {
	if cancel, ok := ctx.Value(cancelKey{}).(context.CancelFunc); ok {
		cancel()
	}
}

// TraceQueryStart implements pgx.QueryTracer.
func (p patience) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return p.bound(ctx, p.statement)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (p patience) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	release(ctx)
}

// TraceBatchStart implements pgx.BatchTracer.
func (p patience) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return p.bound(ctx, p.statement)
}

// TraceBatchQuery implements pgx.BatchTracer.
func (patience) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (p patience) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	release(ctx)
}
