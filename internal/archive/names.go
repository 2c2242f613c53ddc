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

// Unnamed is what a name is called of which cleaning leaves nothing.
const Unnamed = "file"

// Names turns the names of files, which may be anything, into paths that can be unpacked side by side below any folder
// and never outside of it (contract 4.16). Backslashes separate as slashes do; empty segments, those of nothing but dots
// and blanks, and drive letters are dropped; names that Windows reserves get an underscore in front; segments are cut to
// what file systems take; and what would meet another file, whatever the case or form of its letters, is numbered.
func Names(names []string) []string {
	t := tree{files: map[string]bool{}, folders: map[string]bool{}, next: map[string]int{}}
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
		if strings.Trim(part, ". ") == "" {
			continue
		}
		if reserved(part) {
			part = "_" + part
		}
		out = append(out, shorten(part, maxSegment))
	}
	if out == nil {
		return []string{Unnamed}
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

// tree is what has been placed so far, by folded path.
type tree struct {
	files, folders map[string]bool
	next           map[string]int // the number to try next for a taken path
}

// place finds a path for a file, as near as possible to what its segments say.
func (t *tree) place(parts []string) string {
	last := len(parts) - 1
	at := ""
	for _, part := range parts[:last] {
		at = t.free(at, part, func(key string) bool { return t.files[key] }) + "/"
		t.folders[fold(strings.TrimSuffix(at, "/"))] = true
	}
	at = t.free(at, parts[last], func(key string) bool { return t.files[key] || t.folders[key] })
	t.files[fold(at)] = true
	return at
}

// free is parent+part, with a number where that is taken.
func (t *tree) free(parent, part string, taken func(key string) bool) string {
	at := parent + part
	key := fold(at)
	if !taken(key) {
		return at
	}
	base, extension := split(part)
	for n := max(2, t.next[key]); ; n++ {
		number := " (" + strconv.Itoa(n) + ")"
		at = parent + shorten(base, maxSegment-len(extension)-len(number)) + number + extension
		if !taken(fold(at)) {
			t.next[key] = n // a folder may come by again; a file moves it on when it does
			return at
		}
	}
}

// fold is what two paths have in common that some file system takes for the same: case and composition of letters, and
// blanks and dots at the end of a segment.
func fold(p string) string {
	p = norm.NFC.String(strings.ToLower(norm.NFC.String(p)))
	if !strings.Contains(p, "./") && !strings.Contains(p, " /") && !strings.HasSuffix(p, ".") && !strings.HasSuffix(p, " ") {
		return p
	}
	parts := strings.Split(p, "/")
	for i := range parts {
		parts[i] = strings.TrimRight(parts[i], ". ")
	}
	return strings.Join(parts, "/")
}
