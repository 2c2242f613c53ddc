package content

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// TestLeaseAwaitsFormerHolder: a holder waits for the one before: of this process until it has released, of another one until its lease in
// the row has ended.
func TestLeaseAwaitsFormerHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l leases
		take := func(epoch int64, former time.Duration) *lease {
			t.Helper()
			_, h, ok := l.take(t.Context(), lease{of: "segment", epoch: epoch, former: time.Now().Add(former)}, errLost)
			if !ok {
				t.Fatalf("epoch %d is refused", epoch)
			}
			return h
		}
		waits := func(h *lease, want time.Duration) {
			t.Helper()
			begin := time.Now()
			if err := h.await(t.Context()); err != nil || time.Since(begin) != want {
				t.Errorf("epoch %d waited %s, want %s; %v", h.epoch, time.Since(begin), want, err)
			}
		}
		first := take(1, -time.Second)
		waits(first, 0)
		second := take(2, leaseTime/2) // the row still has the lease of the first
		time.AfterFunc(time.Second, first.release)
		waits(second, time.Second)
		fourth := take(4, leaseTime/2) // another process had the third
		second.release()
		waits(fourth, leaseTime/2)
		if _, _, ok := l.take(t.Context(), lease{of: "segment", epoch: 3, former: time.Now()}, errLost); ok {
			t.Error("the third is not refused after the fourth")
		}
		fourth.release()
		sixth := take(6, time.Hour) // with a clock that is ahead
		waits(sixth, leaseTime)
		if sixth.release(); l.held("segment") {
			t.Error("a released segment is held")
		}
	})
}

// TestLeaseOfStoppedHolder: a holder that was stopped while it waits learns why. The next one waits for whom it was to wait.
func TestLeaseOfStoppedHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l leases
		ctx, h, _ := l.take(t.Context(), lease{of: "segment", epoch: 2, former: time.Now().Add(leaseTime)}, errLost)
		stopped := errors.New("stopped")
		time.AfterFunc(time.Second, func() { l.end("segment", stopped) })
		begin := time.Now()
		if err := h.await(ctx); !errors.Is(err, stopped) || time.Since(begin) != time.Second {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		_, next, _ := l.take(t.Context(), lease{of: "segment", epoch: 3, former: time.Now().Add(leaseTime)}, errLost) // the row has that of h
		h.release()
		if err := next.await(t.Context()); err != nil || time.Since(begin) != leaseTime {
			t.Errorf("the next one after %s: %v", time.Since(begin), err)
		}
		next.release()
	})
}

// TestStoredLeaseIsRenewed: who reads what a command encrypts or moves renews the lease each time a third of it is over, and stops when it
// is lost.
func TestStoredLeaseIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		l, renewals := storedLease{lease: &lease{renewed: time.Now()}}, 0
		r := l.reader(ctx, bytes.NewReader(make([]byte, 100)), func() error {
			renewals++
			return l.kept(time.Now(), renewals < 3, nil)
		})
		read := func(wait time.Duration, renewed int, lost error) {
			t.Helper()
			time.Sleep(wait)
			if _, err := io.ReadFull(r, make([]byte, 10)); renewals != renewed || !errors.Is(err, lost) {
				t.Errorf("renewed %d times, want %d; %v", renewals, renewed, err)
			}
		}
		read(19*time.Second, 0, nil)
		read(2*time.Second, 1, nil)
		read(19*time.Second, 1, nil)
		read(2*time.Second, 2, nil)
		read(21*time.Second, 3, errLost)
		l.renewed = time.Now()
		stop(errLost)
		read(time.Second, 3, errLost)
	})
}
