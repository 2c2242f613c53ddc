package token

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
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
		eventually(t, 10*time.Second, func() bool { return r.listener.ConfirmedWithin(time.Second) })
	}
	if err := r.ring.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
	return r
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

// eventually polls until ok returns true. It returns the time that took.
func eventually(t testing.TB, limit time.Duration, ok func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for tick := time.NewTicker(2 * time.Millisecond); ; {
		if ok() {
			tick.Stop()
			return time.Since(began)
		}
		if time.Since(began) > limit {
			t.Fatalf("did not happen within %s", limit)
		}
		<-tick.C
	}
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

// relay forwards TCP connections to a Postgres, until it is told to fail.
type relay struct {
	listener      net.Listener
	network, addr string

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	cut    bool
	frozen chan struct{} // closed while bytes flow
}

// newRelay returns a relay to the database at url, and the URL that leads through it.
func newRelay(t testing.TB, dsn string) (*relay, string) {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: l, conns: map[net.Conn]struct{}{}, frozen: make(chan struct{})}
	close(r.frozen)
	r.network, r.addr = pgconn.NetworkAddress(cfg.Host, cfg.Port)
	go r.accept()
	t.Cleanup(func() {
		l.Close()
		r.Cut(true)
		r.Freeze(false)
	})
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(cfg.User, cfg.Password), Path: cfg.Database,
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(l.Addr().(*net.TCPAddr).Port)),
		RawQuery: "sslmode=disable",
	}
	return r, u.String()
}

func (r *relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		var d net.Dialer
		server, err := d.DialContext(context.Background(), r.network, r.addr)
		if err != nil || !r.keep(client, server) {
			client.Close()
			if server != nil {
				server.Close()
			}
			continue
		}
		go r.pipe(client, server)
		go r.pipe(server, client)
	}
}

func (r *relay) keep(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut {
		return false
	}
	for _, c := range conns {
		r.conns[c] = struct{}{}
	}
	return true
}

func (r *relay) pipe(to io.WriteCloser, from io.ReadCloser) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		r.mu.Lock()
		gate := r.frozen
		r.mu.Unlock()
		<-gate
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

// Cut drops all connections and refuses new ones, or lets them in again.
func (r *relay) Cut(cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = cut
	if cut {
		for c := range r.conns {
			c.Close()
			delete(r.conns, c)
		}
	}
}

// Freeze holds back every byte without closing anything, as a router does that lost its way; or lets them flow again.
func (r *relay) Freeze(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.frozen:
		if on {
			r.frozen = make(chan struct{})
		}
	default:
		if !on {
			close(r.frozen)
		}
	}
}

func testURL(t testing.TB) string {
	t.Helper()
	return pgtest.URL(t)
}
