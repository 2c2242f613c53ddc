// Makes the names of uploaded files safe and unique for a zip and for the file systems of receivers.

package archive

import (
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxSegment is the maximum length of a file or folder name in bytes on common file systems.
const maxSegment = 255

// maxDepth is how many segments a path keeps. It bounds the memory for a name of many folders.
const maxDepth = 64

// Layout is the version of the names and headers of a zip. It is a part of the ETag of archives: when the same files make other bytes, it
// must change, or a download that an update interrupts would go on with the bytes of another file.
const Layout = "zip3"

// Unnamed is the name of a file whose name cleaning leaves empty.
const Unnamed = "file"

// Names returns unique, safe paths for files of any names, to unpack below one folder (contract 4.16). Backslashes separate
// like slashes. Empty segments, segments of only dots and blanks, and drive letters are dropped. Names that Windows reserves
// get an underscore in front. Segments are cut to maxSegment and paths to maxDepth. A name that equals another one after
// folding gets a number. The cost is linear in the length of the names.
func Names(names []string) []string {
	t := tree{entries: map[spot]int{}, next: map[spot]int{}}
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = t.place(segments(name))
	}
	return out
}

// FileName returns the last segment of a cleaned name, to save a single file under.
func FileName(name string) string {
	s := segments(name)
	return s[len(s)-1]
}

// segments returns the parts of a cleaned name, at least one.
func segments(name string) []string {
	var out []string
	for part := range strings.SplitSeq(strings.ReplaceAll(name, `\`, "/"), "/") {
		for len(part) >= 2 && part[1] == ':' && isLetter(part[0]) {
			part = part[2:]
		}
		switch {
		case blank(part):
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
		out[i] = usable(part)
	}
	return out
}

// usable makes a segment one that file systems can hold. It looks at the segment after the cut, which can make it blank or reserved.
func usable(segment string) string {
	cut := shorten(segment, maxSegment)
	switch {
	case blank(cut):
		return Unnamed
	case reserved(cut):
		return "_" + shorten(cut, maxSegment-1)
	}
	return cut
}

// blank reports whether a segment has only dots and blanks. Windows drops them at the end of a name.
func blank(segment string) bool { return strings.Trim(segment, ". ") == "" }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// reserved reports whether Windows reserves the name for a device, with any extension.
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

// split splits a segment into a stem, which is numbered or cut, and an extension, which is kept.
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

// tree holds the paths assigned so far. Folders have numbers; the root is 0.
type tree struct {
	entries map[spot]int // number of the folder, or file
	next    map[spot]int // next number to try, by the name to number
}

// spot is a folded name within a folder.
type spot struct {
	folder int
	name   string
}

const file = -1

// place assigns a path to a file. It changes the segments as little as possible, in place.
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

// free returns part, or, when the folder has that name already, part with a number: "a (2).txt". The stem is cut so that the name
// fits maxSegment with its number. t.next stores the last number of each name, where the search goes on: without it, many files of
// the same name would cost quadratic time.
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
				t.next[numbered] = n // a folder may come again and share its number; a file takes the next
				return name, at
			}
		}
		t.next[numbered] = to
	}
}

// fold maps names that a file system may treat as equal to the same string: case, composition of letters, and trailing blanks
// and dots.
func fold(name string) string {
	return strings.TrimRight(norm.NFC.String(strings.ToLower(norm.NFC.String(name))), ". ")
}
