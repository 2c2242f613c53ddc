// Tests of the rotation of signing keys.

package token

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/database"
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
		"no key":             {nil, step{from: now.Add(-clockSkew)}},
		"a young key":        {[]Key{key("a", -time.Hour, 48*time.Hour)}, step{}},
		"a key about to end": {[]Key{key("a", -time.Hour, 70*time.Minute)}, step{from: now.Add(70 * time.Minute)}},
		"the job runs late":  {[]Key{key("a", -time.Hour, 20*time.Minute)}, step{from: now.Add(time.Hour), extend: "a"}},
		"a successor exists": {[]Key{key("a", -time.Hour, 20*time.Minute), key("b", 20*time.Minute, 48*time.Hour)}, step{}},
		"only a pending key": {[]Key{key("b", 20*time.Minute, 48*time.Hour)}, step{from: now.Add(-clockSkew)}},
		"both keys about to end": {[]Key{key("a", -time.Hour, 10*time.Minute), key("b", 10*time.Minute, time.Hour)},
			step{from: now.Add(time.Hour)}},
		"a key that begins now": {[]Key{key("a", 0, 48*time.Hour)}, step{}},
	} {
		if got := p.plan(tc.keys, now); got != tc.want {
			t.Errorf("%s: plan = %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestRotation lets 40 hours pass on two replicas without notifications, with keys that live 8 hours. At every step the
// first replica issues a token. The second learns of new keys only from tokens and must accept every token that has not expired.
func TestRotation(t *testing.T) {
	t.Parallel()
	clk := clock.New()
	url := testURL(t)
	policy := KeyPolicy{Lead: time.Hour, Lifetime: 8 * time.Hour, LongestToken: 2 * time.Hour}
	a := newReplica(t, url, replicaOptions{now: clk.Now, policy: policy})
	b := newReplica(t, url, replicaOptions{now: clk.Now, policy: policy})

	published := map[string]time.Time{}
	signed := map[string]bool{}
	var valid []string
	for range 4 * 40 { // 40 hours in steps of 15 minutes
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
		valid = append(valid, raw)
		if len(valid) > 8 { // older ones have expired: 8 steps are two hours
			valid = valid[1:]
		}
		for _, raw := range valid {
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
			t.Errorf("the private key of %s is not deleted", k.KID)
		}
	}
	if session > 3 {
		t.Errorf("%d session keys are left, want at most 3: expired keys are deleted", session)
	}
}

// TestLateRotation: when the job runs 20 minutes before the key ends, the key signs on until its successor has been public for an hour.
func TestLateRotation(t *testing.T) {
	t.Parallel()
	clk := clock.New()
	policy := KeyPolicy{Lead: time.Hour, Lifetime: 8 * time.Hour, LongestToken: 2 * time.Hour}
	r := newReplica(t, testURL(t), replicaOptions{now: clk.Now, policy: policy}).ring
	first := r.current(purposeSession)
	clk.Advance(first.SignsUntil.Sub(clk.Now()) - 20*time.Minute)
	if err := r.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	late := (*r.keys.Load())[first.KID]
	want, longest := clk.Now().Add(policy.Lead), policy.LongestToken+clockSkew
	if !late.SignsUntil.Equal(want) || late.PublishedUntil.Sub(late.SignsUntil) != longest {
		t.Errorf("the key signs until %s and is published until %s, want %s and %s more", late.SignsUntil, late.PublishedUntil, want, longest)
	}
	clk.Advance(policy.Lead - time.Second)
	if k := r.current(purposeSession); k == nil || k.KID != first.KID {
		t.Errorf("%+v signs before the successor", k)
	}
	clk.Advance(time.Second)
	if k := r.current(purposeSession); k == nil || k.KID == first.KID {
		t.Errorf("%+v signs after the first key", k)
	}
}

// TestRotationUnderLoad rotates keys that sign for 1.5 s on two replicas, each of which verifies the other's tokens.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	url := testURL(t)
	policy := KeyPolicy{Lead: time.Second, Lifetime: 1500 * time.Millisecond, LongestToken: testLifetimes.Longest()}
	a := newReplica(t, url, replicaOptions{listenURL: url, policy: policy})
	b := newReplica(t, url, replicaOptions{listenURL: url, policy: policy})
	until := time.Now().Add(5 * time.Second)
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
		t.Errorf("%d keys in 5 s, %v", len(keys), err)
	}
}

// TestNoRotation: a replica keeps signing with an overdue key when the rotation job does not run.
func TestNoRotation(t *testing.T) {
	t.Parallel()
	clk := clock.New()
	r := newReplica(t, testURL(t), replicaOptions{now: clk.Now})
	clk.Advance(365 * 24 * time.Hour)
	if _, err := r.verifier.Verify(t.Context(), r.issue(t, KindID, claimsOf(KindID))); err != nil {
		t.Errorf("after a year: %v", err)
	}
}

// TestParallelFirstStart: of many replicas that start on an empty table, one creates the keys.
func TestParallelFirstStart(t *testing.T) {
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
		t.Errorf("%d keys were created, %v", len(keys), err)
	}
}

// TestEnsureTakesNoLock: Ensure does not wait for a lock on the table when there is nothing to do.
func TestEnsureTakesNoLock(t *testing.T) {
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

func TestRotate(t *testing.T) {
	t.Parallel()
	clk := clock.New()
	r := newReplica(t, testURL(t), replicaOptions{now: clk.Now})
	before := r.ring.current(purposeSession).KID
	k, err := r.ring.Rotate(t.Context())
	if err != nil || k.State(clk.Now()) != "pending" {
		t.Fatalf("Rotate = %+v, %v", k, err)
	}
	published := r.ring.JWKS().Keys
	if len(published) != 3 || published[2].KID != k.KID {
		t.Errorf("%+v are published, want the first two and then the new one", published)
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

// TestLater: replicas agree which of two keys signs, also when both begin at the same time.
func TestLater(t *testing.T) {
	t.Parallel()
	now := time.Now()
	a, b, c := &Key{KID: "a", SignsFrom: now}, &Key{KID: "b", SignsFrom: now}, &Key{KID: "A", SignsFrom: now.Add(time.Second)}
	for _, p := range []struct{ late, early *Key }{{b, a}, {c, a}, {c, b}} {
		if !later(p.late, p.early) || later(p.early, p.late) || later(p.late, p.late) {
			t.Errorf("key %s is not later than %s", p.late.KID, p.early.KID)
		}
	}
}
