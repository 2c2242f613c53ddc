package database

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// A pool's shares keep connections for others while one client address uses many at once: requests that wait for one another's locks
// hold theirs meanwhile, and as many of them as there are connections would make everybody else wait with them.

type leaveKey struct{}

// leaveName is where a connection's custom data have what to call when it is released.
const leaveName = "consign.leave"

// TraceAcquireStart implements pgxpool.AcquireTracer. Without a place ctx has ended, which acquiring finds out.
func (p patience) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	ctx = p.bound(ctx, p.acquire)
	leave, err := p.shares.Take(ctx)
	if err != nil {
		return ctx
	}
	return context.WithValue(ctx, leaveKey{}, leave)
}

// TraceAcquireEnd implements pgxpool.AcquireTracer.
func (p patience) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, data pgxpool.TraceAcquireEndData) {
	release(ctx)
	leave, _ := ctx.Value(leaveKey{}).(func())
	switch {
	case leave == nil:
	case data.Err != nil:
		leave()
	default:
		data.Conn.PgConn().CustomData()[leaveName] = leave
	}
}

// TraceRelease implements pgxpool.ReleaseTracer.
func (p patience) TraceRelease(_ *pgxpool.Pool, data pgxpool.TraceReleaseData) {
	custom := data.Conn.PgConn().CustomData()
	if leave, _ := custom[leaveName].(func()); leave != nil {
		custom[leaveName] = nil
		leave()
	}
}
