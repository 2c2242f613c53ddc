package token

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/testkit/clock"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	p := KeyPolicy{Lead: time.Hour, Lifetime: 30 * 24 * time.Hour}
	now := clock.New().Now()
	key := func(kid string, from, until time.Duration) Key {
		return Key{KID: kid, SignsFrom: now.Add(from), SignsUntil: now.Add(until)}
	}
	for name, tc := range map[string]struct {
		keys []Key
		want step
	}{
		"none at all":           {nil, step{from: now.Add(-clockSkew)}},
		"one that is young":     {[]Key{key("a", -time.Hour, 48*time.Hour)}, step{}},
		"one about to end":      {[]Key{key("a", -time.Hour, 70*time.Minute)}, step{from: now.Add(70 * time.Minute)}},
		"the job came late":     {[]Key{key("a", -time.Hour, 20*time.Minute)}, step{from: now.Add(time.Hour), extend: "a"}},
		"successor is there":    {[]Key{key("a", -time.Hour, 20*time.Minute), key("b", 20*time.Minute, 48*time.Hour)}, step{}},
		"only a successor":      {[]Key{key("b", 20*time.Minute, 48*time.Hour)}, step{from: now.Add(-clockSkew)}},
		"both about to end":     {[]Key{key("a", -time.Hour, 10*time.Minute), key("b", 10*time.Minute, time.Hour)}, step{from: now.Add(time.Hour)}},
		"begins in this moment": {[]Key{key("a", 0, 48*time.Hour)}, step{}},
	} {
		if got := p.plan(tc.keys, now); got != tc.want {
			t.Errorf("%s: plan = %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestRotation lets months pass on two replicas without notifications. At every step the first issues; the second, which
// learns of new keys only from tokens, must accept all that live.
func TestRotation(t *testing.T) {
	t.Parallel()
	clk := clock.New()
	url := testURL(t)
	policy := KeyPolicy{Lead: time.Hour, Lifetime: 8 * time.Hour, LongestToken: 2 * time.Hour}
	a := newReplica(t, url, replicaOptions{now: clk.Now, policy: policy})
	b := newReplica(t, url, replicaOptions{now: clk.Now, policy: policy})

	published := map[string]time.Time{}
	signed := map[string]bool{}
	var living []string
	for range 4 * 40 { // 40 hours by quarters
		if err := a.ring.Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, k := range a.ring.JWKS().Keys {
			if _, ok := published[k.KID]; !ok {
				published[k.KID] = clk.Now()
			}
		}
		c := claimsOf(KindReservation)
		c.ExpiresAt = clk.Now().Add(policy.LongestToken)
		raw := a.issue(t, KindReservation, c)
		kid, _ := decode(t, raw, 0)["kid"].(string)
		if len(signed) > 0 && !signed[kid] && clk.Now().Sub(published[kid]) < policy.Lead {
			t.Errorf("key %s signs %s after it was published", kid, clk.Now().Sub(published[kid]))
		}
		signed[kid] = true
		living = append(living, raw)
		if len(living) > 8 { // 8 quarters are two hours
			living = living[1:]
		}
		for _, raw := range living {
			if _, err := b.verifier.Verify(t.Context(), raw); err != nil {
				t.Fatalf("at %s: %v", clk.Now(), err)
			}
		}
		clk.Advance(15 * time.Minute)
	}
	if len(signed) < 5 {
		t.Errorf("only %d keys signed in 40 hours", len(signed))
	}
	session := 0
	keys, err := a.ring.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if k.Purpose == string(purposeSession) {
			session++
		}
		if k.SignsUntil.Before(clk.Now().Add(-2*time.Hour)) && k.private != nil {
			t.Errorf("the private part of %s is still there", k.KID)
		}
	}
	if session > 3 {
		t.Errorf("%d session keys are left, expired ones should be deleted", session)
	}
}

// TestRotationUnderLoad lets keys of half a second follow each other on two replicas that issue for each other.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	url := testURL(t)
	policy := KeyPolicy{Lead: 200 * time.Millisecond, Lifetime: 500 * time.Millisecond, LongestToken: testLifetimes.Longest()}
	a := newReplica(t, url, replicaOptions{listenURL: url, policy: policy})
	b := newReplica(t, url, replicaOptions{listenURL: url, policy: policy})
	until := time.Now().Add(2500 * time.Millisecond)
	var wg sync.WaitGroup
	for _, pair := range [][2]*replica{{a, b}, {b, a}, {a, a}} {
		wg.Go(func() {
			claims := claimsOf(KindAccess)
			for time.Now().Before(until) {
				raw, err := pair[0].issuer.Issue(context.Background(), KindAccess, claims)
				if err == nil {
					_, err = pair[1].verifier.Verify(context.Background(), raw)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Go(func() {
		for time.Now().Before(until) {
			for _, job := range []func(context.Context) error{a.ring.Ensure, b.ring.Ensure} {
				if err := job(context.Background()); err != nil {
					t.Error(err)
				}
			}
			if _, err := b.ring.Reseal(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	keys, err := a.ring.List(t.Context())
	if err != nil || len(keys) < 2*4 {
		t.Errorf("%d keys in 2.5 s, %v", len(keys), err)
	}
}

func TestStandstill(t *testing.T) {
	t.Parallel()
	clk := clock.New()
	r := newReplica(t, testURL(t), replicaOptions{now: clk.Now})
	clk.Advance(365 * 24 * time.Hour) // no job ran
	if _, err := r.verifier.Verify(t.Context(), r.issue(t, KindID, claimsOf(KindID))); err != nil {
		t.Errorf("after a year: %v", err)
	}
}

func TestFirstStartOfMany(t *testing.T) {
	t.Parallel()
	url := testURL(t)
	r := newReplica(t, url, replicaOptions{})
	if _, err := r.db.Pool.Exec(t.Context(), `DELETE FROM signing_keys`); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			ring := NewKeyRing(r.db, testSealer(t, 1), testPolicy, time.Now, r.ring.log)
			if err := ring.Ensure(context.Background()); err != nil {
				t.Error(err)
			}
			if n := len(ring.JWKS().Keys); n != len(purposes) {
				t.Errorf("a replica has %d keys", n)
			}
		})
	}
	wg.Wait()
	keys, err := r.ring.List(t.Context())
	if err != nil || len(keys) != len(purposes) {
		t.Errorf("%d keys were made, %v", len(keys), err)
	}
}

// TestEnsureAgain: with nothing to do it waits for no other writer.
func TestEnsureAgain(t *testing.T) {
	t.Parallel()
	r := newReplica(t, testURL(t), replicaOptions{})
	err := r.db.InTx(t.Context(), func(tx database.Tx) error {
		if _, err := tx.Exec(t.Context(), `LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return r.ring.Ensure(ctx)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestRotateByHand(t *testing.T) {
	t.Parallel()
	clk := clock.New()
	r := newReplica(t, testURL(t), replicaOptions{now: clk.Now})
	before := r.ring.current(purposeSession).KID
	k, err := r.ring.Rotate(t.Context())
	if err != nil || k.State(clk.Now()) != "pending" {
		t.Fatalf("Rotate = %+v, %v", k, err)
	}
	if n := len(r.ring.JWKS().Keys); n != 3 {
		t.Errorf("%d keys are published, want the two first and the new", n)
	}
	clk.Advance(time.Hour - time.Second)
	if got := r.ring.current(purposeSession).KID; got != before {
		t.Error("the new key signs before its lead is over")
	}
	clk.Advance(time.Second)
	if got := r.ring.current(purposeSession).KID; got != k.KID {
		t.Error("the new key does not sign after its lead")
	}
}

func TestJWKS(t *testing.T) {
	t.Parallel()
	clk := clock.New()
	r := newReplica(t, testURL(t), replicaOptions{now: clk.Now})
	for _, k := range r.ring.JWKS().Keys {
		if k.KTY != "EC" || k.CRV != "P-256" || k.Use != "sig" || k.Alg != "ES256" || len(k.X) != 43 || len(k.Y) != 43 || len(k.KID) != 32 {
			t.Errorf("key %+v", k)
		}
	}
	clk.Advance(30*24*time.Hour + testPolicy.LongestToken + clockSkew - time.Second)
	if n := len(r.ring.JWKS().Keys); n != 2 {
		t.Errorf("%d keys are published while tokens live, want 2", n)
	}
	clk.Advance(time.Second)
	if n := len(r.ring.JWKS().Keys); n != 1 { // that of uid tokens stays
		t.Errorf("%d keys are published after the last token, want 1", n)
	}
}

func TestPrivatePartsAreSealed(t *testing.T) {
	t.Parallel()
	r := newReplica(t, testURL(t), replicaOptions{})
	key := r.ring.current(purposeSession)
	private, err := key.private.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	var stored []byte
	err = r.db.Pool.QueryRow(t.Context(), `SELECT private_key FROM signing_keys WHERE kid = $1`, key.KID).Scan(&stored)
	if err != nil || bytes.Contains(stored, private) {
		t.Errorf("the private key lies open in the database (%v)", err)
	}
	// Another row's private part does not open, so nobody with write access to the table can swap keys unnoticed.
	if _, err := r.ring.openPrivate("another kid", stored); !errors.Is(err, seal.ErrOpen) {
		t.Errorf("a private part opens in another row: %v", err)
	}
}

func TestReseal(t *testing.T) {
	t.Parallel()
	r := newReplica(t, testURL(t), replicaOptions{})
	raw := r.issue(t, KindReservation, claimsOf(KindReservation))
	ring := func(s *seal.Sealer) *KeyRing { return NewKeyRing(r.db, s, testPolicy, time.Now, r.ring.log) }

	if err := ring(testSealer(t, 2)).Ensure(t.Context()); err == nil {
		t.Error("a server with another secret key starts as if nothing were wrong")
	}
	if _, err := ring(testSealer(t, 2)).Reseal(t.Context()); err == nil {
		t.Error("Reseal without the previous secret key succeeds")
	}
	if _, err := ring(testSealer(t, 2)).Rotate(t.Context()); err == nil {
		t.Error("Rotate with another secret key succeeds")
	}
	if err := r.ring.Ensure(t.Context()); err != nil {
		t.Errorf("after that the servers do not start: %v", err)
	}
	during := ring(testSealer(t, 2, 1))
	if err := during.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := during.Reseal(t.Context()); n != 2 || err != nil {
		t.Fatalf("Reseal = %d, %v", n, err)
	}
	after := ring(testSealer(t, 2))
	if err := after.Ensure(t.Context()); err != nil {
		t.Fatalf("after Reseal the new secret key alone: %v", err)
	}
	v := NewVerifier(after, testIssuer, testNamespace, r.revocations, time.Now)
	if _, err := v.Verify(t.Context(), raw); err != nil {
		t.Errorf("a token from before: %v", err)
	}
	if after.current(purposeSession).KID != r.ring.current(purposeSession).KID {
		t.Error("Reseal changed the key that signs")
	}
	if err := ring(testSealer(t, 1)).Ensure(t.Context()); err == nil {
		t.Error("the old secret key still opens")
	}
}

// TestLostSecret shows the way out when the secret key is gone: revoke what does not open.
func TestLostSecret(t *testing.T) {
	t.Parallel()
	r := newReplica(t, testURL(t), replicaOptions{})
	ring := NewKeyRing(r.db, testSealer(t, 9), testPolicy, time.Now, r.ring.log)
	keys, err := ring.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if err := ring.Revoke(t.Context(), k.KID); err != nil {
			t.Fatal(err)
		}
	}
	if err := ring.Ensure(t.Context()); err != nil {
		t.Errorf("after revoking all: %v", err)
	}
	if ring.current(purposeSession) == nil || ring.current(purposeUID) == nil {
		t.Error("no key can sign")
	}
}

func TestRevokeKey(t *testing.T) {
	t.Parallel()
	url := testURL(t)
	a := newReplica(t, url, replicaOptions{listenURL: url})
	b := newReplica(t, url, replicaOptions{listenURL: url})
	raw := a.issue(t, KindReservation, claimsOf(KindReservation))
	for range 2 { // cached from now on
		if _, err := b.verifier.Verify(t.Context(), raw); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.ring.Revoke(t.Context(), "0123456789abcdef"); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("Revoke of an unknown key: %v", err)
	}
	kid := a.ring.current(purposeSession).KID
	if err := a.ring.Revoke(t.Context(), kid); err != nil {
		t.Fatal(err)
	}
	if _, err := a.verifier.Verify(t.Context(), raw); !errors.Is(err, ErrInvalid) {
		t.Errorf("where it was revoked: %v", err)
	}
	eventually(t, time.Second, func() bool {
		_, err := b.verifier.Verify(t.Context(), raw)
		return errors.Is(err, ErrInvalid)
	})
	for _, r := range []*replica{a, b} {
		for _, k := range r.ring.JWKS().Keys {
			if k.KID == kid {
				t.Error("the revoked key is still published")
			}
		}
		fresh := r.issue(t, KindReservation, claimsOf(KindReservation))
		for _, other := range []*replica{a, b} {
			if _, err := other.verifier.Verify(t.Context(), fresh); err != nil {
				t.Errorf("a token of the key that took over: %v", err)
			}
		}
	}
	if err := b.ring.Revoke(t.Context(), kid); err != nil {
		t.Errorf("revoking twice: %v", err)
	}
}

func TestRevokeKeyWhileCutOff(t *testing.T) {
	t.Parallel()
	url := testURL(t)
	relay, through := newRelay(t, url)
	a := newReplica(t, url, replicaOptions{})
	b := newReplica(t, url, replicaOptions{listenURL: through})
	raw := a.issue(t, KindReservation, claimsOf(KindReservation))
	if _, err := b.verifier.Verify(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	relay.Freeze(true)
	if err := a.ring.Revoke(t.Context(), a.ring.current(purposeSession).KID); err != nil {
		t.Fatal(err)
	}
	took := eventually(t, 3*time.Second, func() bool {
		_, err := b.verifier.Verify(t.Context(), raw)
		return errors.Is(err, ErrInvalid)
	})
	if took > time.Second {
		t.Errorf("the revocation took %s", took)
	}
	if _, err := a.verifier.Verify(t.Context(), b.issue(t, KindReservation, claimsOf(KindReservation))); err != nil {
		t.Errorf("the replica that is cut off signs with the revoked key: %v", err)
	}
}

// TestUnknownKID counts reloads by the keys' moments of loading.
func TestUnknownKID(t *testing.T) {
	t.Parallel()
	clk := clock.New()
	r := newReplica(t, testURL(t), replicaOptions{now: clk.Now})
	loads := func(kids ...string) int {
		n, last := 0, r.ring.loadedAt.Load()
		for _, kid := range kids {
			if _, err := r.ring.verifier(t.Context(), kid, purposeSession); !errors.Is(err, ErrInvalid) {
				t.Errorf("verifier(%s): %v", kid, err)
			}
			if at := r.ring.loadedAt.Load(); at != last {
				n, last = n+1, at
			}
		}
		return n
	}
	if n := loads("a", "b", "a", "c"); n != 1 {
		t.Errorf("four unknown kids cost %d loads, want 1", n)
	}
	clk.Advance(unknownPause - time.Millisecond)
	if n := loads("d"); n != 0 {
		t.Errorf("another within 5 s cost %d loads", n)
	}
	clk.Advance(time.Millisecond)
	if n := loads("e", "f"); n != 1 {
		t.Errorf("two after 5 s cost %d loads, want 1", n)
	}
	r.db.Close()
	clk.Advance(unknownPause)
	for range 2 { // the second within the pause must not take the token for wrong either
		if _, err := r.ring.verifier(t.Context(), "g", purposeSession); err == nil || errors.Is(err, ErrInvalid) {
			t.Errorf("without a database an unknown kid is %v, want an error of ours", err)
		}
	}
}

func TestKeyStates(t *testing.T) {
	t.Parallel()
	now := clock.New().Now()
	k := Key{SignsFrom: now, SignsUntil: now.Add(time.Hour), PublishedUntil: now.Add(2 * time.Hour)}
	var got []string
	for _, d := range []time.Duration{-time.Second, 0, time.Hour, 2 * time.Hour} {
		got = append(got, k.State(now.Add(d)))
	}
	k.RevokedAt = &now
	got = append(got, k.State(now))
	if diff := cmp.Diff([]string{"pending", "signing", "published", "expired", "revoked"}, got); diff != "" {
		t.Error(diff)
	}
}
