// Tests of what no caller sees at once: who holds what, and how much. Mutants of these lines lived.

package ratelimit

import (
	"context"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestGiveUp: a request that gives up its place has no slot to return, wherever it waits, and one that was served has.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	s := NewSemaphore(1)
	holder := s.enter(1)
	if s.giveUp(holder) {
		t.Error("the holder of the slot waits")
	}
	first, second := s.enter(1), s.enter(1)
	if !s.giveUp(first) {
		t.Error("the first that waits has a slot")
	}
	s.release()
	if s.giveUp(second) {
		t.Error("the slot was not passed on")
	}
	if s.free != 0 || len(s.waiting) != 0 {
		t.Errorf("%d slots are free and %d wait", s.free, len(s.waiting))
	}
}

// TestClientCapForgets: a network that holds nothing takes no memory, and one that releases a part keeps its cap.
func TestClientCapForgets(t *testing.T) {
	t.Parallel()
	c := NewClientCap(4)
	ctx := WithClient(t.Context(), netip.MustParseAddr("192.0.2.1"))
	take := func() func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		release, err := c.Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	releases := []func(){take(), take(), take()}
	releases[0]()
	releases[0] = take()
	gone, cancel := context.WithCancel(ctx)
	cancel()
	for range 20 { // a free place and the end of a context are chosen at random
		if _, err := c.Acquire(gone); err == nil {
			t.Fatal("a network holds more than its cap")
		}
	}
	for _, release := range releases {
		release()
	}
	if len(c.own.networks) != 0 || len(c.wide.networks) != 0 {
		t.Errorf("%d and %d networks are known", len(c.own.networks), len(c.wide.networks))
	}
}

// TestShares: what networks may take of a limit, and how fast a share drains.
func TestShares(t *testing.T) {
	t.Parallel()
	all := Limit{Capacity: 8, PerSecond: 2}
	if diff := cmp.Diff([]Limit{{2, 0.5}, {1, 0.2}, {24, 6}, {0, 0.5}},
		[]Limit{all.Share(25), all.Share(10), all.times(3), Limit{Capacity: 0, PerSecond: 2}.Share(25)}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]int{2, 1, 0}, []int{all.kept(25), all.kept(5), Limit{}.kept(25)}); diff != "" {
		t.Errorf("kept, -want +got:\n%s", diff)
	}
	at := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	if got := all.Empty(Level{Tokens: 5, At: at}); !got.Equal(at.Add(2500 * time.Millisecond)) {
		t.Errorf("five tokens drain until %v", got)
	}
}

// TestNetworksOfAnIdentifier: what is before the network in an identifier, such as a mailbox, is before the networks around it, too.
func TestNetworksOfAnIdentifier(t *testing.T) {
	t.Parallel()
	b := Bucket{Name: "visitor", By: ByVisitor, Limit: Limit{Capacity: 40, PerSecond: 1}}.Share(25)
	got := map[string]int{}
	for _, p := range (Part{Bucket: b, Identifier: "box 2001:db8:1:2::/64"}).around() {
		got[p.Identifier] = p.Bucket.Limit.Capacity
	}
	if diff := cmp.Diff(map[string]int{"box 2001:db8:1::/56": 20, "box 2001:db8:1::/48": 30}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestAsked: a network has taken little lately three times, and its requests count for those around it by their size.
func TestAsked(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	now := func() time.Time { return at }
	l := NewLimiter(NewMemory(now), true, slog.New(slog.DiscardHandler))
	for i, want := range []bool{true, true, true, false, false} {
		got, err := l.little(t.Context(), Part{Bucket: Bucket{Name: "login"}, Client: "192.0.2.1/32"})
		if err != nil || got != want {
			t.Errorf("request %d: %v, %v", i+1, got, err)
		}
	}
	m := NewMemory(now)
	for i, want := range []int{1, 1, 1, 2, 2, 2, 3} { // other addresses of one /24, which may take three times as much
		n, err := asked(t.Context(), m, "", latelyLimit, netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}), 32))
		if err != nil || n != want {
			t.Errorf("address %d: asked %d times, %v, want %d", i, n, err, want)
		}
	}
}
