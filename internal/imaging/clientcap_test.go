package imaging_test

import (
	"bytes"
	"context"
	"image"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/consign-dev/consign/internal/imaging"
	"github.com/consign-dev/consign/internal/ratelimit"
)

// Eve sends twenty pictures at once. Ann sends one afterwards from another address and waits for one picture only.
func TestOneClientWaitsForItself(t *testing.T) {
	t.Parallel()
	p := imaging.New(imaging.Options{MaxParallel: 1})
	file := encodePNG(t, image.NewNRGBA(image.Rect(0, 0, 400, 400)))
	from := func(address string) context.Context {
		a := netip.MustParseAddr(address)
		return ratelimit.WithClient(t.Context(), a)
	}
	eve, ann := from("203.0.113.1"), from("203.0.113.2")
	var done atomic.Int32
	var all sync.WaitGroup
	first := make(chan struct{})
	for range 20 {
		all.Go(func() {
			if _, err := p.Avatar(eve, bytes.NewReader(file)); err != nil {
				t.Error(err)
			}
			if done.Add(1) == 1 {
				close(first)
			}
		})
	}
	<-first
	if _, err := p.Avatar(ann, bytes.NewReader(file)); err != nil {
		t.Error(err)
	}
	if n := done.Load(); n > 8 {
		t.Errorf("Ann waited for %d pictures of Eve's", n)
	}
	all.Wait()
}
