// The service, clock and people of the tests of this package.

package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/hosts"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/postgres"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/jobs"
	"github.com/consign-dev/consign/internal/mail"
	passwords "github.com/consign-dev/consign/internal/password"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/testkit/clock"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/token"
)

const password = "correct horse battery"

// kit is the identity service with its own database, without HTTP. It is for races; other tests use HTTP, in package
// handler_test.
type kit struct {
	*service.Service
	t        testing.TB
	url      string
	db       *database.DB
	store    *postgres.Store
	verifier *token.Verifier
	box      seal.Box
	host     hosts.Host
	post     *postbox
	clock    *clock.Manual
	deleted  atomic.Int64 // calls of PersonDeleted
}

// PersonDeleted, PersonErased, OrganizationDeleted and MembershipChanged implement service.IdentityHooks.
func (k *kit) PersonDeleted(context.Context, database.Tx, id.Person, int) (mailbox string, received, sent int, err error) {
	k.deleted.Add(1)
	return "", 0, 0, nil
}
func (k *kit) PersonErased(context.Context, database.Tx, id.Person, bool) (key string, err error) {
	return "", nil
}
func (k *kit) OrganizationDeleted(context.Context, database.Tx, id.Organization) error { return nil }
func (k *kit) MembershipChanged(context.Context, database.Tx, ...id.Person) error      { return nil }

// RestoreAdminunit implements service.IdentityHooks.
func (k *kit) RestoreAdminunit(context.Context, database.Tx, id.Organization, json.RawMessage) error {
	return nil
}

// MailboxOwner implements service.IdentityHooks.
func (k *kit) MailboxOwner(context.Context, token.Caller, string) (id.Person, error) {
	return id.Person{}, nil
}

// postbox is a mail.Transport that keeps the links of sent mails.
type postbox struct {
	mu    sync.Mutex
	links map[string][]string // by address
}

// Send implements mail.Transport.
func (p *postbox) Send(_ context.Context, e mail.Envelope) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.links[e.To] = append(p.links[e.To], e.Links...)
	return "250 taken", nil
}

// key waits for the nth mail to address with a link below path, and returns the key in the link.
func (k *kit) key(address, path string, n int) string {
	k.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		k.post.mu.Lock()
		found := 0
		for _, l := range k.post.links[address] {
			if _, key, ok := strings.Cut(l, path); ok {
				if found++; found == n {
					k.post.mu.Unlock()
					return key
				}
			}
		}
		k.post.mu.Unlock()
	}
	k.t.Fatalf("no mail number %d with %s came to %s", n, path, address)
	return ""
}

func newKit(t testing.TB, change ...func(*service.Settings)) *kit {
	t.Helper()
	return openKit(t, pgtest.URL(t), testSealer(t, "k", ""), change...)
}

// newKitOn returns another replica that uses the database of first.
func newKitOn(t testing.TB, first *kit, change ...func(*service.Settings)) *kit {
	t.Helper()
	return openKit(t, first.url, testSealer(t, "k", ""), change...)
}

// testSealer returns a sealer whose keys repeat one letter each. previous may be empty.
func testSealer(t testing.TB, secret, previous string) *seal.Sealer {
	t.Helper()
	sealer, err := seal.New(bytes.Repeat([]byte(secret), 32), bytes.Repeat([]byte(previous), 32))
	must(t, err)
	return sealer
}

func openKit(t testing.TB, dsn string, sealer *seal.Sealer, change ...func(*service.Settings)) *kit {
	t.Helper()
	k := &kit{t: t, url: dsn, post: &postbox{links: map[string][]string{}}, clock: clock.At(time.Now().Truncate(time.Second).UTC())}
	log := slog.New(slog.DiscardHandler)
	db, err := database.New(t.Context(), dsn, 24)
	must(t, err)
	t.Cleanup(db.Close)
	k.db, k.store = db, postgres.New(db)
	k.box = sealer.Box("totp")
	catalog, err := i18n.New()
	must(t, err)
	public, err := url.Parse("http://localhost:8080")
	must(t, err)
	life := token.Lifetimes{
		ID: 720 * time.Hour, Signup: time.Hour, MFA: 5 * time.Minute, Access: 10 * time.Minute, Pickup: time.Minute,
		Preflight: 10 * time.Minute, Reservation: 48 * time.Hour, Download: time.Hour,
	}
	ring := token.NewKeyRing(db, sealer, token.KeyPolicy{Lead: time.Hour, Lifetime: 720 * time.Hour, LongestToken: life.Longest()},
		k.clock.Now, log)
	must(t, ring.Ensure(t.Context()))
	revocations := token.NewRevocations(db, nil, time.Hour, k.clock.Now, log)
	const issuer, namespace = "http://localhost:8080/id/v3", "https://consign.dev/"
	k.verifier = token.NewVerifier(ring, issuer, namespace, revocations, k.clock.Now)
	runner := jobs.New(db, jobs.Options{
		Log: log, NoPeriodic: true, Workers: 8, PollInterval: 5 * time.Second, JobTimeout: 2 * time.Minute, StopWithin: 10 * time.Second,
	})
	mailer, err := mail.New(db, runner, sealer, catalog, k.post, mail.Options{From: "consign@example.com", ProductName: "Consign"},
		k.clock.Now, log)
	must(t, err)
	hasher, err := passwords.New(4, 0)
	must(t, err)
	settings := service.Settings{
		NewTransfers: ratelimit.Limit{Capacity: 20, PerSecond: ratelimit.Every(time.Minute)},
		PublicURL:    public, ProductName: "Consign", VerificationKey: 24 * time.Hour, ResetKey: time.Hour,
		UnverifiedEmail: 7 * 24 * time.Hour, SetPassword: 15 * time.Minute, SessionIdle: 30 * 24 * time.Hour, PasswordMinimum: 12,
		Device: 365 * 24 * time.Hour, YoungSession: 15 * time.Minute, RecentEmail: 180 * 24 * time.Hour,
	}
	for _, c := range change {
		c(&settings)
	}
	directory := hosts.New(func(ctx context.Context, name string) (hosts.Host, error) {
		return service.ResolveHost(ctx, k.store, name)
	}, public, time.Minute, k.clock.Now)
	k.Service = service.New(service.Options{
		Store: k.store, Issuer: token.NewIssuer(ring, issuer, namespace, life, k.clock.Now), Revocations: revocations, Mailer: mailer,
		Jobs: runner, Sealer: sealer, Hosts: directory, Hasher: hasher, Hooks: k, Settings: settings, Now: k.clock.Now, Log: log,
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- runner.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	must(t, k.Bootstrap(t.Context()))
	k.host, err = service.ResolveHost(t.Context(), k.store, "localhost")
	must(t, err)
	return k
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (k *kit) client() token.Client {
	return token.Client{Address: netip.MustParseAddr("203.0.113.7"), UserAgent: "test", Host: k.host}
}

// caller returns the verified caller of a token.
func (k *kit) caller(raw string) token.Caller {
	k.t.Helper()
	c, err := k.verifier.Verify(k.t.Context(), raw)
	must(k.t, err)
	c.Client = k.client()
	return c
}

// access returns the caller of a new access token.
func (k *kit) access(idToken string) token.Caller {
	k.t.Helper()
	a, err := k.IssueAccess(k.t.Context(), k.caller(idToken))
	must(k.t, err)
	return k.caller(a.Token)
}

// signUp registers a person and returns the signup token.
func (k *kit) signUp(address string) string {
	k.t.Helper()
	signedIn, err := k.SignUp(k.t.Context(), k.client(), service.NewAccount{Address: address, Password: password, Name: "Ann"})
	must(k.t, err)
	return signedIn.Token
}

// person registers a person, confirms the address and returns the ID token.
func (k *kit) person(address string) string {
	k.t.Helper()
	raw, err := k.ConfirmEmail(k.t.Context(), k.access(k.signUp(address)), k.key(address, "/confirm/", 1))
	must(k.t, err)
	return raw
}

func (k *kit) login(address, kind, key string, mfa string) (string, error) {
	k.t.Helper()
	c := service.Credentials{Email: address, Type: kind, Key: key}
	if mfa != "" {
		caller := k.caller(mfa)
		c.MFA = &caller
	}
	checked, err := c.Check()
	must(k.t, err)
	signedIn, err := k.Login(k.t.Context(), k.client(), checked)
	return signedIn.Token, err
}

// totp stores a verified TOTP authenticator and returns its secret.
func (k *kit) totp(p id.Person) []byte {
	k.t.Helper()
	uid, secret := id.New[id.Authenticator](), credential.NewTOTPSecret()
	must(k.t, k.store.InsertTOTP(k.t.Context(), p, uid, "", k.box.Seal(secret, uid.UUID[:]), true, k.clock.Now()))
	return secret
}

// once calls fn n times concurrently. One call must succeed, and the others fail with one of refusals.
func once(t *testing.T, n int, fn func() error, refusals ...error) {
	t.Helper()
	if won := race(t, n, fn, refusals...); won != 1 {
		t.Errorf("%d of %d concurrent calls succeeded, want 1", won, n)
	}
}

// race calls fn n times concurrently and returns how many calls succeeded. The others must fail with one of refusals.
func race(t *testing.T, n int, fn func() error, refusals ...error) int {
	t.Helper()
	start, errs := make(chan struct{}), make(chan error, n)
	for range n {
		go func() {
			<-start
			errs <- fn()
		}()
	}
	close(start)
	won := 0
	for range n {
		err := <-errs
		if err == nil {
			won++
			continue
		}
		expected := false
		for _, r := range refusals {
			expected = expected || errors.Is(err, r)
		}
		if !expected {
			t.Errorf("unexpected error %v", err)
		}
	}
	return won
}
