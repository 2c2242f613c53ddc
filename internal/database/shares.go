package database

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/consign-dev/consign/internal/share"
)

// shares keep connections for others while one client address uses many at once: requests that wait for one another's locks hold theirs
// meanwhile, and as many of them as there are connections would make everybody else wait with them.
type shares struct {
	*share.Shares

	mu   sync.Mutex
	held map[*pgx.Conn]func() // what to call when a connection is released
}

type leaveKey struct{}

func newShares(maxConns int32) *shares {
	return &shares{Shares: share.New(int(maxConns)), held: map[*pgx.Conn]func(){}}
}

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
		p.shares.mu.Lock()
		defer p.shares.mu.Unlock()
		p.shares.held[data.Conn] = leave
	}
}

// TraceRelease implements pgxpool.ReleaseTracer.
func (p patience) TraceRelease(_ *pgxpool.Pool, data pgxpool.TraceReleaseData) {
	p.shares.mu.Lock()
	leave := p.shares.held[data.Conn]
	delete(p.shares.held, data.Conn)
	p.shares.mu.Unlock()
	if leave != nil {
		leave()
	}
}
