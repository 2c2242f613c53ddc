package sealed

import (
	"encoding/binary"
	"errors"
	"sort"
)

// run describes runs that follow each other and have the same form.
type run struct {
	count  int64 // how many there are
	stored int64 // bytes in each one
	hidden int64 // bytes at the end of each one that were cut off and are not part of the segment
	open   bool  // the last block is not marked as the last one: what followed was cut off
}

func (r run) visible() int64 { return r.stored - r.hidden }

// layout is the list of the runs of a segment. Uploads in parts of the same size need one entry.
type layout []run

// maxRuns bounds the entries of a layout. A segment in more pieces of different sizes must be sent again.
const maxRuns = 1 << 16

// errLayout means that a stored layout has another form than encode writes.
var errLayout = errors.New("the stored layout of an encrypted segment is malformed")

// size returns the bytes of the segment.
func (l layout) size() (n int64) {
	for _, r := range l {
		n += r.count * r.visible()
	}
	return n
}

// storedSize returns the bytes in the store.
func (l layout) storedSize() (n int64) {
	for _, r := range l {
		n += r.count * cipherLength(r.stored)
	}
	return n
}

// add appends one run.
func (l layout) add(r run) layout {
	r.count = 1
	if n := len(l); n > 0 {
		if last := l[n-1]; last.stored == r.stored && last.hidden == r.hidden && last.open == r.open {
			l[n-1].count++
			return l
		}
	}
	return append(l, r)
}

// cut returns the layout of the first size bytes. Whole blocks after them are given up. It needs as many stored bytes as its own
// storedSize says, so that a store that is cut to them holds all bytes at every moment.
func (l layout) cut(size int64) layout {
	var kept layout
	for _, r := range l {
		whole := min(r.count, size/r.visible())
		if whole > 0 {
			kept = append(kept, run{count: whole, stored: r.stored, hidden: r.hidden, open: r.open})
			size -= whole * r.visible()
		}
		if whole == r.count {
			continue
		}
		if size > 0 {
			end := min(r.stored, plainStart(blockAt(size-1)+1))
			kept = append(kept, run{count: 1, stored: end, hidden: end - size, open: r.open || end < r.stored})
		}
		break
	}
	return kept
}

// place is one run and where it lies.
type place struct {
	run
	plain  int64 // offset in the segment
	cipher int64 // offset in the store
}

// places returns the groups of runs with the places of their first ones.
func (l layout) places() []place {
	all := make([]place, 0, len(l))
	var at place
	for _, r := range l {
		at.run = r
		all = append(all, at)
		at.plain += r.count * r.visible()
		at.cipher += r.count * cipherLength(r.stored)
	}
	return all
}

// find returns the run that has the byte at an offset of the segment, which is smaller than its size.
func find(places []place, offset int64) place {
	p := places[sort.Search(len(places), func(i int) bool { return places[i].plain > offset })-1]
	nth := (offset - p.plain) / p.visible()
	p.plain += nth * p.visible()
	p.cipher += nth * cipherLength(p.stored)
	return p
}

// encode returns the layout as bytes: four numbers for each entry.
func (l layout) encode() []byte {
	b := make([]byte, 0, 12*len(l))
	for _, r := range l {
		open := uint64(0)
		if r.open {
			open = 1
		}
		for _, n := range []uint64{uint64(r.count), uint64(r.stored), uint64(r.hidden), open} {
			b = binary.AppendUvarint(b, n)
		}
	}
	return b
}

// decode reads what encode returned.
// Errors: errLayout.
func decode(b []byte) (layout, error) {
	var l layout
	for len(b) > 0 {
		var n [4]int64
		for i := range n {
			v, length := binary.Uvarint(b)
			if length <= 0 || v > 1<<62 {
				return nil, errLayout
			}
			n[i], b = int64(v), b[length:]
		}
		r := run{count: n[0], stored: n[1], hidden: n[2], open: n[3] == 1}
		if r.count < 1 || r.stored < 1 || r.hidden >= r.stored || n[3] > 1 || len(l) >= maxRuns {
			return nil, errLayout
		}
		l = append(l, r)
	}
	return l, nil
}

// within returns how many bytes of the segment a store has that holds the first stored bytes of it.
func (l layout) within(stored int64) (n int64) {
	for _, r := range l {
		each := cipherLength(r.stored)
		whole := min(r.count, stored/each)
		n, stored = n+whole*r.visible(), stored-whole*each
		if whole < r.count {
			if blocks := stored / cipherSize; blocks > 0 {
				n += min(plainStart(blocks), r.visible())
			}
			break
		}
	}
	return n
}
