// Ends streams and downloads within a second after their session ends.

package token

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/id"
)

const (
	watchInterval = 200 * time.Millisecond // between two rounds of Run
	watchConfirm  = 500 * time.Millisecond // maximum age of a confirmation; with watchInterval, the delay stays under 1 s
	watchTimeout  = time.Second
	sweepInterval = time.Minute
)

// watcher is a stream or download that ends with a session, API token, transfer or delivery, or with a person's epoch.
type watcher struct {
	of     uuid.UUID
	person id.Person
	epoch  int64
	ended  chan struct{}
	closed bool
}

// watchers indexes the watchers by what they end with and by person.
type watchers struct {
	uids    map[uuid.UUID]map[*watcher]struct{}
	persons map[id.Person]map[*watcher]struct{}
}

func newWatchers() watchers {
	return watchers{uids: map[uuid.UUID]map[*watcher]struct{}{}, persons: map[id.Person]map[*watcher]struct{}{}}
}

func (w watchers) add(one *watcher) {
	enlist(w.uids, one.of, one)
	enlist(w.persons, one.person, one)
}

func (w watchers) remove(one *watcher) {
	strike(w.uids, one.of, one)
	strike(w.persons, one.person, one)
}

func enlist[K comparable](lists map[K]map[*watcher]struct{}, key K, one *watcher) {
	if lists[key] == nil {
		lists[key] = map[*watcher]struct{}{}
	}
	lists[key][one] = struct{}{}
}

func strike[K comparable](lists map[K]map[*watcher]struct{}, key K, one *watcher) {
	delete(lists[key], one)
	if len(lists[key]) == 0 {
		delete(lists, key)
	}
}

func (w watchers) endAll(of uuid.UUID) {
	for one := range w.uids[of] {
		w.end(one)
	}
}

func (w watchers) endEpochs(p id.Person, lowest int64) {
	for one := range w.persons[p] {
		if one.epoch < lowest {
			w.end(one)
		}
	}
}

// end closes the channel of a watcher and removes the watcher, so that the channel is closed once.
func (w watchers) end(one *watcher) {
	close(one.ended)
	one.closed = true
	w.remove(one)
}

// Watch returns a channel that is closed within a second after the caller's access token is revoked (contract 2.8), and at
// once if it already is; likewise for an API token, and for a reservation token that depends on one. For other kinds of callers the
// channel is nil and never ready. The expiry of the token does not close the channel. The caller must call cancel.
func (r *Revocations) Watch(c Caller) (ended <-chan struct{}, cancel func()) {
	if c.Kind != KindAccess && !c.ByAPIToken() {
		return nil, func() {}
	}
	return r.watch(&watcher{of: c.Session.UUID, person: c.Person, epoch: c.Epoch, ended: make(chan struct{})})
}

// watch adds a watcher and returns its channel.
func (r *Revocations) watch(one *watcher) (ended <-chan struct{}, cancel func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers.add(one)
	if r.holds(one.of, one.person, one.epoch) {
		r.watchers.end(one)
	}
	return one.ended, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !one.closed {
			r.watchers.remove(one)
		}
	}
}

// WatchContext returns a context that is cancelled with the cause ErrEnded when Watch's channel is closed. The caller must call cancel.
func (r *Revocations) WatchContext(ctx context.Context, c Caller) (context.Context, context.CancelFunc) {
	ended, forget := r.Watch(c)
	return cancelled(ctx, ended, forget)
}

// cancelled returns a context that is cancelled with the cause ErrEnded when ended is closed.
func cancelled(ctx context.Context, ended <-chan struct{}, forget func()) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if ended != nil {
		go func() {
			select {
			case <-ended:
				cancel(ErrEnded)
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { cancel(nil); forget() }
}

// WatchDownload returns a context that is cancelled within a second after a Revocation of a transfer or delivery that a download is of.
// Zero uids name none. The caller must call cancel.
func (r *Revocations) WatchDownload(ctx context.Context, of ...uuid.UUID) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	forget := []context.CancelFunc{cancel}
	for _, uid := range of {
		if uid != uuid.Nil {
			ended, done := r.watch(&watcher{of: uid, ended: make(chan struct{})})
			ctx, cancel = cancelled(ctx, ended, done)
			forget = append(forget, cancel)
		}
	}
	return ctx, func() {
		for _, f := range forget {
			f()
		}
	}
}

// Run checks watched sessions in the database while the listener is not confirmed, and removes expired entries from memory.
// It returns nil when ctx ends. While the database does not answer, streams continue, because revocations cannot be stored
// either.
func (r *Revocations) Run(ctx context.Context) error {
	watch := time.NewTicker(watchInterval)
	defer watch.Stop()
	sweep := time.NewTicker(sweepInterval)
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-sweep.C:
			r.sweep(r.now())
		case <-watch.C:
			if err := r.checkWatched(ctx); err != nil && ctx.Err() == nil {
				r.log.Warn("cannot check the revocations of open streams", "error", err)
			}
		}
	}
}

// checkWatched is one round of Run.
func (r *Revocations) checkWatched(ctx context.Context) error {
	if r.confirmed(watchConfirm) {
		return nil
	}
	var uids, persons []uuid.UUID
	r.mu.RLock()
	for uid := range r.watchers.uids {
		uids = append(uids, uid)
	}
	for p := range r.watchers.persons {
		persons = append(persons, p.UUID)
	}
	r.mu.RUnlock()
	if len(uids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	return r.read(ctx, "check watched revocations", `ended = ANY ($1) OR person = ANY ($2)`, uids, persons)
}
