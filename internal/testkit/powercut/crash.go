// What survives a simulated power cut or kill -9 of the disk.

package powercut

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
)

// Outcome is what a power cut does to an operation that no fsync has covered.
type Outcome int

// The outcomes.
const (
	Lost    Outcome = iota // as if it had never happened
	Kept                   // it reached the disk
	Garbled                // of a write: the length changed and the bytes are garbage; of a name: like Kept
)

// Op describes the operation that a Fate decides about.
type Op struct {
	Name bool // a change of a directory entry, not of a file
}

// Fate decides about each operation that no fsync has covered, in the order of execution within one file or directory.
type Fate func(Op) Outcome

// Nothing keeps only what was fsynced.
func Nothing(Op) Outcome { return Lost }

// NamesOnly keeps all directory entries, and the content that was fsynced.
func NamesOnly(op Op) Outcome {
	if op.Name {
		return Kept
	}
	return Lost
}

// ContentOnly keeps all content, and the directory entries that were fsynced.
func ContentOnly(op Op) Outcome {
	if op.Name {
		return Lost
	}
	return Kept
}

// Garbage is NamesOnly with every write garbled, as when a length reaches the disk before its data.
func Garbage(op Op) Outcome {
	if op.Name {
		return Kept
	}
	return Garbled
}

// Random gives each operation one of the three outcomes, determined by the seed.
func Random(seed uint64) Fate {
	r := rand.New(rand.NewPCG(seed, seed))
	return func(Op) Outcome { return Outcome(r.IntN(3)) }
}

// Crash cuts the power and returns the disk that the next start finds. The Disk itself is unchanged, so that one moment can be
// cut in several ways. Files opened before belong to it and not to the returned disk.
func (d *Disk) Crash(fate Fate, o Options) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := copier{fate: fate, nodes: map[*node]*node{}, survived: map[*link]bool{}}
	return d.copied(&c, o)
}

// Restart returns the disk as the next process finds it after kill -9: everything is visible, and what was not fsynced is still
// uncertain. The Disk itself is unchanged.
func (d *Disk) Restart(o Options) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := copier{nodes: map[*node]*node{}, links: map[*link]*link{}}
	return d.copied(&c, o)
}

func (d *Disk) copied(c *copier, o Options) *Disk {
	next := New(o)
	next.root = c.node(d.root)
	next.used = next.root.size(map[*node]bool{})
	return next
}

// size returns the bytes that a process can reach from n; a file with two names counts once.
func (n *node) size(seen map[*node]bool) int64 {
	if seen[n] {
		return 0
	}
	seen[n] = true
	size := int64(len(n.live))
	for _, entry := range n.entries {
		size += entry.size(seen)
	}
	return size
}

// copier copies a tree, either unchanged or, with a fate, as it survives.
type copier struct {
	fate     Fate
	nodes    map[*node]*node // a file may have two names
	survived map[*link]bool
	links    map[*link]*link
}

func (c *copier) node(n *node) *node {
	if n == nil {
		return nil
	}
	if done := c.nodes[n]; done != nil {
		return done
	}
	next := &node{modified: n.modified, isDir: n.isDir}
	c.nodes[n] = next
	switch {
	case n.isDir && c.fate != nil:
		c.survivingEntries(n, next)
	case n.isDir:
		next.entries, next.kept = c.entries(n.entries), c.entries(n.kept)
		for _, l := range n.links {
			next.links = append(next.links, c.link(l))
		}
	case c.fate != nil:
		next.live = c.survivingContent(n)
		next.durable = slices.Clone(next.live)
	default:
		next.live, next.durable = slices.Clone(n.live), slices.Clone(n.durable)
		next.changes = slices.Clone(n.changes)
	}
	return next
}

func (c *copier) entries(from map[string]*node) map[string]*node {
	to := make(map[string]*node, len(from))
	for _, name := range slices.Sorted(maps.Keys(from)) { // sorted, so that a seed always decides the same
		to[name] = c.node(from[name])
	}
	return to
}

func (c *copier) link(l *link) *link {
	if l == nil {
		return nil
	}
	if done := c.links[l]; done != nil {
		return done
	}
	next := &link{name: l.name, durable: l.durable}
	c.links[l] = next
	next.target, next.after = c.node(l.target), c.link(l.after)
	return next
}

func (c *copier) survivingEntries(n, next *node) {
	kept := maps.Clone(n.kept)
	for _, l := range n.links {
		if c.survives(l) {
			apply(kept, l)
		}
	}
	next.entries = c.entries(kept)
	next.kept = c.entries(kept)
}

// survives decides about a directory entry once; an old name is lost only if the new one survives.
func (c *copier) survives(l *link) bool {
	if l.durable {
		return true
	}
	if decided, ok := c.survived[l]; ok {
		return decided
	}
	s := c.fate(Op{Name: true}) != Lost
	if s && l.after != nil {
		s = c.survives(l.after)
	}
	c.survived[l] = s
	return s
}

func (c *copier) survivingContent(n *node) []byte {
	content := slices.Clone(n.durable)
	for _, ch := range n.changes {
		switch c.fate(Op{}) {
		case Lost:
			continue
		case Garbled:
			if ch.data != nil {
				ch.data = bytes.Repeat([]byte{0xDB}, len(ch.data))
			}
		}
		content = ch.apply(content)
	}
	return content
}
