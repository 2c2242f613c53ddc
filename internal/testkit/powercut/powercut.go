// Package powercut simulates a file layer that loses power. It models what POSIX leaves open: content and length of a file are
// certain only after an fsync of the file, and a name only after an fsync of its directory. Everything else may survive a cut,
// be lost or become garbage, in any combination. The model is stricter than common file systems, where an fsync often covers
// neighbours, so that code which passes does not depend on that.
//
// It makes one guarantee, as every file system with a journal does: a rename does not lose the file. The old name is lost only
// when the new name survives.
//
// A Disk is a disk.FS in memory, for tests. It knows nothing of blobs.
package powercut

import (
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/blob/disk"
)

// ErrCut is the error of every operation after the power cut.
var ErrCut = errors.New("the power is cut")

// Sync describes an fsync for the hooks of Options.
type Sync struct {
	Name string
	Dir  bool // of a directory
}

// Options select the faults. The zero value is a disk without faults.
type Options struct {
	// CutAfter is the number of changing operations, fsyncs included, that succeed before the power cut; 0 means no cut.
	CutAfter int
	// SkipSync selects fsyncs that report success and do nothing.
	SkipSync func(Sync) bool
	// FailSync selects fsyncs that fail with the returned error. As on Linux, the bytes they should have written count as
	// written afterwards, and are lost.
	FailSync func(Sync) error
	// Capacity is how many bytes of content fit; further writes are cut short with ENOSPC. 0 means no limit.
	Capacity int64
	// Now is the clock for modification times; nil means time.Now.
	Now func() time.Time
}

// Disk is a simulated file system. Its root directory / exists from the start.
type Disk struct {
	mu      sync.Mutex
	options Options
	root    *node
	steps   int
	used    int64
}

var _ disk.FS = (*Disk)(nil)

// New returns an empty disk.
func New(o Options) *Disk {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Disk{options: o, root: newDirectory()}
}

// Steps returns how many changing operations have succeeded.
func (d *Disk) Steps() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.steps
}

// node is a file or a directory: its state for processes, its durable state, and the changes between them.
type node struct {
	modified time.Time

	live    []byte // file
	durable []byte
	changes []change

	isDir   bool
	entries map[string]*node
	kept    map[string]*node
	links   []*link
}

// change is a write that is not durable yet or, with nil data, a truncation to offset.
type change struct {
	offset int64
	data   []byte
}

// link is a change of a directory that is not durable yet: name now refers to target, or to nothing if target is nil.
type link struct {
	name    string
	target  *node
	after   *link // the new name of a rename, for the link of its old name
	durable bool
}

func newDirectory() *node {
	return &node{isDir: true, entries: map[string]*node{}, kept: map[string]*node{}}
}

// set changes an entry of a directory in its state for processes.
func (n *node) set(name string, target *node, after *link) *link {
	l := &link{name: name, target: target, after: after}
	n.links = append(n.links, l)
	apply(n.entries, l)
	return l
}

// syncEntries makes the entries durable, except that an old name waits for the new one.
func (n *node) syncEntries() {
	var waiting []*link
	for _, l := range n.links {
		if l.after != nil && !l.after.durable {
			waiting = append(waiting, l)
			continue
		}
		apply(n.kept, l)
		l.durable = true
	}
	n.links = waiting
}

func (n *node) syncContent() {
	for _, c := range n.changes {
		n.durable = c.apply(n.durable)
	}
	n.changes = nil
}

func apply(entries map[string]*node, l *link) {
	if l.target == nil {
		delete(entries, l.name)
	} else {
		entries[l.name] = l.target
	}
}

// apply returns content after the change; a gap before the change reads as zeros.
func (c change) apply(content []byte) []byte {
	end := c.offset + int64(len(c.data))
	if grow := end - int64(len(content)); grow > 0 {
		content = append(content, make([]byte, grow)...)
	}
	if c.data == nil {
		return content[:c.offset:c.offset]
	}
	copy(content[c.offset:end], c.data)
	return content
}

// step accounts for one changing operation and fails when the power is gone.
func (d *Disk) step() error {
	if err := d.power(); err != nil {
		return err
	}
	d.steps++
	return nil
}

func (d *Disk) power() error {
	if d.options.CutAfter > 0 && d.steps >= d.options.CutAfter {
		return ErrCut
	}
	return nil
}

// syncs asks the hooks about an fsync: whether to do it, and how it fails.
func (d *Disk) syncs(s Sync) (do bool, err error) {
	if d.options.FailSync != nil {
		if err := d.options.FailSync(s); err != nil {
			return false, &fs.PathError{Op: "fsync", Path: s.Name, Err: err}
		}
	}
	return d.options.SkipSync == nil || !d.options.SkipSync(s), nil
}
