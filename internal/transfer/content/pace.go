package content

import (
	"sync/atomic"
	"time"
)

// pace reads a body and interrupts it when fewer bytes arrive than the minimum rate asks for. Only time spent in Read counts:
// waiting for the storage is not the client's delay.
type pace struct {
	body   Body
	want   int64         // bytes of a period; 0: no minimum
	period time.Duration // time in which they arrive
	timer  *time.Timer
	bytes  int64         // that arrived in this period
	spent  time.Duration // waiting for them
	slow   atomic.Bool   // the body was interrupted
}

func newPace(l Limits, body Body) *pace {
	return &pace{body: body, want: l.MinimumRate * int64(l.RatePeriod/time.Millisecond) / 1000, period: l.RatePeriod}
}

// Read implements io.Reader.
func (p *pace) Read(buffer []byte) (int, error) {
	if p.want == 0 {
		return p.body.Read(buffer)
	}
	if rest := p.period - p.spent; p.timer == nil {
		p.timer = time.AfterFunc(rest, p.interrupt)
	} else {
		p.timer.Reset(rest)
	}
	began := time.Now()
	n, err := p.body.Read(buffer)
	p.timer.Stop()
	p.spent += time.Since(began)
	if p.bytes += int64(n); p.bytes >= p.want {
		p.bytes, p.spent = 0, 0
	}
	return n, err
}

func (p *pace) interrupt() {
	p.slow.Store(true)
	p.body.Interrupt()
}
