package database

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// The pool caps how many connections one client network uses at once. Requests that wait for one another's row locks hold
// connections meanwhile; without the cap one client could hold all of them.

type releaseClientKey struct{}

// releaseClient is a key in a connection's custom data. Its value is the function to call when the connection is released.
const releaseClient = "consign.release_client"

// TraceAcquireStart implements pgxpool.AcquireTracer. The cap fails only when ctx has ended; acquiring the connection then fails, too.
func (p patience) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	ctx = p.bound(ctx, p.acquire)
	release, err := p.clients.Acquire(ctx)
	if err != nil {
		return ctx
	}
	return context.WithValue(ctx, releaseClientKey{}, release)
}

// TraceAcquireEnd implements pgxpool.AcquireTracer.
func (p patience) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, data pgxpool.TraceAcquireEndData) {
	release(ctx)
	done, _ := ctx.Value(releaseClientKey{}).(func())
	switch {
	case done == nil:
	case data.Err != nil:
		done()
	default:
		data.Conn.PgConn().CustomData()[releaseClient] = done
	}
}

// TraceRelease implements pgxpool.ReleaseTracer.
func (p patience) TraceRelease(_ *pgxpool.Pool, data pgxpool.TraceReleaseData) {
	custom := data.Conn.PgConn().CustomData()
	if done, _ := custom[releaseClient].(func()); done != nil {
		custom[releaseClient] = nil
		done()
	}
}
