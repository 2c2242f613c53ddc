package content

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer/postgres"
)

// writer names what a request writes: an object, or a part of it.
type writer struct {
	object id.Object
	part   int // 0: the object
}

// writerLeases holds the writer of each object, or part of an object, in this process. A newer writer stops the older one and waits for it, which
// is faster than waiting for its lease to expire. Between processes, the epoch and the lease in the object's row do the
// same (contract 4.12). The zero value is ready to use.
type writerLeases struct {
	mu      sync.Mutex
	holders map[writer]*leaseHolder
	objects map[id.Object]int // how many holders there are
}

// leaseHolder is one request that writes, or waits to.
type leaseHolder struct {
	epoch int64
	stop  context.CancelCauseFunc
	done  chan struct{} // closed when the request no longer touches the bytes
}

// acquire makes h the writer. It stops the previous writer with cause and returns it, or nil when there is
// none; the caller waits for its done. ok is false when a newer writer holds the lease.
func (l *writerLeases) acquire(w writer, h *leaseHolder, cause error) (previous *leaseHolder, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	previous = l.holders[w]
	if previous != nil && previous.epoch > h.epoch {
		return nil, false
	}
	if l.holders == nil {
		l.holders, l.objects = map[writer]*leaseHolder{}, map[id.Object]int{}
	}
	l.holders[w] = h
	if previous != nil {
		previous.stop(cause)
	} else {
		l.objects[w.object]++
	}
	return previous, true
}

// release ends h's lease and closes h.done.
func (l *writerLeases) release(w writer, h *leaseHolder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holders[w] == h {
		delete(l.holders, w)
		if l.objects[w.object]--; l.objects[w.object] == 0 {
			delete(l.objects, w.object)
		}
	}
	close(h.done)
}

// stop cancels the writers of an object and of its parts in this process.
func (l *writerLeases) stop(o id.Object, cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.objects[o] == 0 {
		return
	}
	for w, h := range l.holders {
		if w.object == o {
			h.stop(cause)
		}
	}
}

// end cancels the writer of an object in this process and returns it; nil when there is none.
func (l *writerLeases) end(o id.Object, cause error) *leaseHolder {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.holders[writer{object: o}]
	if h != nil {
		h.stop(cause)
	}
	return h
}

// held reports whether a request in this process may still touch an object's bytes.
func (l *writerLeases) held(o id.Object) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.objects[o] > 0
}

// awaitLease returns once no other writer touches the object's bytes. A writer of this process closes its done; one of
// another process has stopped when its lease has expired.
func (s *Service) awaitLease(ctx context.Context, previous *leaseHolder, u postgres.Upload, lease writerLease) error {
	if previous != nil {
		<-previous.done // it has been stopped; waiting even when this request is cancelled keeps the order of writers
	}
	if rest := time.Until(u.LeaseUntil); rest > 0 && (previous == nil || previous.epoch != lease.epoch-1) {
		timer := time.NewTimer(min(rest, leaseTime))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if ctx.Err() == nil {
		return nil
	}
	return cmp.Or(interrupted(ctx, nil), context.Cause(ctx))
}
