package archive

import (
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxSegment is how many bytes file systems let a file or folder name have.
const maxSegment = 255

// maxDepth is how many segments a path keeps: a name of nothing but folders would fill memory with them.
const maxDepth = 64

// Unnamed is what a name is called of which cleaning leaves nothing.
const Unnamed = "file"

// Names turns the names of files, which may be anything, into paths that can be unpacked side by side below any folder
// and never outside of it (contract 4.16). Backslashes separate as slashes do; empty segments, those of nothing but dots
// and blanks, and drive letters are dropped; names that Windows reserves get an underscore in front; segments are cut to
// what file systems take, folders deeper than anybody nests them are left out; and what would meet another file, whatever the case or
// form of its letters, is numbered. The work grows with the length of the names alone.
func Names(names []string) []string {
	t := tree{entries: map[spot]int{}, next: map[spot]int{}}
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = t.place(segments(name))
	}
	return out
}

// FileName is the last segment of a cleaned name: what a single file is saved under.
func FileName(name string) string {
	s := segments(name)
	return s[len(s)-1]
}

// segments returns the parts of a name that are left after cleaning, at least one.
func segments(name string) []string {
	var out []string
	for part := range strings.SplitSeq(strings.ReplaceAll(name, `\`, "/"), "/") {
		for len(part) >= 2 && part[1] == ':' && isLetter(part[0]) {
			part = part[2:]
		}
		switch {
		case strings.Trim(part, ". ") == "":
		case len(out) < maxDepth:
			out = append(out, part)
		default:
			out[maxDepth-1] = part
		}
	}
	if out == nil {
		return []string{Unnamed}
	}
	for i, part := range out {
		if reserved(part) {
			part = "_" + part
		}
		out[i] = shorten(part, maxSegment)
	}
	return out
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// reserved reports whether Windows takes a name for a device, whatever its extension.
func reserved(segment string) bool {
	base, _, _ := strings.Cut(segment, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	digit, ok := strings.CutPrefix(base, "COM")
	if !ok {
		digit, ok = strings.CutPrefix(base, "LPT")
	}
	return ok && utf8.RuneCountInString(digit) == 1 && strings.Contains("0123456789¹²³", digit)
}

// split parts a segment into what is numbered or cut, and an extension that stays.
func split(segment string) (base, extension string) {
	extension = path.Ext(segment)
	base = strings.TrimSuffix(segment, extension)
	if base == "" || len(extension) > 32 {
		return segment, ""
	}
	return base, extension
}

// shorten cuts a segment to limit bytes between two characters, before its extension.
func shorten(segment string, limit int) string {
	if len(segment) <= limit {
		return segment
	}
	base, extension := split(segment)
	end := limit - len(extension)
	for end > 0 && !utf8.RuneStart(base[end]) {
		end--
	}
	return base[:end] + extension
}

// tree is what has been placed so far. Folders have numbers; the root's is 0.
type tree struct {
	entries map[spot]int // a folder's number, or file
	next    map[spot]int // the number to try next, by what is numbered
}

// spot is a folded name in a folder.
type spot struct {
	folder int
	name   string
}

const file = -1

// place finds a path for a file, as near as possible to what its segments say, which it overwrites.
func (t *tree) place(parts []string) string {
	folder, last := 0, len(parts)-1
	for i := range parts[:last] {
		var at spot
		parts[i], at = t.free(folder, parts[i], func(at spot) bool { return t.entries[at] == file })
		if t.entries[at] == 0 {
			t.entries[at] = len(t.entries) + 1
		}
		folder = t.entries[at]
	}
	var at spot
	parts[last], at = t.free(folder, parts[last], func(at spot) bool { return t.entries[at] != 0 })
	t.entries[at] = file
	return strings.Join(parts, "/")
}

// free is part, with a number where that is taken in a folder. Numbers are tried from the last one on that was found for the same name,
// as far as a number of so many digits leaves room for it: names that end alike are as many as there are files.
func (t *tree) free(folder int, part string, taken func(spot) bool) (string, spot) {
	at := spot{folder, fold(part)}
	if !taken(at) {
		return part, at
	}
	base, extension := split(part)
	for digits, from, to := 1, 2, 10; ; digits, from, to = digits+1, to, 10*to {
		cut := shorten(base, maxSegment-len(extension)-len(" ()")-digits)
		numbered := spot{folder, fold(cut+" ()"+extension) + strconv.Itoa(digits)}
		for n := max(from, t.next[numbered]); n < to; n++ {
			name := cut + " (" + strconv.Itoa(n) + ")" + extension
			if at.name = fold(name); !taken(at) {
				t.next[numbered] = n // a folder may come by again; a file moves it on when it does
				return name, at
			}
		}
		t.next[numbered] = to
	}
}

// fold is what two names have in common that some file system takes for the same: case and composition of letters, and
// blanks and dots at the end.
func fold(name string) string {
	return strings.TrimRight(norm.NFC.String(strings.ToLower(norm.NFC.String(name))), ". ")
}
