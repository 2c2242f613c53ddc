// Leases: who may write a segment, encrypt it, or compute the sums of an object. In this process and between replicas.

package content

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// leases holds the leases of this process. A newer holder stops the older one and waits for it, which is faster than waiting for its lease
// to expire. Between processes, the epoch and the time in a row do the same (contract 4.12). The zero value is ready to use.
type leases struct {
	mu      sync.Mutex
	holders map[any]*lease // by id.Segment, or by id.Object of which sums are computed
}

// lease is the right of one goroutine to work on the bytes of a segment or object. The row has its epoch, and when it ends.
type lease struct {
	all      *leases
	of       any
	epoch    int64
	previous *lease                  // of this process, which was stopped; nil: none
	former   time.Time               // when the lease of the holder before ends, by the row; zero once await has waited for it
	stop     context.CancelCauseFunc // of the context that take returned
	done     chan struct{}           // closed when the holder no longer touches the bytes
	renewed  time.Time               // before the statement that took or last renewed it in the row
	lost     bool                    // the row has another holder: nothing may be written any more
}

// errLost means that a lease belongs to somebody else, or that what it is for is gone.
var errLost = errors.New("the lease is lost")

// take makes the caller, who has taken h in the row, the holder in this process. h has of, epoch, renewed, and former if there was one. It
// stops the former holder with cause, for which await waits. The context that it returns ends with the lease. ok is false when there is a
// newer holder.
func (l *leases) take(ctx context.Context, h lease, cause error) (_ context.Context, _ *lease, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	previous := l.holders[h.of]
	if previous != nil && previous.epoch > h.epoch {
		return ctx, nil, false
	}
	if l.holders == nil {
		l.holders = map[any]*lease{}
	}
	h.all, h.previous, h.done = l, previous, make(chan struct{})
	ctx, h.stop = context.WithCancelCause(ctx)
	l.holders[h.of] = &h
	if previous != nil {
		previous.stop(cause)
	}
	return ctx, &h, true
}

// await returns once no other holder touches the bytes. One of this process closes its done; one of another process has stopped when its
// lease has expired. A holder that is stopped here has waited for neither: its former says for how long the next one still waits.
func (h *lease) await(ctx context.Context) error {
	if previous := h.previous; previous != nil {
		<-previous.done // it has been stopped; waiting even when this request is cancelled keeps the order of writers
		if h.previous = nil; previous.epoch == h.epoch-1 {
			h.former = previous.former // the row's lease was that of previous
		}
	}
	if rest := time.Until(h.former); rest > 0 {
		timer := time.NewTimer(min(rest, leaseTime))
		defer timer.Stop()
		select {
		case <-timer.C:
			h.former = time.Time{}
		case <-ctx.Done():
		}
	}
	if ctx.Err() == nil {
		return nil
	}
	return cmp.Or(interrupted(ctx, nil), context.Cause(ctx))
}

// kept notes the outcome of a statement that began at a time, renews the lease in the row, and reports whether it is still ours.
// Errors: err; errLost.
func (h *lease) kept(began time.Time, ours bool, err error) error {
	if err != nil {
		return err
	}
	if !ours {
		h.lost = true
		return errLost
	}
	h.renewed = began
	return nil
}

// age is the time since the last renewal.
func (h *lease) age() time.Duration { return time.Since(h.renewed) }

// release ends the lease in this process.
func (h *lease) release() {
	h.all.mu.Lock()
	defer h.all.mu.Unlock()
	if h.all.holders[h.of] == h {
		delete(h.all.holders, h.of)
	}
	close(h.done)
	h.stop(nil)
}

// end stops the holder in this process and returns it; nil when there is none.
func (l *leases) end(of any, cause error) *lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.holders[of]
	if h != nil {
		h.stop(cause)
	}
	return h
}

// held reports whether somebody in this process may still touch the bytes.
func (l *leases) held(of any) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holders[of] != nil
}

// storedTime is how long a segment belongs to the command that encrypts or moves it, after the last renewal. The lease is that of writers:
// a delivered object has none.
const storedTime = time.Minute

// storedLease is the lease of a segment that a command encrypts or moves.
type storedLease struct {
	*lease
	store   *postgres.Store
	segment id.Segment
}

// leaseStored takes the lease of a complete segment. The context that it returns ends with the lease. The caller calls end.
// Errors: errLost when somebody else has the segment, or it was deleted.
func (s *Service) leaseStored(ctx context.Context, g id.Segment) (context.Context, storedLease, error) {
	began := time.Now()
	epoch, err := s.store.LeaseStored(ctx, g, storedTime)
	if err == nil && epoch == 0 {
		err = errLost
	}
	if err != nil {
		return ctx, storedLease{}, err
	}
	ctx, l, ok := s.leases.take(ctx, lease{of: g, epoch: epoch, renewed: began}, errLost)
	if !ok {
		return ctx, storedLease{}, errLost
	}
	return ctx, storedLease{l, s.store, g}, nil
}

// renew renews the lease in the row.
// Errors: errLost.
func (l storedLease) renew(ctx context.Context) error { return l.set(ctx, storedTime) }

// set makes the lease in the row end after a time; 0: now.
// Errors: errLost.
func (l storedLease) set(ctx context.Context, valid time.Duration) error {
	began := time.Now()
	ours, err := l.store.RenewStored(context.WithoutCancel(ctx), l.segment, l.epoch, valid)
	return l.kept(began, ours, err)
}

// end ends the lease. When the row cannot be written, it ends there by itself.
func (l storedLease) end(ctx context.Context) {
	_ = l.set(ctx, 0)
	l.release()
}

// reader reads r until ctx ends. It calls renew when a third of the lease is over.
// Errors: errLost when a newer holder has stopped this one.
func (l storedLease) reader(ctx context.Context, r io.Reader, renew func() error) io.Reader {
	return leasedReader{r, func() error {
		if l.age() < storedTime/3 {
			return context.Cause(ctx)
		}
		return renew()
	}}
}

// leasedReader calls keep before it reads.
type leasedReader struct {
	io.Reader
	keep func() error
}

// Read implements io.Reader.
func (r leasedReader) Read(p []byte) (int, error) {
	if err := r.keep(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
