// Tests of file names in a zip.

package archive_test

import (
	"encoding/hex"
	"path"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/consign-dev/consign/internal/archive"
	"github.com/consign-dev/consign/internal/seal"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want []string }{
		{[]string{"plan.pdf", "Pläne/Brücke 1.pdf"}, []string{"plan.pdf", "Pläne/Brücke 1.pdf"}},
		{[]string{"../../etc/passwd", `..\..\boot.ini`, "/etc/shadow", "a/./b//c"}, []string{"etc/passwd", "boot.ini", "etc/shadow", "a/b/c"}},
		{[]string{`C:\Windows\x.dll`, "c:evil", "C:..", "D:E:x", "a/C:/b", `\\server\share\f`},
			[]string{"Windows/x.dll", "evil", "file", "x", "a/b", "server/share/f"}},
		{[]string{"..", ".", "", "...", ".. ", " ", "a/.. /b"},
			[]string{"file", "file (2)", "file (3)", "file (4)", "file (5)", "file (6)", "a/b"}},
		{[]string{"CON", "con.txt", "aux .h", "COM1", "com¹.x", "COM10", "nul/x", "LPT9.tar.gz", "console"},
			[]string{"_CON", "_con.txt", "_aux .h", "_COM1", "_com¹.x", "COM10", "_nul/x", "_LPT9.tar.gz", "console"}},
		{[]string{"a.txt", "a.txt", "A.TXT", "a.txt.", "a (2).txt"}, []string{"a.txt", "a (2).txt", "A (3).TXT", "a (2).txt.", "a (2) (2).txt"}},
		{[]string{"é", "e\u0301", ".bashrc", ".bashrc"}, []string{"é", "e\u0301 (2)", ".bashrc", ".bashrc (2)"}},
		{[]string{"a", "a/b", "a/b", "x/y", "x"}, []string{"a", "a (2)/b", "a (2)/b (2)", "x/y", "x (2)"}},
		{[]string{strings.Repeat("😀", 255) + ".jpeg"}, []string{strings.Repeat("😀", 62) + ".jpeg"}},
		{[]string{strings.Repeat(" ", 255) + "x", strings.Repeat(" ", 224) + "." + strings.Repeat("x", 40)},
			[]string{"file", strings.Repeat(" ", 224) + "." + strings.Repeat("x", 30)}},
		{[]string{"CON" + strings.Repeat(" ", 252) + "x"}, []string{"_CON" + strings.Repeat(" ", 251)}},
		{[]string{"-rf", "~", "12:30", "*?"}, []string{"-rf", "~", "12:30", "*?"}},
	} {
		got := archive.Names(c.in)
		// Windows trims these to one name; which one gets the number does not matter.
		if c.in[0] == "a.txt" {
			checkUnpackable(t, got)
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: %s", c.in, diff)
		}
	}
	for name, want := range map[string]string{
		`C:\Pläne/"1"; x.bin`: `"1"; x.bin`, "a/..": "a", "..": "file", "C:evil.txt": "evil.txt", "x/nul.txt": "_nul.txt",
	} {
		if got := archive.FileName(name); got != want {
			t.Errorf("FileName(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestLayout fails when names change without Layout.
func TestLayout(t *testing.T) {
	t.Parallel()
	names := archive.Names([]string{"a.txt", "A.txt", `..\b`, "C:c", "CON", "a.txt/d", " ", strings.Repeat("ü", 200) + ".pdf",
		strings.Repeat(" ", 255) + "x", "NUL" + strings.Repeat(" ", 252) + "x", strings.Repeat("e/", 70)})
	got := archive.Layout + " " + hex.EncodeToString(seal.Hash(strings.Join(names, "\n")))
	if want := "zip3 432840b2f252cadef564dec391e8629fc46386c1b2b33960adbf16808f79601c"; got != want {
		t.Errorf("the layout is %q, want %q: give new names a new Layout", got, want)
	}
}

// special matches a segment that Windows takes for a device or a drive.
var special = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$|clock\$) *(\.|$)|^[a-z]:`)

// checkUnpackable fails when two paths are equal, one is a folder of another, or one leads out or to a device.
func checkUnpackable(t *testing.T, names []string) {
	t.Helper()
	key := func(s string) string {
		parts := strings.Split(strings.ToLower(s), "/")
		for i := range parts {
			parts[i] = strings.TrimRight(parts[i], ". ")
		}
		return strings.Join(parts, "/")
	}
	files := map[string]bool{}
	for _, n := range names {
		if files[key(n)] {
			t.Fatalf("%q is there twice in %q", n, names)
		}
		files[key(n)] = true
		if path.IsAbs(n) || path.Clean("/"+n) != "/"+n || strings.Contains(n, `\`) {
			t.Fatalf("%q leads elsewhere", n)
		}
		for part := range strings.SplitSeq(n, "/") {
			if len(part) > 255 || strings.Trim(part, ". ") == "" || special.MatchString(part) {
				t.Fatalf("%q has the segment %q", n, part)
			}
		}
	}
	for _, n := range names {
		for dir := path.Dir(n); dir != "."; dir = path.Dir(dir) {
			if files[key(dir)] {
				t.Fatalf("%q is a file and the folder of %q", dir, n)
			}
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add("../a\n..\\b\nC:c\nCON\na\na/b\nA")
	f.Add(strings.Repeat(" ", 255) + "x\nNUL" + strings.Repeat(" ", 255) + "x")
	f.Add("x/\nx\nx.\nx \n" + strings.Repeat("ü", 400))
	f.Fuzz(func(t *testing.T, all string) {
		in := strings.Split(strings.ToValidUTF8(all, "?"), "\n")
		out := archive.Names(in)
		if len(out) != len(in) {
			t.Fatalf("%d names became %d", len(in), len(out))
		}
		checkUnpackable(t, out)
	})
}

// TestManyNames uses as many files as a transfer can have, with names chosen to be expensive. The holder of the archive's link
// can make the server process them as often as requests are allowed.
func TestManyNames(t *testing.T) { // not parallel: it measures the memory of the process
	for what, c := range map[string]struct {
		name func(i int) string
		last string
	}{
		"equal":              {func(int) string { return "report.pdf" }, "report (10000).pdf"},
		"folders in folders": {func(i int) string { return strings.Repeat("d/", 500) + strconv.Itoa(i) }, strings.Repeat("d/", 63) + "9999"},
		"folders of each own": {func(i int) string { return strconv.Itoa(i) + "/" + strings.Repeat("d/", 500) + "x" },
			"9999/" + strings.Repeat("d/", 62) + "x"},
		"equal when cut": {func(i int) string { return strings.Repeat("a", 250) + strconv.Itoa(10_000+i/2) },
			strings.Repeat("a", 248) + " (5001)"},
	} {
		in := make([]string, 10_000)
		for i := range in {
			in[i] = c.name(i)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out := archive.Names(in)
		runtime.ReadMemStats(&after)
		if out[9_999] != c.last {
			t.Errorf("%s: got %s", what, out[9_999])
		}
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 500 {
			t.Errorf("%s: took %d MiB of memory, one after the other", what, took)
		}
	}
}
