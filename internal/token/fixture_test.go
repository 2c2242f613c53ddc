// The replicas of the tests of this package: each has a key ring, an issuer, a verifier and revocations.

package token

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/poll"
)

const (
	testIssuer    = "https://consign.test/id/v3"
	testNamespace = "https://ns.test/"
)

var testLifetimes = Lifetimes{
	ID: 30 * 24 * time.Hour, Signup: time.Hour, MFA: 5 * time.Minute, Access: 10 * time.Minute, Pickup: time.Minute,
	Preflight: 10 * time.Minute, Reservation: 48 * time.Hour, Download: time.Hour,
}

var testPolicy = KeyPolicy{Lead: time.Hour, Lifetime: 30 * 24 * time.Hour, LongestToken: testLifetimes.Longest()}

func testSealer(t testing.TB, secret byte, previous ...byte) *seal.Sealer {
	t.Helper()
	s, err := seal.New(bytes.Repeat([]byte{secret}, 32), bytes.Repeat(previous, 32))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// replica holds the parts of this package that one server has.
type replica struct {
	db          *database.DB
	ring        *KeyRing
	issuer      *Issuer
	verifier    *Verifier
	revocations *Revocations
	listener    *database.Listener // nil: no notifications
}

type replicaOptions struct {
	listenURL string // empty: without a listener
	policy    KeyPolicy
	now       func() time.Time
}

// newReplica starts a replica on the database at url.
func newReplica(t testing.TB, url string, o replicaOptions) *replica {
	t.Helper()
	ctx := t.Context()
	if o.policy == (KeyPolicy{}) {
		o.policy = testPolicy
	}
	if o.now == nil {
		o.now = time.Now
	}
	db, err := database.New(ctx, url, 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	log := slog.New(slog.DiscardHandler)
	r := &replica{db: db}
	if o.listenURL != "" {
		r.listener = database.NewListener(o.listenURL, log, time.Now)
	}
	r.ring = NewKeyRing(db, testSealer(t, 1), o.policy, o.now, log)
	r.revocations = NewRevocations(db, r.listener, testLifetimes.Download, o.now, log)
	r.issuer = NewIssuer(r.ring, testIssuer, testNamespace, testLifetimes, o.now)
	r.verifier = NewVerifier(r.ring, testIssuer, testNamespace, r.revocations, o.now)
	if r.listener != nil {
		r.ring.Listen(r.listener)
		start(t, r.listener.Run)
		poll.Until(t, "the listener is confirmed", func() bool { return r.listener.ConfirmedWithin(time.Second) })
	}
	if err := r.ring.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	return r
}

// newListeningReplica returns a replica with a listener, on a database of its own.
func newListeningReplica(t testing.TB) *replica {
	t.Helper()
	url := testURL(t)
	return newReplica(t, url, replicaOptions{listenURL: url})
}

// start runs run in the background until the test ends.
func start(t testing.TB, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

func (r *replica) issue(t testing.TB, k Kind, c Claims) string {
	t.Helper()
	raw, err := r.issuer.Issue(t.Context(), k, c)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func (r *replica) publish(t testing.TB, entries ...Revocation) {
	t.Helper()
	if err := r.revocations.Publish(t.Context(), r.db.Pool, entries...); err != nil {
		t.Fatal(err)
	}
}

// claimsOf returns valid claims for a token of kind k.
func claimsOf(k Kind) Claims {
	switch k {
	case KindReservation:
		return Claims{Reservation: id.New[id.Reservation]()}
	case KindDownload:
		return Claims{Delivery: id.New[id.Delivery]()}
	case KindPreflight:
		return Claims{State: "state of the form"}
	}
	return Claims{
		Person: id.New[id.Person](), Session: id.New[id.Session](), Roles: []string{"Service.Transfer.Use"},
		AuthLevel: 1, Email: "ann@example.com", Epoch: 3,
	}
}

var allKinds = []Kind{KindID, KindMFA, KindAccess, KindPickup, KindPreflight, KindUID, KindReservation, KindDownload}

func testURL(t testing.TB) string {
	t.Helper()
	return pgtest.URL(t)
}
