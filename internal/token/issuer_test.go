package token

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/testkit/clock"
)

// TestPreload: the caller that the issuer puts into the verifier's cache is the one that verification returns.
func TestPreload(t *testing.T) {
	t.Parallel()
	clk := clock.New()
	r := newReplica(t, testURL(t), replicaOptions{now: clk.Now})
	r.issuer.Preload(r.verifier)
	uncached := NewVerifier(r.ring, testIssuer, testNamespace, r.revocations, clk.Now)
	now := clk.Now()
	berlin := time.FixedZone("CET", 3600)
	for name, claims := range map[string]Claims{
		"full": {
			Organization: id.New[id.Organization](), Roles: []string{"Organization.Admin"}, AuthLevel: 2, JTI: id.New[id.Token](),
			AuthTime: now.Add(-time.Hour + 300*time.Millisecond), ExpiresAt: now.In(berlin).Add(time.Hour + time.Millisecond),
			IssuedAt: now.In(berlin),
			Email:    `"Ann" <&>\u2028` + "\u2028@\ufffd.example\x01", EmailVerified: true, Locale: "de_DE", ZoneInfo: "Europe/Berlin",
			Epoch:       1<<53 - 1,
			SetPassword: true, FactorRequired: true, Authenticators: []string{"totp"}, Nonce: "client \\ state", State: "form state",
		},
		"minimal": {State: "s"},
		"empty":   {State: "s", Roles: []string{}, Authenticators: []string{}},
	} {
		claims.Person, claims.Session = id.New[id.Person](), id.New[id.Session]()
		claims.Reservation, claims.Delivery = id.New[id.Reservation](), id.New[id.Delivery]()
		for _, k := range []Kind{KindID, KindMFA, KindAccess, KindPickup, KindPreflight, KindReservation, KindDownload} {
			raw := r.issue(t, k, claims)
			cached, ok := r.verifier.cache.get(raw, r.ring.generation.Load())
			if !ok {
				t.Errorf("%s %s: not in the cache", name, k)
				continue
			}
			verified, err := uncached.Verify(t.Context(), raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(verified, cached, cmp.Comparer(sameClient)); diff != "" {
				t.Errorf("%s %s (-verified +cached):\n%s", name, k, diff)
			}
			if got, err := r.verifier.Verify(t.Context(), raw); err != nil || got.Raw != raw {
				t.Errorf("%s %s: %v", name, k, err)
			}
		}
	}

	person := id.New[id.Person]()
	session := id.New[id.Session]()
	for name, raw := range map[string]string{
		"that lives for years": r.issue(t, KindUID, Claims{Person: person}),
		"with invalid UTF-8":   r.issue(t, KindPickup, Claims{Person: person, Session: session, Nonce: "\xff"}),
		"not yet valid":        r.issue(t, KindAccess, Claims{Person: person, Session: session, IssuedAt: now.Add(31 * time.Second)}),
	} {
		if _, ok := r.verifier.cache.get(raw, r.ring.generation.Load()); ok {
			t.Errorf("a token %s is in the cache", name)
		}
	}

	roles := []string{"Organization.Admin"}
	raw := r.issue(t, KindAccess, Claims{Person: person, Session: session, Roles: roles})
	roles[0] = "changed by the caller of Issue"
	if c, err := r.verifier.Verify(t.Context(), raw); err != nil || !c.Has("Organization.Admin") {
		t.Errorf("roles %q, %v", c.Roles, err)
	}
	if err := r.revocations.Publish(t.Context(), r.db.Pool, Revocation{Ended: session.UUID}); err != nil {
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

// TestPreloadForeignVerifier: a verifier of another issuer would accept tokens that are not meant for it.
func TestPreloadForeignVerifier(t *testing.T) {
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
					t.Errorf("Preload accepts a verifier of another %s", name)
				}
			}()
			r.issuer.Preload(v)
		}()
	}
}
