package password_test

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/consign-dev/consign/internal/password"
	"github.com/consign-dev/consign/internal/ratelimit"
)

// TestOneClientWaitsForItself: Eve asks for thirty comparisons at once. Ann, who comes after them from another address, waits for one.
func TestOneClientWaitsForItself(t *testing.T) {
	t.Parallel()
	h, err := password.New(6, 1)
	if err != nil {
		t.Fatal(err)
	}
	from := func(address string) context.Context {
		a := netip.MustParseAddr(address)
		return ratelimit.WithClient(t.Context(), a)
	}
	eve, ann := from("2001:db8::1"), from("2001:db8:0:1::1")
	var done atomic.Int32
	var all sync.WaitGroup
	first := make(chan struct{})
	for range 30 {
		all.Go(func() {
			if _, err := h.Compare(eve, nil, "guess"); err != nil {
				t.Error(err)
			}
			if done.Add(1) == 1 {
				close(first)
			}
		})
	}
	<-first
	if _, err := h.Compare(ann, nil, "correct horse"); err != nil {
		t.Error(err)
	}
	if n := done.Load(); n > 10 {
		t.Errorf("Ann waited for %d comparisons of Eve's", n)
	}
	all.Wait()
}
