// Tests of signing keys: publication, sealing, revocation, and unknown ones.

package token

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/testkit/clock"
	"github.com/consign-dev/consign/internal/testkit/relay"
)

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
		t.Errorf("%d keys are published before the last token expires, want 2", n)
	}
	clk.Advance(time.Second)
	if n := len(r.ring.JWKS().Keys); n != 1 { // the key of uid tokens stays
		t.Errorf("%d keys are published after the last token expired, want 1", n)
	}
}

func TestPrivateKeysAreSealed(t *testing.T) {
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
		t.Errorf("the private key is stored in plain text (%v)", err)
	}
	// A private key does not open under another row's kid, so keys cannot be swapped by writing to the table.
	if _, err := r.ring.openPrivate("another kid", stored); !errors.Is(err, seal.ErrOpen) {
		t.Errorf("a private key opens in another row: %v", err)
	}
}

func TestReseal(t *testing.T) {
	t.Parallel()
	r := newReplica(t, testURL(t), replicaOptions{})
	raw := r.issue(t, KindReservation, claimsOf(KindReservation))
	ring := func(s *seal.Sealer) *KeyRing { return NewKeyRing(r.db, s, testPolicy, time.Now, r.ring.log) }

	if err := ring(testSealer(t, 2)).Ensure(t.Context()); err == nil {
		t.Error("Ensure with another secret key succeeds")
	}
	if _, err := ring(testSealer(t, 2)).Reseal(t.Context()); err == nil {
		t.Error("Reseal without the previous secret key succeeds")
	}
	if _, err := ring(testSealer(t, 2)).Rotate(t.Context()); err == nil {
		t.Error("Rotate with another secret key succeeds")
	}
	if err := r.ring.Ensure(t.Context()); err != nil {
		t.Errorf("Ensure with the right secret key after those attempts: %v", err)
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
		t.Fatalf("Ensure with the new secret key alone, after Reseal: %v", err)
	}
	v := NewVerifier(after, testIssuer, testNamespace, r.revocations, time.Now)
	if _, err := v.Verify(t.Context(), raw); err != nil {
		t.Errorf("a token issued before Reseal: %v", err)
	}
	if after.current(purposeSession).KID != r.ring.current(purposeSession).KID {
		t.Error("Reseal changed the signing key")
	}
	if err := ring(testSealer(t, 1)).Ensure(t.Context()); err == nil {
		t.Error("the old secret key still opens the keys")
	}
}

// TestLostSecret: an operator who lost the secret key revokes the keys that it sealed, and the server creates new ones.
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
		t.Errorf("Ensure after all keys were revoked: %v", err)
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
	for range 2 { // the second call finds it in the cache
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
		t.Errorf("Verify on the replica that revoked the key: %v", err)
	}
	if took := untilRefused(t, b, raw, ErrInvalid); took > time.Second {
		t.Errorf("the revocation took %s", took)
	}
	for _, r := range []*replica{a, b} {
		for _, k := range r.ring.JWKS().Keys {
			if k.KID == kid {
				t.Error("the revoked key is still published")
			}
		}
		fresh := r.issue(t, KindReservation, claimsOf(KindReservation))
		for _, other := range []*replica{a, b} {
			if _, err := other.verifier.Verify(t.Context(), fresh); err != nil {
				t.Errorf("a token of the new signing key: %v", err)
			}
		}
	}
	if err := b.ring.Revoke(t.Context(), kid); err != nil {
		t.Errorf("revoking twice: %v", err)
	}
}

// TestRevokeKeyWithoutListener: a replica whose LISTEN connection hangs still learns of a revoked key within a second.
func TestRevokeKeyWithoutListener(t *testing.T) {
	t.Parallel()
	url := testURL(t)
	hop := relay.New(t, url)
	a := newReplica(t, url, replicaOptions{})
	b := newReplica(t, url, replicaOptions{listenURL: hop.URL})
	raw := a.issue(t, KindReservation, claimsOf(KindReservation))
	if _, err := b.verifier.Verify(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	hop.Freeze()
	if err := a.ring.Revoke(t.Context(), a.ring.current(purposeSession).KID); err != nil {
		t.Fatal(err)
	}
	if took := untilRefused(t, b, raw, ErrInvalid); took > time.Second {
		t.Errorf("the revocation took %s", took)
	}
	if _, err := a.verifier.Verify(t.Context(), b.issue(t, KindReservation, claimsOf(KindReservation))); err != nil {
		t.Errorf("the replica without its listener signs with the revoked key: %v", err)
	}
}

// TestRevocationBeatsAnOlderRead: keys that were read before a revocation was notified do not bring the key back. Only a lost key makes
// earlier verifications void.
func TestRevocationBeatsAnOlderRead(t *testing.T) {
	t.Parallel()
	r := newReplica(t, testURL(t), replicaOptions{}).ring
	read, kid, generation := *r.keys.Load(), r.current(purposeSession).KID, r.generation.Load()
	r.replace(read)
	if got := r.generation.Load(); got != generation {
		t.Errorf("the same keys raise the generation from %d to %d", generation, got)
	}
	r.notified(revokedPrefix + "a key that is not in the ring")
	r.notified(revokedPrefix + kid)
	if got := r.generation.Load(); got != generation+1 {
		t.Errorf("a revocation raises the generation from %d to %d", generation, got)
	}
	r.replace(read)
	if k := (*r.keys.Load())[kid]; k.RevokedAt == nil || k.private != nil {
		t.Error("an older read brings a revoked key back")
	}
	if k := r.current(purposeSession); k != nil && k.KID == kid {
		t.Error("the revoked key signs")
	}
	if got := r.generation.Load(); got != generation+1 {
		t.Errorf("the older read raises the generation from %d to %d", generation+1, got)
	}
	r.replace(nil)
	if got := r.generation.Load(); got != generation+2 {
		t.Errorf("without any key the generation is %d, was %d", got, generation+1)
	}
}

// TestUnknownKID: an unknown kid reloads the keys, at most once in 5 s.
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
		t.Errorf("%d loads for four unknown kids, want 1", n)
	}
	clk.Advance(unknownPause - time.Millisecond)
	if n := loads("d"); n != 0 {
		t.Errorf("%d loads for another within 5 s, want 0", n)
	}
	clk.Advance(time.Millisecond)
	if n := loads("e", "f"); n != 1 {
		t.Errorf("%d loads for two after 5 s, want 1", n)
	}
	r.db.Close()
	clk.Advance(unknownPause)
	for range 2 { // the second is within the 5 s and must not be ErrInvalid either
		if _, err := r.ring.verifier(t.Context(), "g", purposeSession); err == nil || errors.Is(err, ErrInvalid) {
			t.Errorf("unknown kid without a database: %v, want the database's error", err)
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
