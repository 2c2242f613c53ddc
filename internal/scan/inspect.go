// Looks into zip files and first bytes for content that a policy can hold, in bounded memory.

package scan

import (
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// Rule is a kind of content that a policy can hold, whatever a scanner says about it.
type Rule string

// The rules.
const (
	Encrypted  Rule = "encrypted"  // an archive or document that cannot be read without a password
	Nested     Rule = "nested"     // archives in archives, deeper than maxDepth or too large to be looked into
	Bomb       Rule = "bomb"       // an archive that grows more than maxRatio times, or whose entries overlap
	Macros     Rule = "macros"     // an office document with macros
	Executable Rule = "executable" // a program, by its first bytes
)

// Rules are all rules.
var Rules = []Rule{Encrypted, Nested, Bomb, Macros, Executable}

// The bounds of Inspect.
const (
	maxDepth   = 3         // an office document in a zip in a zip
	maxRatio   = 100       // uncompressed to compressed bytes
	ratioFrom  = 1 << 30   // uncompressed bytes from which the ratio counts
	maxEntries = 200_000   // of all archives of a file
	maxInner   = 32 << 20  // bytes of inner archives that are kept in memory at a time
	maxWork    = 512 << 20 // bytes of inner archives of a file, one after the other
	window     = 64 << 10  // bytes read from the file at once
)

const (
	directoryEnd       = "PK\x05\x06"
	directoryEnd64     = "PK\x06\x06"
	directoryLocator64 = "PK\x06\x07"
	directoryEntry     = "PK\x01\x02"
	localHeader        = "PK\x03\x04"
)

// Inspect looks into a zip file, also an office document, and into those in it. Of other files it sees only whether they are programs.
// Memory is bounded by maxInner, whatever the file says about itself. An error is one of r or of ctx: what is malformed is no zip file.
func Inspect(ctx context.Context, r io.ReaderAt, size int64) ([]Rule, error) {
	i := inspection{ctx: ctx, found: map[Rule]bool{}, room: maxInner, work: maxWork}
	head := make([]byte, min(size, 8))
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("inspect file: %w", err)
	}
	if executable(head) {
		i.found[Executable] = true
	}
	file := &windowed{r: r, size: size}
	if err := i.archive(file, size, 1); err != nil {
		return nil, err
	}
	var rules []Rule
	for _, rule := range Rules {
		if i.found[rule] {
			rules = append(rules, rule)
		}
	}
	return rules, file.err
}

// executable reports whether the first bytes are those of a program or a script: Windows, Linux, macOS.
func executable(head []byte) bool {
	for _, magic := range []string{"MZ", "\x7fELF", "#!", "\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return false
}

type inspection struct {
	ctx     context.Context
	found   map[Rule]bool
	entries int
	room    int64 // bytes of inner archives that may still be kept in memory
	work    int64 // bytes of inner archives that may still be uncompressed
}

// archive looks into a zip file at a depth; 1 is the file itself.
func (i *inspection) archive(r io.ReaderAt, size int64, depth int) error {
	d, ok := findDirectory(r, size)
	if !ok {
		return nil
	}
	if depth > maxDepth {
		i.found[Nested] = true
		return nil
	}
	in := bufio.NewReaderSize(io.NewSectionReader(r, d.offset, d.size), 16<<10)
	var packed, unpacked uint64
	for {
		if err := i.ctx.Err(); err != nil {
			return fmt.Errorf("inspect file: %w", context.Cause(i.ctx))
		}
		e, ok := readEntry(in)
		if !ok {
			break
		}
		if i.entries++; i.entries > maxEntries {
			i.found[Bomb] = true
			return nil
		}
		packed, unpacked = packed+min(e.packed, 1<<44), unpacked+min(e.unpacked, 1<<44)
		if err := i.entry(r, d, e, depth); err != nil {
			return err
		}
	}
	if packed > uint64(size) || unpacked > ratioFrom && unpacked/maxRatio > uint64(size) {
		i.found[Bomb] = true
	}
	return nil
}

// entry looks at one entry of an archive.
func (i *inspection) entry(r io.ReaderAt, d directory, e entry, depth int) error {
	if e.flags&1 != 0 {
		i.found[Encrypted] = true
		return nil
	}
	if hasMacros(e.name) {
		i.found[Macros] = true
	}
	content, ok := open(r, d, e)
	if !ok {
		return nil
	}
	head := make([]byte, 4)
	if n, _ := io.ReadFull(content, head); executable(head[:n]) {
		i.found[Executable] = true
	}
	if string(head) != localHeader {
		return nil
	}
	if depth >= maxDepth || e.unpacked > uint64(min(i.room, i.work)) {
		i.found[Nested] = true
		return nil
	}
	i.work -= int64(e.unpacked)
	i.room -= int64(e.unpacked)
	defer func() { i.room += int64(e.unpacked) }()
	inner := make([]byte, e.unpacked)
	n, err := io.ReadFull(io.MultiReader(bytes.NewReader(head), content), inner)
	if more, _ := content.Read(head); err != nil || more > 0 { // it lies about its size, or is damaged
		i.found[Nested] = true
	}
	return i.archive(bytes.NewReader(inner[:n]), int64(n), depth+1)
}

// hasMacros reports whether an entry of this name holds macros: of Microsoft's formats or of OpenDocument.
func hasMacros(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, `\`, "/"))
	return path.Base(name) == "vbaproject.bin" || strings.HasPrefix(name, "xl/macrosheets/") ||
		strings.HasPrefix(name, "basic/") && strings.HasSuffix(name, ".xml") || strings.HasPrefix(name, "scripts/") &&
		!strings.HasSuffix(name, "/")
}

// directory is where the central directory of a zip file is. base is the offset of the zip file in the file.
type directory struct{ offset, size, base int64 }

// findDirectory finds the central directory of a zip file by its end record.
func findDirectory(r io.ReaderAt, size int64) (directory, bool) {
	tail := make([]byte, min(size, 22+1<<16))
	if n, err := r.ReadAt(tail, size-int64(len(tail))); n < len(tail) && err != nil {
		return directory{}, false
	}
	at := bytes.LastIndex(tail, []byte(directoryEnd))
	if at < 0 || len(tail)-at < 22 {
		return directory{}, false
	}
	end := size - int64(len(tail)) + int64(at)
	length, offset := uint64(binary.LittleEndian.Uint32(tail[at+12:])), uint64(binary.LittleEndian.Uint32(tail[at+16:]))
	if length == 1<<32-1 || offset == 1<<32-1 {
		var ok bool
		if length, offset, end, ok = find64(r, end); !ok {
			return directory{}, false
		}
	}
	if length > uint64(end) || offset > uint64(end)-length {
		return directory{}, false
	}
	start := end - int64(length)
	return directory{offset: start, size: int64(length), base: start - int64(offset)}, true
}

// find64 reads the end record of zip64, whose locator is before the ordinary end record.
func find64(r io.ReaderAt, end int64) (length, offset uint64, at int64, ok bool) {
	locator := make([]byte, 20)
	if end < 20 {
		return 0, 0, 0, false
	}
	if n, _ := r.ReadAt(locator, end-20); n < 20 || string(locator[:4]) != directoryLocator64 {
		return 0, 0, 0, false
	}
	record, position := make([]byte, 56), binary.LittleEndian.Uint64(locator[8:])
	if position > uint64(end)-20 {
		return 0, 0, 0, false
	}
	if n, _ := r.ReadAt(record, int64(position)); n < 56 || string(record[:4]) != directoryEnd64 {
		return 0, 0, 0, false
	}
	return binary.LittleEndian.Uint64(record[40:]), binary.LittleEndian.Uint64(record[48:]), int64(position), true
}

// entry is one entry of a central directory.
type entry struct {
	name             string
	flags, method    uint16
	packed, unpacked uint64
	offset           uint64
}

// readEntry reads the next entry. ok is false at the end.
func readEntry(in *bufio.Reader) (e entry, ok bool) {
	head := make([]byte, 46)
	if _, err := io.ReadFull(in, head); err != nil || string(head[:4]) != directoryEntry {
		return entry{}, false
	}
	le := binary.LittleEndian
	e = entry{
		flags: le.Uint16(head[8:]), method: le.Uint16(head[10:]), packed: uint64(le.Uint32(head[20:])), unpacked: uint64(le.Uint32(head[24:])),
		offset: uint64(le.Uint32(head[42:])),
	}
	texts := make([]byte, int(le.Uint16(head[28:]))+int(le.Uint16(head[30:]))+int(le.Uint16(head[32:])))
	if _, err := io.ReadFull(in, texts); err != nil {
		return entry{}, false
	}
	n := le.Uint16(head[28:])
	e.name = string(texts[:n])
	e.extend(texts[n:][:le.Uint16(head[30:])])
	return e, true
}

// extend takes sizes and offset from the extra field of zip64, where the ordinary ones are full.
func (e *entry) extend(extra []byte) {
	le := binary.LittleEndian
	for len(extra) >= 4 {
		kind, n := le.Uint16(extra), int(le.Uint16(extra[2:]))
		if extra = extra[4:]; n > len(extra) {
			return
		}
		field := extra[:n]
		extra = extra[n:]
		if kind != 1 {
			continue
		}
		for _, value := range []*uint64{&e.unpacked, &e.packed, &e.offset} {
			if *value == 1<<32-1 && len(field) >= 8 {
				*value, field = le.Uint64(field), field[8:]
			}
		}
	}
}

// open returns the uncompressed content of an entry. ok is false for methods other than stored and deflate.
func open(r io.ReaderAt, d directory, e entry) (io.Reader, bool) {
	at, head := d.base+int64(min(e.offset, 1<<62)), make([]byte, 30)
	if n, _ := r.ReadAt(head, max(at, 0)); n < 30 || at < 0 || string(head[:4]) != localHeader {
		return nil, false
	}
	from := at + 30 + int64(binary.LittleEndian.Uint16(head[26:])) + int64(binary.LittleEndian.Uint16(head[28:]))
	packed := io.NewSectionReader(r, from, int64(min(e.packed, 1<<62)))
	switch e.method {
	case 0:
		return packed, true
	case 8:
		return flate.NewReader(bufio.NewReader(packed)), true
	}
	return nil, false
}

// windowed reads a file in windows: small reads near each other cost one request to the storage. It keeps the first error.
type windowed struct {
	r      io.ReaderAt
	size   int64
	at     int64
	buffer []byte
	err    error
}

// ReadAt implements io.ReaderAt, for one goroutine.
func (w *windowed) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= w.size {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) {
		at := off + int64(n)
		if at >= w.size {
			return n, io.EOF
		}
		if at < w.at || at >= w.at+int64(len(w.buffer)) {
			if err := w.fill(at); err != nil {
				return n, err
			}
		}
		n += copy(p[n:], w.buffer[at-w.at:])
	}
	return n, nil
}

func (w *windowed) fill(at int64) error {
	if cap(w.buffer) == 0 {
		w.buffer = make([]byte, 0, window)
	}
	part := w.buffer[:min(window, w.size-at)]
	n, err := w.r.ReadAt(part, at)
	if n < len(part) && err != nil && !errors.Is(err, io.EOF) {
		w.buffer, w.err = w.buffer[:0], errors.Join(w.err, fmt.Errorf("inspect file: %w", err))
		return err
	}
	if n == 0 {
		w.buffer = w.buffer[:0]
		return io.EOF
	}
	w.at, w.buffer = at, part[:n]
	return nil
}
