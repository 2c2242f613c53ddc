package translog_test

import (
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/testkit/attester"
	"github.com/consign-dev/consign/internal/translog"
)

// TestCheckpointsAreStamped: openssl stamps checkpoints, not more often than wanted. A service that fails holds nothing up. openssl and our
// verifier accept the stamp, and no changed one.
func TestCheckpointsAreStamped(t *testing.T) {
	t.Parallel()
	world := newWorld(t)
	a := attester.NewAuthority(t)
	now := time.Now()
	l := world.replica(func(o *translog.Options) {
		o.TSA, o.StampEvery, o.Now = a.URL, time.Minute, func() time.Time { return now }
	})
	entry := world.add(3)[1]
	world.sequence(l)
	a.Broken.Store(true)
	if err := l.Stamp(t.Context()); err == nil {
		t.Error("a service that is down stamps")
	}
	if v := world.prove(l, entry); v.Extra != nil {
		t.Error("there is a stamp")
	}
	a.Broken.Store(false)
	for range 2 { // the second time there is nothing to stamp
		if err := l.Stamp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	later := world.add(1)[0]
	world.sequence(l)
	if err := l.Stamp(t.Context()); err != nil || a.Asked.Load() != 2 {
		t.Errorf("asked %d times within a minute: %v", a.Asked.Load(), err)
	}
	v := world.prove(l, entry)
	at, err := proof.CheckStamp(v.Extra, v.Text, a.Roots(t))
	if err != nil || time.Since(at) > time.Hour {
		t.Errorf("stamped at %v: %v", at, err)
	}
	a.Write(t, "checkpoint", v.Text)
	a.Write(t, "stamp.tsr", string(v.Extra))
	if out := a.OpenSSL(t, "ts", "-verify", "-in", a.Path("stamp.tsr"), "-data", a.Path("checkpoint"), "-CAfile",
		a.Path("tsa.pem")); !strings.Contains(out, "Verification: OK") {
		t.Errorf("openssl says %s", out)
	}
	if _, err := proof.CheckStamp(v.Extra, v.Text+"x", a.Roots(t)); !errors.Is(err, proof.ErrStamp) {
		t.Errorf("another text: %v", err)
	}
	if _, err := proof.CheckStamp(v.Extra, v.Text, x509.NewCertPool()); !errors.Is(err, proof.ErrStamp) {
		t.Errorf("an unknown service: %v", err)
	}
	for i := range v.Extra { // no change makes it panic; one of the time or the signature is refused
		changed := append([]byte{}, v.Extra...)
		changed[i] ^= 1
		if got, err := proof.CheckStamp(changed, v.Text, a.Roots(t)); err == nil && !got.Equal(at) {
			t.Fatalf("a bit of byte %d is changed, and the time is %v", i, got)
		}
	}
	now = now.Add(2 * time.Minute)
	if err := l.Stamp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := world.prove(l, later); v.Extra == nil {
		t.Error("the later entry has no stamp")
	}
}
