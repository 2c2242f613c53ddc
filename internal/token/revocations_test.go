package token

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/clock"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/testkit/relay"
)

// untilRefused waits until the replica refuses raw with the given error. It returns the time that took.
func untilRefused(t *testing.T, r *replica, raw string, want error) time.Duration {
	t.Helper()
	return poll.Until(t, "the token is refused", func() bool {
		_, err := r.verifier.Verify(t.Context(), raw)
		return errors.Is(err, want)
	})
}

// accepts checks that the replica accepts raw.
func (r *replica) accepts(t *testing.T, raw string) {
	t.Helper()
	if _, err := r.verifier.Verify(t.Context(), raw); err != nil {
		t.Errorf("refused: %v", err)
	}
}

func TestRevocationReachesReplicas(t *testing.T) {
	t.Parallel()
	url := testURL(t)
	a := newReplica(t, url, replicaOptions{listenURL: url})
	b := newReplica(t, url, replicaOptions{listenURL: url})
	c := claimsOf(KindAccess)
	raw, other, idToken := a.issue(t, KindAccess, c), a.issue(t, KindAccess, claimsOf(KindAccess)), a.issue(t, KindID, c)
	reservation := a.issue(t, KindReservation, claimsOf(KindReservation))
	all := []string{raw, other, idToken, reservation}
	for _, one := range all {
		b.accepts(t, one)
	}

	a.publish(t, Revocation{Ended: c.Session.UUID})
	for name, r := range map[string]*replica{"the other replica": b, "the publishing replica": a} {
		if took := untilRefused(t, r, raw, ErrEnded); took > 500*time.Millisecond {
			t.Errorf("%s needed %s", name, took)
		}
		r.accepts(t, other)
		r.accepts(t, reservation) // a logout does not end it
		r.accepts(t, idToken)     // identity checks the session's row
	}
}

func TestEpoch(t *testing.T) {
	t.Parallel()
	r := newListeningReplica(t)
	c := claimsOf(KindAccess)
	issue := func(epoch int64) string {
		c.Epoch = epoch
		return r.issue(t, KindAccess, c)
	}
	older, old, current := issue(3), issue(4), issue(5)
	r.publish(t, Revocation{Person: c.Person, Epoch: 5})
	untilRefused(t, r, old, ErrEnded)
	untilRefused(t, r, older, ErrEnded)
	r.accepts(t, current)
	r.publish(t, Revocation{Person: c.Person, Epoch: 4}) // published late: the lowest valid epoch never falls
	marker := claimsOf(KindAccess)
	r.publish(t, Revocation{Ended: marker.Session.UUID})
	untilRefused(t, r, r.issue(t, KindAccess, marker), ErrEnded) // notifications keep their order, so the earlier one has arrived
	untilRefused(t, r, old, ErrEnded)
	r.accepts(t, current)
}

func TestRevocationJoinsTheTransaction(t *testing.T) {
	t.Parallel()
	r := newListeningReplica(t)
	c := claimsOf(KindAccess)
	raw := r.issue(t, KindAccess, c)
	undone := errors.New("undone")
	err := r.db.InTx(t.Context(), func(tx database.Tx) error {
		if err := r.revocations.Publish(t.Context(), tx, Revocation{Ended: c.Session.UUID}); err != nil {
			return err
		}
		return undone
	})
	if !errors.Is(err, undone) {
		t.Fatal(err)
	}
	marker := claimsOf(KindAccess)
	r.publish(t, Revocation{Ended: marker.Session.UUID})
	untilRefused(t, r, r.issue(t, KindAccess, marker), ErrEnded)
	r.accepts(t, raw)
}

func TestPublishMany(t *testing.T) {
	t.Parallel()
	r := newListeningReplica(t)
	var entries []Revocation
	for range 1000 {
		entries = append(entries, Revocation{Person: id.New[id.Person](), Epoch: 1 << 60}, Revocation{Ended: uuid.New()})
	}
	r.publish(t, entries...)
	poll.Until(t, "all revocations are loaded", func() bool {
		r.revocations.mu.RLock()
		defer r.revocations.mu.RUnlock()
		return len(r.revocations.persons) == 1000 && len(r.revocations.ended) == 1000
	})
	r.publish(t)
	for _, bad := range []Revocation{{}, {Ended: uuid.New(), Person: id.New[id.Person]()}} {
		if err := r.revocations.Publish(t.Context(), r.db.Pool, bad); err == nil {
			t.Errorf("published %+v", bad)
		}
	}
}

// TestRevocationBeforeStart: a replica that starts later loads earlier revocations into memory.
func TestRevocationBeforeStart(t *testing.T) {
	t.Parallel()
	url := testURL(t)
	a := newReplica(t, url, replicaOptions{})
	c := claimsOf(KindAccess)
	a.publish(t, Revocation{Ended: c.Session.UUID}, Revocation{Person: c.Person, Epoch: 9})
	b := newReplica(t, url, replicaOptions{listenURL: url})
	b.revocations.mu.RLock()
	defer b.revocations.mu.RUnlock()
	if !b.revocations.holds(c.Session.UUID, id.Person{}, 0) || !b.revocations.holds(uuid.Nil, c.Person, 8) ||
		b.revocations.holds(uuid.Nil, c.Person, 9) {
		t.Error("the replica lacks revocations that were published before it started")
	}
}

// TestRevocationWithoutListener: a replica whose listener is cut off, or hangs, checks the database and so learns of a
// revocation within a second.
func TestRevocationWithoutListener(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(*relay.Relay){"closed": (*relay.Relay).Down, "silent": (*relay.Relay).Freeze} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := testURL(t)
			hop := relay.New(t, url)
			a := newReplica(t, url, replicaOptions{})
			b := newReplica(t, url, replicaOptions{listenURL: hop.URL})
			start(t, b.revocations.Run)
			session, person, untouched := claimsOf(KindAccess), claimsOf(KindAccess), claimsOf(KindAccess)
			var raws []string
			for _, c := range []Claims{session, person, untouched} {
				raw := a.issue(t, KindAccess, c)
				b.accepts(t, raw)
				raws = append(raws, raw)
			}
			caller, err := b.verifier.Verify(t.Context(), raws[0])
			if err != nil {
				t.Fatal(err)
			}
			ended, cancel := b.revocations.Watch(caller)
			defer cancel()

			cut(hop)
			began := time.Now()
			a.publish(t, Revocation{Ended: session.Session.UUID}, Revocation{Person: person.Person, Epoch: person.Epoch + 1})
			untilRefused(t, b, raws[0], ErrEnded)
			untilRefused(t, b, raws[1], ErrEnded)
			within(t, ended)
			took := time.Since(began)
			t.Logf("revocation reached the replica in %s", took)
			if took > time.Second {
				t.Errorf("it took %s", took)
			}
			b.accepts(t, raws[2])

			hop.Up()
			poll.Until(t, "the listener is confirmed again", func() bool { return b.listener.ConfirmedWithin(confirmLimit) })
			if _, err := b.verifier.Verify(t.Context(), raws[0]); !errors.Is(err, ErrEnded) {
				t.Errorf("after the connection came back: %v", err)
			}
			b.revocations.mu.RLock()
			defer b.revocations.mu.RUnlock()
			if !b.revocations.holds(session.Session.UUID, id.Person{}, 0) {
				t.Error("the reconnected listener did not load the missed revocation")
			}
		})
	}
}

// TestNoRevocationSource: without listener and database no access token is accepted, except by the routes that are served in an outage.
func TestNoRevocationSource(t *testing.T) {
	t.Parallel()
	r := newReplica(t, testURL(t), replicaOptions{})
	raw, reservation := r.issue(t, KindAccess, claimsOf(KindAccess)), r.issue(t, KindReservation, claimsOf(KindReservation))
	r.accepts(t, raw)
	outage, signedOut := context.WithValue(t.Context(), outageKey{}, true), claimsOf(KindAccess)
	r.publish(t, Revocation{Ended: signedOut.Session.UUID})
	if _, err := r.verifier.Verify(outage, r.issue(t, KindAccess, signedOut)); !errors.Is(err, ErrEnded) {
		t.Errorf("such a route, while the database answers: %v, want %v", err, ErrEnded)
	}
	r.db.Close()
	if _, err := r.verifier.Verify(outage, raw); err != nil {
		t.Errorf("such a route in the outage: %v", err)
	}
	if _, err := r.verifier.Verify(t.Context(), raw); err == nil || errors.Is(err, ErrEnded) || errors.Is(err, ErrInvalid) {
		t.Errorf("Verify = %v, want the database's error", err)
	}
	r.accepts(t, reservation)
}

func TestWatch(t *testing.T) {
	t.Parallel()
	r := newListeningReplica(t)
	claims := claimsOf(KindAccess)
	caller, err := r.verifier.Verify(t.Context(), r.issue(t, KindAccess, claims))
	if err != nil {
		t.Fatal(err)
	}
	later := caller
	later.Session, later.Epoch = id.New[id.Session](), claims.Epoch+1
	bySession, cancel1 := r.revocations.Watch(caller)
	again, cancel2 := r.revocations.Watch(caller)
	byLaterEpoch, cancel3 := r.revocations.Watch(later)
	cancelled, cancel4 := r.revocations.Watch(caller)
	cancel4()
	r.publish(t, Revocation{Ended: caller.Session.UUID})
	within(t, bySession)
	within(t, again)
	alreadyEnded, cancel5 := r.revocations.Watch(caller)
	within(t, alreadyEnded)

	other := caller
	other.Session = id.New[id.Session]()
	byEpoch, cancel6 := r.revocations.Watch(other)
	r.publish(t, Revocation{Person: caller.Person, Epoch: claims.Epoch + 1})
	within(t, byEpoch)
	for name, ch := range map[string]<-chan struct{}{"a watcher of a later epoch": byLaterEpoch, "a cancelled watcher": cancelled} {
		select {
		case <-ch:
			t.Errorf("%s was notified", name)
		default:
		}
	}
	for _, cancel := range []func(){cancel1, cancel2, cancel3, cancel5, cancel6, cancel3} {
		cancel()
	}
	if n := len(r.revocations.watchers.uids) + len(r.revocations.watchers.persons); n != 0 {
		t.Errorf("%d lists of watchers are left", n)
	}
	if ch, cancel := r.revocations.Watch(Caller{Kind: KindReservation}); ch != nil || cancel == nil {
		t.Error("Watch of a reservation token returned a channel")
	}
}

// within fails the test when ch is not closed within a second.
func within(t *testing.T, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(time.Second):
		t.Error("the watcher was not notified within a second")
	}
}

func TestCleanRevocations(t *testing.T) {
	t.Parallel()
	clk := clock.New()
	url := testURL(t)
	r := newReplica(t, url, replicaOptions{listenURL: url, now: clk.Now})
	early, late := Revocation{Ended: uuid.New()}, Revocation{Person: id.New[id.Person](), Epoch: 2}
	r.publish(t, early)
	clk.Advance(time.Hour)
	r.publish(t, late)
	left := func() string {
		if err := r.revocations.Clean(t.Context()); err != nil {
			t.Fatal(err)
		}
		var rows int
		if err := r.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM revocations`).Scan(&rows); err != nil {
			t.Fatal(err)
		}
		r.revocations.mu.RLock()
		defer r.revocations.mu.RUnlock()
		return fmt.Sprint(rows, len(r.revocations.ended), len(r.revocations.persons))
	}
	poll.Until(t, "the revocations are in the table and in memory", func() bool { return left() == "2 1 1" })
	clk.Advance(revocationLeeway + 2*time.Second) // times in memory are rounded to seconds
	if got := left(); got != "1 0 1" {
		t.Errorf("rows, sessions, persons after the first expired: %s", got)
	}
	clk.Advance(time.Hour)
	if got := left(); got != "0 0 0" {
		t.Errorf("rows, sessions, persons after both expired: %s", got)
	}
}

func TestNotices(t *testing.T) {
	t.Parallel()
	expires := clock.New().Now()
	var want []Revocation
	for i := range 2*noticeEntries + 1 {
		want = append(want, Revocation{Person: id.New[id.Person](), Epoch: int64(1<<62) + int64(i)})
	}
	want = append(want, Revocation{Ended: uuid.New()})
	var got []Revocation
	for _, n := range notices(expires, want) {
		if len(n) > 7999 {
			t.Errorf("a notice has %d bytes", len(n))
		}
		at, _, entries, err := parseNotice(n)
		if err != nil || at.Before(expires) || at.After(expires.Add(time.Second)) {
			t.Fatalf("parseNotice = %v, %v", at, err)
		}
		got = append(got, entries...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzNotice(f *testing.F) {
	f.Add(notices(time.Unix(1, 0), []Revocation{{Ended: uuid.New()}, {Person: id.New[id.Person](), Epoch: -1}})[0])
	f.Add("")
	f.Add("1 x")
	f.Add("1 pabc:1")
	f.Fuzz(func(t *testing.T, notice string) {
		if _, _, entries, err := parseNotice(notice); err != nil && entries != nil {
			t.Fatalf("%q gave %+v and %v", notice, entries, err)
		}
	})
}
