package content

import (
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// dripping delivers some bytes after each pause.
type dripping struct {
	io.Reader
	bytes       int
	pause       time.Duration
	interrupted atomic.Bool
}

func (d *dripping) Read(b []byte) (int, error) {
	time.Sleep(d.pause)
	return d.bytes, nil
}

func (d *dripping) Interrupt() { d.interrupted.Store(true) }

// TestPace: a body is interrupted when a period brings fewer bytes than the minimum rate, which only time in Read counts.
func TestPace(t *testing.T) {
	for name, c := range map[string]struct {
		rate  int64
		bytes int
		pause time.Duration
		slow  bool
	}{
		"just enough":     {rate: 100, bytes: 100, pause: 999 * time.Millisecond},
		"a byte too few":  {rate: 100, bytes: 99, pause: 999 * time.Millisecond, slow: true},
		"in large pieces": {rate: 100, bytes: 200, pause: 1999 * time.Millisecond},
		"too late":        {rate: 100, bytes: 200, pause: 2001 * time.Millisecond, slow: true},
		"no minimum":      {rate: 0, bytes: 1, pause: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				body := &dripping{bytes: c.bytes, pause: c.pause}
				p := newPace(Limits{MinimumRate: c.rate, RatePeriod: 2 * time.Second}, body)
				for range 10 {
					if _, err := p.Read(nil); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Hour) // the storage is slow
				}
				if interrupted := body.interrupted.Load(); interrupted != c.slow || p.slow.Load() != c.slow {
					t.Errorf("interrupted: %t, want %t", interrupted, c.slow)
				}
			})
		})
	}
}
