// What a cut of the power leaves of the writes that no flush has made durable.

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

// sector is what a disk writes whole or not at all, in bytes.
const sector = 512

// span is a range of bytes of the disk.
type span struct{ from, to int64 }

// flushTime is how long a flush takes while the power is about to go, so that writes meet it.
const flushTime = 10 * time.Millisecond

// disk is a disk with a cache for writes. Reads see each write at once. A write is durable when a flush that began after it has ended.
type disk struct {
	size int64

	mu       sync.Mutex
	seen     *os.File // what reads see
	durable  *os.File // what a power cut leaves at least
	pending  []span   // writes since the last flush, in their order
	lost     []span   // writes after the power was cut
	ended    int      // pending writes that flushes have made durable since the disk was made
	armed    int      // after how many writes the power goes; 0: not soon
	cut      bool
	writes   int // of all pending writes at the cuts
	kept     int // of writes, those that reached the disk whole
	torn     int // of writes, those of which some sectors reached the disk
	reorders int // cuts at which a write was kept and an earlier one was not
}

func newDisk(dir string, size int64) (*disk, error) {
	d := &disk{size: size}
	for name, f := range map[string]**os.File{"seen": &d.seen, "durable": &d.durable} {
		var err error
		if *f, err = os.Create(dir + "/" + name); err != nil {
			return nil, err
		}
		if err := (*f).Truncate(size); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *disk) read(b []byte, at int64) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen.ReadAt(b, at)
}

func (d *disk) write(b []byte, at int64) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.seen.WriteAt(b, at)
	s := span{at, at + int64(n)}
	if d.cut {
		d.lost = append(d.lost, s)
	} else {
		d.pending = append(d.pending, s)
	}
	if d.armed > 0 && len(d.pending) >= d.armed && err == nil {
		err = d.lose()
	}
	return n, err
}

// flush makes all writes durable that ended before.
func (d *disk) flush() error {
	d.mu.Lock()
	upTo, slow := d.ended+len(d.pending), d.armed > 0
	d.mu.Unlock()
	if slow {
		time.Sleep(flushTime)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for ; !d.cut && d.ended < upTo && len(d.pending) > 0; d.ended++ {
		if err := move(d.durable, d.seen, d.pending[0]); err != nil {
			return err
		}
		d.pending = d.pending[1:]
	}
	return nil
}

// The power goes when some writes are pending, at most mostPending, or after armedTime.
const (
	mostPending = 12
	armedTime   = time.Second
)

// power cuts the power while writes are pending, and returns when it has gone.
func (d *disk) power() error {
	d.mu.Lock()
	d.armed = 1 + rand.N(mostPending)
	d.mu.Unlock()
	for deadline := time.Now().Add(armedTime); ; time.Sleep(time.Millisecond) {
		d.mu.Lock()
		cut := d.cut
		d.mu.Unlock()
		if cut {
			return nil
		}
		if time.Now().After(deadline) {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.lose()
		}
	}
}

// lose cuts the power. What is written afterwards is lost. Of the writes that were not flushed each is kept, lost or torn, so a later one
// can be there without an earlier one. A kept sector holds what reads see at this moment, since a disk joins writes to one sector in its
// cache. The caller holds mu.
func (d *disk) lose() error {
	if d.cut {
		return nil
	}
	d.cut = true
	missed, reordered := false, false
	for _, s := range d.pending {
		d.writes++
		switch rand.N(5) {
		case 0, 1:
			d.kept++
			reordered = reordered || missed
			if err := move(d.durable, d.seen, s); err != nil {
				return err
			}
		case 2:
			d.torn++
			if err := d.tear(s); err != nil {
				return err
			}
		default:
			missed = true
		}
	}
	if reordered {
		d.reorders++
	}
	return nil
}

// tear keeps about half of the sectors of a write.
func (d *disk) tear(s span) error {
	for at := s.from; at < s.to; {
		end := min((at/sector+1)*sector, s.to)
		if rand.N(2) == 0 {
			if err := move(d.durable, d.seen, span{at, end}); err != nil {
				return err
			}
		}
		at = end
	}
	return nil
}

// restore turns the power on: reads see what the cut left.
func (d *disk) restore() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.cut {
		return fmt.Errorf("the power was not cut")
	}
	for _, spans := range [][]span{d.pending, d.lost} {
		for _, s := range spans {
			if err := move(d.seen, d.durable, s); err != nil {
				return err
			}
		}
	}
	d.pending, d.lost, d.cut, d.armed, d.ended = nil, nil, false, 0, 0
	return nil
}

// move copies a range from one file to the other.
func move(to, from *os.File, s span) error {
	b := make([]byte, s.to-s.from)
	if _, err := from.ReadAt(b, s.from); err != nil {
		return err
	}
	_, err := to.WriteAt(b, s.from)
	return err
}
