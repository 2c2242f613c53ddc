package service

import (
	"context"
	"sync"

	"github.com/consign-dev/consign/internal/id"
)

// writers knows who writes which object in this process, so that a newer writer can stop an older one and wait for it
// instead of for its lease. Across processes the epoch and the lease in the object's row do the same (contract 4.12).
type writers struct {
	mu      sync.Mutex
	current map[id.Object]*writer
}

// writer is one request that writes, or waits to write, an object.
type writer struct {
	epoch int64
	stop  context.CancelCauseFunc
	done  chan struct{} // closed when it will not touch the bytes any more
}

// enter makes w the writer of an object. It returns the one before it, told to stop and still to be waited for, or nil.
// ok is false when a newer one is there already.
func (ws *writers) enter(o id.Object, w *writer, because error) (before *writer, ok bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	before = ws.current[o]
	if before != nil && before.epoch > w.epoch {
		return nil, false
	}
	if ws.current == nil {
		ws.current = map[id.Object]*writer{}
	}
	ws.current[o] = w
	if before != nil {
		before.stop(because)
	}
	return before, true
}

// leave says that w touches the bytes no more.
func (ws *writers) leave(o id.Object, w *writer) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.current[o] == w {
		delete(ws.current, o)
	}
	close(w.done)
}

// stop tells whoever writes an object in this process to stop.
func (ws *writers) stop(o id.Object, because error) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w := ws.current[o]; w != nil {
		w.stop(because)
	}
}

// writing reports whether somebody in this process may touch an object's bytes.
func (ws *writers) writing(o id.Object) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.current[o] != nil
}
