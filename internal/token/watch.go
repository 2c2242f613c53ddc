package token

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/id"
)

const (
	watchInterval = 200 * time.Millisecond // how often Run looks whether watchers need the database
	watchConfirm  = 500 * time.Millisecond // how old a confirmation may be, so that with the above it stays under 1 s
	watchTimeout  = time.Second
	sweepInterval = time.Minute
)

// watcher is one stream or download that ends with its session.
type watcher struct {
	session id.Session
	person  id.Person
	epoch   int64
	ended   chan struct{}
	closed  bool
}

// watchers finds those whom a revocation concerns.
type watchers struct {
	sessions map[id.Session]map[*watcher]struct{}
	persons  map[id.Person]map[*watcher]struct{}
}

func newWatchers() watchers {
	return watchers{sessions: map[id.Session]map[*watcher]struct{}{}, persons: map[id.Person]map[*watcher]struct{}{}}
}

func (w watchers) add(one *watcher) {
	enlist(w.sessions, one.session, one)
	enlist(w.persons, one.person, one)
}

func (w watchers) remove(one *watcher) {
	strike(w.sessions, one.session, one)
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

func (w watchers) endSession(s id.Session) {
	for one := range w.sessions[s] {
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

// end closes the channel of a watcher and takes it off the lists, so that it is closed once.
func (w watchers) end(one *watcher) {
	close(one.ended)
	one.closed = true
	w.remove(one)
}

// Watch returns a channel that is closed when the caller's access token is revoked, within a second of it (contract 2.8);
// at once when it already is. cancel stops watching and must be called. The channel of any other kind of caller is nil,
// which never ends. That a token expires is not watched.
func (r *Revocations) Watch(c Caller) (ended <-chan struct{}, cancel func()) {
	if c.Kind != KindAccess {
		return nil, func() {}
	}
	one := &watcher{session: c.Session, person: c.Person, epoch: c.Epoch, ended: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers.add(one)
	if r.holds(c.Session, c.Person, c.Epoch) {
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

// Run asks the database about watched sessions while the listener is not confirmed, and sweeps the memory, until ctx ends.
// While the database does not answer either, streams go on: nobody could revoke them there.
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
				r.log.Warn("revocations of open streams not checked", "error", err)
			}
		}
	}
}

// checkWatched is one round of Run.
func (r *Revocations) checkWatched(ctx context.Context) error {
	if r.confirmed(watchConfirm) {
		return nil
	}
	var sessions, persons []uuid.UUID
	r.mu.RLock()
	for s := range r.watchers.sessions {
		sessions = append(sessions, s.UUID)
	}
	for p := range r.watchers.persons {
		persons = append(persons, p.UUID)
	}
	r.mu.RUnlock()
	if len(sessions) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	err := r.read(ctx, `
		SELECT session, person, epoch, expires_at FROM revocations WHERE session = ANY ($1) OR person = ANY ($2)`,
		sessions, persons)
	if err != nil {
		return fmt.Errorf("check watched sessions: %w", err)
	}
	return nil
}
