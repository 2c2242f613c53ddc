// GET /events: a stream of server-sent events. It ends with its session, its token and the server.

package events

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
)

const (
	maxStreams        = 5 // of one session in one process; a further one closes the oldest (contract 3.15)
	heartbeatInterval = 15 * time.Second
	// expiryInterval is the pause between checks of a token's expiry.
	expiryInterval = 500 * time.Millisecond
	// closeGraceLimit bounds how long a stream that has to end may still write.
	closeGraceLimit = 400 * time.Millisecond
)

// errReading marks a failure to read the table.
var errReading = errors.New("read feed")

// Causes of the end of a stream.
var (
	errExpired  = errors.New("the access token has expired")
	errRevoked  = errors.New("the session has ended")
	errReplaced = errors.New("the session has opened newer streams")
	errShutdown = errors.New("the server is stopping")
)

// ErrCursor is the error for a Last-Event-ID that cannot be the id of an event.
var ErrCursor = fault.ErrInvalid.With("Last-Event-ID: is not the id of an event; leave the header out, or send 0 for all that is kept")

// stream is one connected client.
type stream struct {
	session  id.Session
	reader   *reader
	woken    chan struct{} // holds one element after a wake
	replaced chan struct{} // closed when the session has opened too many newer streams
}

// eventJSON is the data of a server-sent event.
type eventJSON struct {
	Kind      string       `json:"kind"`
	UID       string       `json:"uid"`
	Subject   string       `json:"subject"`
	CreatedAt httpapi.Time `json:"createdAt"`
}

// beginJSON is the data of the first event, which has no kind.
type beginJSON struct {
	Cursor string `json:"cursor"`
}

// Handler serves GET /events (contract 3.15) to a caller with an access token. Without Last-Event-ID it sends only new events. The first
// event has no kind: it gives the client a cursor, so that it can resume even before the first event of the feed. It has data, because
// an EventSource keeps the id only of events with data.
func (f *Feed) Handler() httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		caller := token.CallerFrom(r.Context())
		cursor, resumed, err := lastEventID(r)
		if err != nil {
			return err
		}
		if r.Method == http.MethodHead { // no body, so no events
			httpapi.NewStream(w, r)
			return nil
		}
		revoked, unwatch := f.revocations.Watch(caller) // closed at once if the session ended after its token was checked
		defer unwatch()
		// Join before the position is read, so that an event between the two wakes the stream.
		s := f.join(caller)
		defer f.leave(s)
		if !resumed {
			if cursor, err = position(r.Context(), f.db.Pool, caller.Person); err != nil {
				return err
			}
		}
		f.serve(w, r, s, caller, revoked, cursor)
		return nil
	}
}

// lastEventID reads the cursor to resume from.
func lastEventID(r *http.Request) (cursor int64, given bool, err error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		return 0, false, nil
	}
	cursor, err = strconv.ParseInt(text, 10, 64)
	if err != nil || cursor < 0 {
		return 0, false, ErrCursor
	}
	return cursor, true, nil
}

// join adds a stream of the caller. When the session has too many, it closes the oldest.
func (f *Feed) join(caller token.Caller) *stream {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.persons[caller.Person]
	if r == nil {
		r = newReader(f.db, caller.Person)
		f.persons[caller.Person] = r
	}
	s := &stream{session: caller.Session, reader: r, woken: make(chan struct{}, 1), replaced: make(chan struct{})}
	r.streams[s] = struct{}{}
	streams := append(f.sessions[s.session], s)
	if len(streams) > maxStreams {
		close(streams[0].replaced)
		streams = streams[1:]
	}
	f.sessions[s.session] = streams
	return s
}

// leave removes a stream that join added.
func (f *Feed) leave(s *stream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(s.reader.streams, s)
	if len(s.reader.streams) == 0 {
		delete(f.persons, s.reader.person)
	}
	var rest []*stream
	for _, other := range f.sessions[s.session] {
		if other != s {
			rest = append(rest, other)
		}
	}
	if len(rest) == 0 {
		delete(f.sessions, s.session)
		return
	}
	f.sessions[s.session] = rest
}

// serve writes events to the client until the stream has to end.
func (f *Feed) serve(w http.ResponseWriter, r *http.Request, s *stream, caller token.Caller, revoked <-chan struct{}, cursor int64) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	done := make(chan struct{})
	guarded := make(chan struct{})
	go func() {
		defer close(guarded)
		f.guard(ctx, cancel, w, s, caller, revoked, done)
	}()
	defer func() { close(done); <-guarded }()

	out := httpapi.NewStream(w, r)
	begin, err := json.Marshal(beginJSON{cursorText(cursor)})
	if err == nil {
		err = out.Send("", cursorText(cursor), begin)
	}
	for err == nil {
		cursor, err = s.send(ctx, out, cursor)
		retry := f.noteReading(ctx, err)
		if err == nil || retry {
			err = s.wait(ctx, out, f.heartbeat, retry)
		}
	}
	// The transaction that ends the session may also append an event. Send it before the stream ends (contract 3.15).
	if errors.Is(context.Cause(ctx), errRevoked) {
		last, stop := context.WithTimeout(context.WithoutCancel(ctx), f.closeGrace)
		defer stop()
		s.reader.wakes.Add(1) // the revocation may arrive before the wake of the event, so the last page is outdated
		_, _ = s.send(last, out, cursor)
	}
}

// send writes the events after cursor and returns the cursor of the last one it wrote.
// Errors: errReading when the feed could not be read; any other error ends the stream.
func (s *stream) send(ctx context.Context, out *httpapi.Stream, cursor int64) (int64, error) {
	for {
		records, err := s.reader.next(ctx, cursor)
		if err != nil || len(records) == 0 {
			return cursor, err
		}
		for _, rec := range records {
			if ctx.Err() != nil {
				return cursor, context.Cause(ctx)
			}
			data, err := json.Marshal(eventJSON{rec.Kind, rec.UID.String(), rec.Subject, httpapi.Time(rec.CreatedAt)})
			if err != nil {
				return cursor, err
			}
			if err := out.Send(rec.Kind, cursorText(rec.ID), data); err != nil {
				return cursor, err
			}
			cursor = rec.ID
		}
	}
}

// noteReading logs when feeds become unreadable and readable again, once for all streams. It reports whether the stream should retry:
// streams stay open, so that clients need not reconnect while Postgres restarts.
func (f *Feed) noteReading(ctx context.Context, err error) (retry bool) {
	switch {
	case ctx.Err() != nil:
		return false
	case errors.Is(err, errReading):
		if f.unreadable.CompareAndSwap(false, true) {
			f.log.WarnContext(ctx, "event feeds cannot be read; streams wait", "error", err)
		}
		return true
	case err == nil && f.unreadable.CompareAndSwap(true, false):
		f.log.InfoContext(ctx, "event feeds can be read again")
	}
	return false
}

// wait returns nil after a wake, or after pollInterval when retry is set. Until then it sends a comment at every interval, as heartbeat.
func (s *stream) wait(ctx context.Context, out *httpapi.Stream, every time.Duration, retry bool) error {
	var soon <-chan time.Time
	if retry {
		soon = time.After(pollInterval)
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.woken:
			return nil
		case <-soon:
			return nil
		case <-ticker.C:
			if err := out.Comment(); err != nil {
				return err
			}
		}
	}
}

// guard cancels ctx when the stream has to end. It then sets the write deadline to closeGrace from now, so that a client that does not
// read cannot delay the end. It returns after done is closed.
func (f *Feed) guard(ctx context.Context, cancel context.CancelCauseFunc, w http.ResponseWriter, s *stream,
	caller token.Caller, revoked <-chan struct{}, done <-chan struct{}) {
	cancel(f.endOf(ctx, s, caller, revoked))
	deadline := time.Now().Add(f.closeGrace)
	control := http.NewResponseController(w)
	ticker := time.NewTicker(f.closeGrace / 4)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		default:
		}
		_ = control.SetWriteDeadline(deadline) // repeated, because a concurrent write may have extended it
		select {
		case <-done:
			return
		case <-ticker.C:
		}
	}
}

// endOf waits until the stream has to end, and returns the cause.
func (f *Feed) endOf(ctx context.Context, s *stream, caller token.Caller, revoked <-chan struct{}) error {
	ticker := time.NewTicker(expiryInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-revoked:
			return errRevoked
		case <-s.replaced:
			return errReplaced
		case <-f.stopped:
			return errShutdown
		case <-ticker.C:
			if !f.now().Before(caller.ExpiresAt) {
				return errExpired
			}
		}
	}
}

func cursorText(cursor int64) string { return strconv.FormatInt(cursor, 10) }
