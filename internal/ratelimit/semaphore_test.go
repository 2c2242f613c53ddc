package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/consign-dev/consign/internal/ratelimit"
)

// client returns a context of the client at an address.
func client(ctx context.Context, address string) context.Context {
	return ratelimit.WithClient(ctx, netip.MustParseAddr(address))
}

// acquire fails the test when Acquire does.
func acquire(t *testing.T, ctx context.Context, from func(context.Context) (func(), error)) (release func()) {
	t.Helper()
	release, err := from(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return release
}

// TestSemaphoreServesInOrder: in the order in which they came; of a crowd the newest is first.
func TestSemaphoreServesInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := ratelimit.NewSemaphore(1)
		release := acquire(t, t.Context(), s.Acquire)
		var order []int // written under the semaphore
		for i := range 12 {
			go func() {
				done := acquire(t, t.Context(), s.Acquire)
				order = append(order, i)
				done()
			}()
			synctest.Wait() // the waiter is queued before the next one starts
		}
		if len(order) > 0 {
			t.Errorf("%d waiters got the slot while it was held", len(order))
		}
		release()
		synctest.Wait()
		if want := []int{11, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7}; !slices.Equal(order, want) {
			t.Errorf("served in the order %v", order)
		}
	})
}

// TestSemaphoreKeepsASlotForOthers: a client with more requests than slots leaves one slot to a client that comes later.
func TestSemaphoreKeepsASlotForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := ratelimit.NewSemaphore(4)
		eve, ann := client(t.Context(), "203.0.113.1"), client(t.Context(), "198.51.100.2")
		finish := make(chan struct{})
		running := make(chan struct{}, 30)
		for range 30 {
			go func() {
				release := acquire(t, eve, s.Acquire)
				running <- struct{}{}
				<-finish
				release()
			}()
		}
		synctest.Wait()
		if len(running) != 3 {
			t.Errorf("Eve holds %d of 4 slots, want 3", len(running))
		}
		acquire(t, ann, s.Acquire)() // without a free slot this deadlocks, and synctest fails the test
		close(finish)
		synctest.Wait()
		if len(running) != 30 {
			t.Errorf("%d of Eve's 30 requests were served", len(running))
		}
	})
}

// TestSemaphoreOfOneSlot: with one slot, a client's waiting requests do not queue up before another client's.
func TestSemaphoreOfOneSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := ratelimit.NewSemaphore(1)
		eve, ann := client(t.Context(), "2001:db8::1"), client(t.Context(), "2001:db8:1::1")
		release := acquire(t, eve, s.Acquire)
		var order []string // written under the semaphore
		wait := func(ctx context.Context, name string) {
			go func() {
				done := acquire(t, ctx, s.Acquire)
				order = append(order, name)
				done()
			}()
			synctest.Wait()
		}
		for range 5 {
			wait(eve, "Eve")
		}
		wait(ann, "Ann")
		release()
		synctest.Wait()
		if len(order) != 6 || order[0] != "Ann" {
			t.Errorf("served in the order %q", order)
		}
	})
}

// TestAttackSemaphorePrefix: somebody with a /48 and 200 addresses fills the queue. Networks that have asked little are served next, a
// known device before them, and who gives up leaves the queue.
func TestAttackSemaphorePrefix(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := ratelimit.NewSemaphore(1)
		release := acquire(t, t.Context(), s.Acquire)
		attack, end := context.WithCancel(t.Context())
		var order []string // written under the semaphore
		wait := func(ctx context.Context, name string) {
			go func() {
				if done, err := s.Acquire(ctx); err == nil {
					order = append(order, name)
					done()
				}
			}()
			synctest.Wait()
		}
		for i := range 200 { // served and refused before
			for range 3 {
				early, giveUp := context.WithCancel(attack)
				wait(client(early, fmt.Sprintf("203.0.%d.7", i)), "early")
				wait(client(early, fmt.Sprintf("2001:db8:0:%x::1", i)), "early")
				giveUp()
			}
		}
		for i := range 200 {
			wait(client(attack, fmt.Sprintf("203.0.%d.7", i)), "attacker")
			wait(client(attack, fmt.Sprintf("2001:db8:0:%x::1", 1000+i)), "attacker")
		}
		for i := range 20 {
			wait(client(t.Context(), fmt.Sprintf("198.51.%d.7", i)), "honest")
		}
		wait(ratelimit.WithKnownDevice(client(t.Context(), "203.0.1.7")), "known")
		release()
		synctest.Wait()
		if len(order) < 22 || order[0] != "known" || slices.Contains(order[1:21], "attacker") || order[21] != "attacker" {
			t.Errorf("served %d in the order %q", len(order), order)
		}
		end()
		synctest.Wait()
		acquire(t, t.Context(), s.Acquire)()
	})
}

func TestSemaphoreCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := ratelimit.NewSemaphore(1)
		gone := errors.New("gone")
		for _, address := range []string{"203.0.113.1", "198.51.100.2"} { // waits for the client's cap; waits for the slot
			release := acquire(t, client(t.Context(), "203.0.113.1"), s.Acquire)
			ctx, cancel := context.WithCancelCause(client(t.Context(), address))
			failed := make(chan error, 1)
			go func() {
				_, err := s.Acquire(ctx)
				failed <- err
			}()
			synctest.Wait()
			cancel(gone)
			if err := <-failed; !errors.Is(err, gone) {
				t.Errorf("from %s: %v, want the cause of the context", address, err)
			}
			release()
			acquire(t, client(t.Context(), address), s.Acquire)() // the cancelled waiter holds nothing
			if _, err := s.Acquire(ctx); !errors.Is(err, gone) {
				t.Errorf("from %s with a free slot: %v, want the cause of the context", address, err)
			}
			acquire(t, client(t.Context(), address), s.Acquire)()
		}
	})
}

func TestClientCap(t *testing.T) {
	t.Parallel()
	for n, limits := range map[int][2]int{1: {1, 1}, 2: {1, 1}, 4: {3, 3}, 8: {6, 7}, 16: {12, 14}, 64: {48, 56}} {
		synctest.Test(t, func(t *testing.T) {
			c := ratelimit.NewClientCap(n)
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan error, 2)
			waits := func(address string) {
				go func() {
					_, err := c.Acquire(client(ctx, address))
					failed <- err
				}()
				synctest.Wait()
				if len(failed) != 0 {
					t.Errorf("cap of %d: %s holds more than %v", n, address, limits)
				}
			}
			var releases []func()
			for i := range limits[1] { // as many as one network may have, and then its neighbours
				address := "2001:db8::1"
				if i >= limits[0] {
					address = "2001:db8:0:9::1"
				}
				releases = append(releases, acquire(t, client(ctx, address), c.Acquire))
				if i == limits[0]-1 {
					waits("2001:db8::ffff") // the same /64
				}
			}
			waits("2001:db8:0:8::1")                                      // the same /48
			acquire(t, client(t.Context(), "2001:db8:1::1"), c.Acquire)() // another /48
			acquire(t, t.Context(), c.Acquire)()                          // work without a client is not counted
			cancel()
			for range 2 {
				if err := <-failed; !errors.Is(err, context.Canceled) {
					t.Errorf("cap of %d: %v", n, err)
				}
			}
			for _, release := range releases {
				release()
			}
			for range limits[0] { // everything was released
				acquire(t, client(t.Context(), "2001:db8::2"), c.Acquire)
			}
		})
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"203.0.113.7":                 "203.0.113.7/32",
		"::ffff:203.0.113.7":          "203.0.113.7/32",
		"2001:db8:1:2:3:4:5:6":        "2001:db8:1:2::/64",
		"2001:db8:1:2::":              "2001:db8:1:2::/64",
		"fe80::1%eth0":                "fe80::/64",
		"::1":                         "::/64",
		"2001:db8:1:3:ffff:ffff::abc": "2001:db8:1:3::/64",
	} {
		if got := ratelimit.Network(netip.MustParseAddr(address)); got.String() != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	if got := ratelimit.Network(netip.Addr{}); got.IsValid() {
		t.Errorf("the zero address: %s", got)
	}
	if got := ratelimit.Network(ratelimit.ClientFrom(t.Context())); got.IsValid() {
		t.Errorf("a context without a client: %s", got)
	}
}
