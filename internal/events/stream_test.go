// Tests of the stream over HTTP: replicas, resuming, bounds, and its end.

package events

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
)

func TestStreamShowsEventOnEveryReplica(t *testing.T) {
	t.Parallel()
	url, c := newDatabase(t)
	one, two := newReplica(t, url, c, false), newReplica(t, url, c, false)
	ann, bob := id.New[id.Person](), id.New[id.Person]()
	sameReplica := one.connect(ann, id.New[id.Session](), "")
	otherReplica := two.connect(ann, id.New[id.Session](), "")
	bobs := two.connect(bob, id.New[id.Session](), "")

	subject := id.New[id.Transfer]().String()
	one.append(TransferReceived, subject, ann, ann)
	one.append(PrivilegesUpdated, bob.String(), bob)

	var uids []string
	for _, stream := range []*client{sameReplica, otherReplica} {
		b := stream.next()
		var data map[string]string
		if err := json.Unmarshal([]byte(b.data), &data); err != nil {
			t.Fatal(err)
		}
		if b.event != TransferReceived || data["kind"] != TransferReceived || data["subject"] != subject ||
			data["createdAt"] != "2026-11-20T09:30:00.000+00:00" || len(data) != 4 {
			t.Errorf("event %+v", b)
		}
		uids = append(uids, data["uid"])
	}
	if uids[0] != uids[1] || len(uids[0]) != 36 {
		t.Errorf("uids %v, want the same", uids)
	}
	bobs.want(PrivilegesUpdated)
}

func TestStreamResumes(t *testing.T) {
	t.Parallel()
	url, c := newDatabase(t)
	rep := newReplica(t, url, c, false)
	ann, session := id.New[id.Person](), id.New[id.Session]()
	rep.append(TransferReceived, "before the first connection", ann)
	stream := rep.connect(ann, session, "")
	for i := range 3 {
		rep.append(TransferReceived, strconv.Itoa(i), ann)
	}
	stream.next()
	second := stream.next()
	stream.close()
	total := 2 * pageSize
	for i := 3; i < total; i++ {
		rep.append(TransferReceived, strconv.Itoa(i), ann)
	}
	resumed := rep.connect(ann, id.New[id.Session](), second.id) // a later session of the same person
	for i := 2; i < total; i++ {
		if b := resumed.next(); !strings.Contains(b.data, fmt.Sprintf(`"subject":"%d"`, i)) {
			t.Fatalf("event %d is %+v", i, b)
		}
	}
	rep.append(TransferRevoked, "live again", ann)
	resumed.want(TransferRevoked)
	all := rep.connect(ann, id.New[id.Session](), "0")
	if b := all.next(); !strings.Contains(b.data, "before the first connection") {
		t.Errorf("got %+v from cursor 0", b)
	}
}

func TestStreamRefusesCursor(t *testing.T) {
	t.Parallel()
	url, c := newDatabase(t)
	rep := newReplica(t, url, c, true)
	for _, cursor := range []string{"x", "-1", "1.5", "99999999999999999999"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, rep.server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Last-Event-ID", cursor)
		res, err := rep.server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %d", cursor, res.StatusCode)
		}
	}
}

func TestStreamPollsWithoutNotifications(t *testing.T) {
	t.Parallel()
	url, c := newDatabase(t)
	rep := newReplica(t, url, c, true)
	ann := id.New[id.Person]()
	stream := rep.connect(ann, id.New[id.Session](), "")
	rep.append(TransferAccessed, "polled", ann)
	stream.want(TransferAccessed)
}

func TestStreamWakesManyReceivers(t *testing.T) {
	t.Parallel()
	url, c := newDatabase(t)
	rep := newReplica(t, url, c, false)
	ann := id.New[id.Person]()
	stream := rep.connect(ann, id.New[id.Session](), "")
	receivers := []id.Person{ann}
	for range 3000 {
		receivers = append(receivers, id.New[id.Person]())
	}
	rep.append(OrganizationProfileUpdated, "many", receivers...)
	stream.want(OrganizationProfileUpdated)
}

func TestSixthStreamClosesOldest(t *testing.T) {
	t.Parallel()
	url, c := newDatabase(t)
	rep := newReplica(t, url, c, false)
	ann, session := id.New[id.Person](), id.New[id.Session]()
	other := rep.connect(ann, id.New[id.Session](), "")
	var streams []*client
	for range maxStreams + 2 {
		streams = append(streams, rep.connect(ann, session, ""))
	}
	streams[0].wantEnd()
	streams[1].wantEnd()
	rep.append(TransferReceived, "for the rest", ann)
	for _, s := range append(streams[2:], other) {
		s.next()
	}
}

func TestRevocationEndsStreamAfterItsEvent(t *testing.T) {
	t.Parallel()
	url, c := newDatabase(t)
	rep := newReplica(t, url, c, false)
	rep.feed.closeGrace = patience // a slow machine must still send the event before the end
	ann, ended, kept := id.New[id.Person](), id.New[id.Session](), id.New[id.Session]()
	stream, other := rep.connect(ann, ended, ""), rep.connect(ann, kept, "")
	err := rep.db.InTx(t.Context(), func(tx database.Tx) error {
		if err := rep.revocations.Publish(t.Context(), tx, token.Revocation{Ended: ended.UUID}); err != nil {
			return err
		}
		return Append(t.Context(), tx, c.Now(), Event{PrivilegesUpdated, ann.String(), []id.Person{ann}})
	})
	if err != nil {
		t.Fatal(err)
	}
	stream.want(PrivilegesUpdated)
	stream.wantEnd()
	other.next()
	rep.append(TransferReceived, "later", ann)
	other.next()
}

// TestRevocationBeforeNotification: a stream sends the event of a transaction even when the revocation arrives before the event's
// notification, while the cached page still looks complete.
func TestRevocationBeforeNotification(t *testing.T) {
	t.Parallel()
	url, c := newDatabase(t)
	rep := newReplica(t, url, c, false)
	rep.feed.closeGrace = patience
	ann, ended := id.New[id.Person](), id.New[id.Session]()
	stream := rep.connect(ann, ended, "")
	rep.append(TransferReceived, "before", ann)
	stream.next() // the reader has cached the page
	err := rep.db.InTx(t.Context(), func(tx database.Tx) error {
		if err := rep.revocations.Publish(t.Context(), tx, token.Revocation{Ended: ended.UUID}); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), appendSQL, []id.Person{ann}, c.Now().UnixMicro(), c.Now(), id.New[id.Event]().UUID, PrivilegesUpdated,
			ann.String(),
			"no channel", "")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	stream.want(PrivilegesUpdated)
	stream.wantEnd()
}

func TestStreamEndsWithToken(t *testing.T) {
	t.Parallel()
	url, c := newDatabase(t)
	rep := newReplica(t, url, c, false)
	stream := rep.connect(id.New[id.Person](), id.New[id.Session](), "")
	c.Advance(10 * time.Minute)
	stream.wantEnd()
	<-rep.returned
	if len(rep.feed.persons) != 0 || len(rep.feed.sessions) != 0 {
		t.Error("the feed still holds the stream")
	}
}

func TestStreamEndsWithServer(t *testing.T) {
	t.Parallel()
	url, c := newDatabase(t)
	rep := newReplica(t, url, c, false)
	stream := rep.connect(id.New[id.Person](), id.New[id.Session](), "")
	rep.stop()
	stream.wantEnd()
}

func TestStreamKeepsConnectionAlive(t *testing.T) {
	t.Parallel()
	url, c := newDatabase(t)
	rep := newReplica(t, url, c, true)
	rep.feed.heartbeat = 20 * time.Millisecond
	stream := rep.connect(id.New[id.Person](), id.New[id.Session](), "")
	for range 3 {
		stream.want(":")
	}
}

// A client that reads nothing does not buffer events in memory, and does not delay the end of its stream.
func TestStalledClientIsCutOff(t *testing.T) {
	t.Parallel()
	url, c := newDatabase(t)
	rep := newReplica(t, url, c, false)
	ann, session := id.New[id.Person](), id.New[id.Session]()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", rep.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\nTest-Person: %s\r\nTest-Session: %s\r\n\r\n", ann, session)
	poll.Until(t, "stream", func() bool {
		rep.feed.mu.Lock()
		defer rep.feed.mu.Unlock()
		return rep.feed.persons[ann] != nil
	})
	for range 40 { // more than the socket's buffers hold
		rep.append(TransferReceived, strings.Repeat("x", 1<<20), ann)
	}
	if err := rep.revocations.Publish(t.Context(), rep.db.Pool, token.Revocation{Ended: session.UUID}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-rep.returned:
	case <-time.After(patience):
		t.Fatal("the stalled stream was not ended")
	}
}

// The streams of a person that are up to date share one query for each notification.
func TestStreamsShareOneQuery(t *testing.T) {
	t.Parallel()
	url, c := newDatabase(t)
	rep := newReplica(t, url, c, true)
	ann := id.New[id.Person]()
	rep.append(TransferReceived, "1", ann)
	rep.append(TransferReceived, "2", ann)
	r := newReader(rep.db, ann)
	read := func(cursor int64) []record {
		t.Helper()
		records, err := r.next(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		return records
	}
	before := rep.db.Pool.Stat().AcquireCount()
	first := read(0)
	for range 4 {
		if got := read(0); len(got) != 2 {
			t.Errorf("%d events, want 2", len(got))
		}
		if got := read(first[0].ID); len(got) != 1 {
			t.Errorf("%d events, want 1", len(got))
		}
		if got := read(first[1].ID); len(got) != 0 {
			t.Errorf("%d events, want none", len(got))
		}
	}
	if n := rep.db.Pool.Stat().AcquireCount() - before; n != 1 {
		t.Errorf("%d queries, want 1", n)
	}
	rep.append(TransferReceived, "3", ann)
	r.wake()
	if got := read(first[1].ID); len(got) != 1 {
		t.Errorf("%d events after a wake, want 1", len(got))
	}
	if got := read(0); len(got) != 3 { // older than the cached page
		t.Errorf("%d events for a stream that lags, want 3", len(got))
	}
}
