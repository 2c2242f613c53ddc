package token

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/clock"
)

// TestInformedVerifier: what a verifier is told of a token that was signed here is what it would have read from it.
func TestInformedVerifier(t *testing.T) {
	t.Parallel()
	clk := clock.New()
	r := newReplica(t, testURL(t), replicaOptions{now: clk.Now})
	r.issuer.Inform(r.verifier)
	stranger := NewVerifier(r.ring, testIssuer, testNamespace, r.revocations, clk.Now)
	now := clk.Now()
	berlin := time.FixedZone("CET", 3600)
	for name, claims := range map[string]Claims{
		"full": {
			Organization: id.New[id.Organization](), Roles: []string{"Organization.Admin"}, AuthLevel: 2, JTI: id.New[id.Token](),
			AuthTime: now.Add(-time.Hour + 300*time.Millisecond), ExpiresAt: now.In(berlin).Add(time.Hour + time.Millisecond), IssuedAt: now.In(berlin),
			Email: `"Ann" <&>\u2028` + "\u2028@\ufffd.example\x01", EmailVerified: true, Locale: "de_DE", ZoneInfo: "Europe/Berlin", Epoch: 1<<53 - 1,
			SetPassword: true, FactorRequired: true, Authenticators: []string{"totp"}, Nonce: "client \\ state", State: "form state",
		},
		"little": {State: "s"},
		"empty":  {State: "s", Roles: []string{}, Authenticators: []string{}},
	} {
		claims.Person, claims.Session = id.New[id.Person](), id.New[id.Session]()
		claims.Reservation, claims.Delivery = id.New[id.Reservation](), id.New[id.Delivery]()
		for _, k := range []Kind{KindID, KindMFA, KindAccess, KindPickup, KindPreflight, KindReservation, KindDownload} {
			raw := r.issue(t, k, claims)
			told, ok := r.verifier.cache.get(raw, r.ring.generation.Load())
			if !ok {
				t.Errorf("%s %s: not known", name, k)
				continue
			}
			read, err := stranger.Verify(t.Context(), raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(read, told, cmp.Comparer(sameClient)); diff != "" {
				t.Errorf("%s %s (-read +told):\n%s", name, k, diff)
			}
			if got, err := r.verifier.Verify(t.Context(), raw); err != nil || got.Raw != raw {
				t.Errorf("%s %s: %v", name, k, err)
			}
		}
	}

	known := func(raw string) bool {
		_, ok := r.verifier.cache.get(raw, r.ring.generation.Load())
		return ok
	}
	someone := id.New[id.Person]()
	session := id.New[id.Session]()
	for name, raw := range map[string]string{
		"of years":      r.issue(t, KindUID, Claims{Person: someone}),
		"not text":      r.issue(t, KindPickup, Claims{Person: someone, Session: session, Nonce: "\xff"}),
		"not yet valid": r.issue(t, KindAccess, Claims{Person: someone, Session: session, IssuedAt: now.Add(31 * time.Second)}),
	} {
		if known(raw) {
			t.Errorf("the token %s is known", name)
		}
	}

	roles := []string{"Organization.Admin"}
	raw := r.issue(t, KindAccess, Claims{Person: someone, Session: session, Roles: roles})
	roles[0] = "changed by the one who asked for the token"
	if c, err := r.verifier.Verify(t.Context(), raw); err != nil || !c.Has("Organization.Admin") {
		t.Errorf("roles %q, %v", c.Roles, err)
	}
	if err := r.revocations.Publish(t.Context(), r.db.Pool, Revocation{Session: session}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.verifier.Verify(t.Context(), raw); !errors.Is(err, ErrEnded) {
		t.Errorf("a token of an ended session: %v", err)
	}
	raw = r.issue(t, KindReservation, claimsOf(KindReservation))
	if err := r.ring.Revoke(t.Context(), r.ring.current(purposeSession).KID); err != nil {
		t.Fatal(err)
	}
	if _, err := r.verifier.Verify(t.Context(), raw); !errors.Is(err, ErrInvalid) {
		t.Errorf("a token of a revoked key: %v", err)
	}
}

// TestInformsItsOwn: a verifier of another issuer would believe what is not meant for it.
func TestInformsItsOwn(t *testing.T) {
	t.Parallel()
	r := newReplica(t, testURL(t), replicaOptions{})
	for name, v := range map[string]*Verifier{
		"issuer":    NewVerifier(r.ring, "https://other.test/id/v3", testNamespace, r.revocations, time.Now),
		"namespace": NewVerifier(r.ring, testIssuer, "https://other.test/", r.revocations, time.Now),
		"ring":      NewVerifier(&KeyRing{}, testIssuer, testNamespace, r.revocations, time.Now),
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("informs a verifier of another %s", name)
				}
			}()
			r.issuer.Inform(v)
		}()
	}
}
