package service

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/consign-dev/consign/internal/fault"
)

// TestRoomForLists: long lists wait for each other, but not for ever, and short ones do not wait at all.
func TestRoomForLists(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newListed()
		first, over := context.WithCancel(t.Context())
		if err := l.makeRoom(first, 2*maxListed); err != nil { // more than there can be takes all there is
			t.Fatal(err)
		}
		if err := l.makeRoom(t.Context(), fewListed); err != nil {
			t.Error(err)
		}
		began := time.Now()
		if err := l.makeRoom(t.Context(), fewListed+1); !errors.Is(err, fault.ErrUnavailable) || time.Since(began) != listPatience {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if err := l.makeRoom(gone, fewListed+1); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		time.AfterFunc(time.Second, over)
		began = time.Now()
		if err := l.makeRoom(t.Context(), maxListed); err != nil || time.Since(began) != time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}
