// The people, replicas and streams of the tests of this package.

package events

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/clock"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
)

// patience is the timeout for an event. Contract 3.15 promises a second; a busy test machine may need longer.
const patience = 10 * time.Second

// replica is one server process: a feed behind HTTP.
type replica struct {
	t           *testing.T
	clock       *clock.Manual
	db          *database.DB
	feed        *Feed
	revocations *token.Revocations
	server      *httptest.Server
	returned    chan struct{} // receives when a handler returns
	stop        context.CancelFunc
}

// newReplica starts a replica on the database at url. With pollOnly set its listener never connects.
func newReplica(t *testing.T, url string, c *clock.Manual, pollOnly bool) *replica {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	db, err := database.New(t.Context(), url, 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	listener := database.NewListener(url, log, time.Now)
	rep := &replica{t: t, clock: c, db: db, returned: make(chan struct{}, 100)}
	rep.revocations = token.NewRevocations(db, listener, time.Hour, c.Now, log)
	rep.feed = NewFeed(db, listener, rep.revocations, 7*24*time.Hour, c.Now, log)
	ctx, stop := context.WithCancel(context.Background())
	rep.stop = stop
	running := make(chan struct{})
	runs := []func(context.Context) error{rep.feed.Run, rep.revocations.Run}
	if !pollOnly {
		runs = append(runs, listener.Run)
	}
	for _, run := range runs {
		go func() {
			defer func() { running <- struct{}{} }()
			if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("run: %v", err)
			}
		}()
	}
	rep.server = httptest.NewServer(http.HandlerFunc(rep.serve))
	t.Cleanup(func() {
		stop()
		rep.server.Close()
		for range runs {
			<-running
		}
	})
	if !pollOnly {
		poll.Until(t, "a confirmed listener", func() bool { return listener.ConfirmedWithin(time.Second) })
	}
	return rep
}

// serve calls the handler with the caller named in the headers Test-Person and Test-Session.
func (rep *replica) serve(w http.ResponseWriter, r *http.Request) {
	defer func() { rep.returned <- struct{}{} }()
	person, _ := id.Parse[id.Person](r.Header.Get("Test-Person"))
	session, _ := id.Parse[id.Session](r.Header.Get("Test-Session"))
	caller := token.Caller{
		Kind: token.KindAccess, Person: person, Session: session, ExpiresAt: rep.clock.Now().Add(10 * time.Minute),
	}
	r = r.WithContext(token.WithCaller(r.Context(), caller))
	if err := rep.feed.Handler()(w, r); err != nil {
		httpapi.WriteError(w, r, err)
	}
}

// append commits an event in a transaction of its own.
func (rep *replica) append(kind, subject string, receivers ...id.Person) {
	rep.t.Helper()
	err := rep.db.InTx(rep.t.Context(), func(tx database.Tx) error {
		return Append(rep.t.Context(), tx, rep.clock.Now(), Event{Kind: kind, Subject: subject, Receivers: receivers})
	})
	if err != nil {
		rep.t.Fatal(err)
	}
}

// block is one block of an event stream (WHATWG, server-sent events).
type block struct{ id, event, data string }

// client reads one stream.
type client struct {
	t      *testing.T
	blocks chan block // closed when the stream ends
	last   int64      // id of the last block
	close  context.CancelFunc
}

// connect opens a stream. An empty lastEventID is not sent.
func (rep *replica) connect(person id.Person, session id.Session, lastEventID string) *client {
	rep.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	rep.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, rep.server.URL, nil)
	if err != nil {
		rep.t.Fatal(err)
	}
	req.Header.Set("Test-Person", person.String())
	req.Header.Set("Test-Session", session.String())
	if lastEventID != "" {
		req.Header.Set("Last-Event-ID", lastEventID)
	}
	c := &client{t: rep.t, blocks: make(chan block, 10_000), close: cancel}
	go func() {
		defer close(c.blocks)
		res, err := rep.server.Client().Do(req)
		if err != nil {
			rep.t.Errorf("connect: %v", err)
			return
		}
		defer res.Body.Close()
		if got := res.Header.Get("Content-Type"); res.StatusCode != 200 || !strings.HasPrefix(got, "text/event-stream") {
			rep.t.Errorf("answer is %d %s", res.StatusCode, got)
			return
		}
		parse(res.Body, c.blocks)
	}()
	if first := c.next(); first.id == "" || first.event != "" || first.data != `{"cursor":"`+first.id+`"}` {
		rep.t.Fatalf("first event %+v, want its id as data and no kind", first)
	}
	return c
}

// parse splits a stream into its blocks. A comment becomes a block whose event is ":".
func parse(r io.Reader, blocks chan<- block) {
	var b block
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			if b != (block{}) {
				blocks <- b
			}
			b = block{}
		case name == "":
			blocks <- block{event: ":"}
		case name == "id":
			b.id = value
		case name == "event":
			b.event = value
		case name == "data":
			b.data += value
		}
	}
}

// want waits for a block of the event.
func (c *client) want(event string) {
	c.t.Helper()
	if b := c.next(); b.event != event {
		c.t.Errorf("the block is %+v, want the event %s", b, event)
	}
}

// next waits for a block, and checks that ids increase.
func (c *client) next() block {
	c.t.Helper()
	select {
	case b, open := <-c.blocks:
		if !open {
			c.t.Fatal("the stream has ended")
		}
		if b.id != "" {
			n, err := strconv.ParseInt(b.id, 10, 64)
			if err != nil || n < c.last || n == c.last && b.event != "" {
				c.t.Fatalf("id %q follows %d", b.id, c.last)
			}
			c.last = n
		}
		return b
	case <-time.After(patience):
		c.t.Fatalf("no event within %s", patience)
	}
	return block{}
}

// wantEnd waits until the stream has ended, and fails on a further event.
func (c *client) wantEnd() {
	c.t.Helper()
	select {
	case b, open := <-c.blocks:
		if open {
			c.t.Fatalf("unexpected %+v", b)
		}
	case <-time.After(patience):
		c.t.Fatal("the stream goes on")
	}
}

func newDatabase(t *testing.T) (url string, c *clock.Manual) {
	t.Helper()
	return pgtest.URL(t), clock.New()
}
