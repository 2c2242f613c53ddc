package pdf_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// printed is a text on a page of a file.
type printed struct {
	text string
	font string // of the page's resources
	x, y float64
}

// opened is a parsed PDF file. The parser knows only what this package writes.
type opened struct {
	objects map[int][]byte
	pages   [][]printed
	fonts   map[string]int // object of each font
}

var (
	objectStart = regexp.MustCompile(`(?m)^(\d+) 0 obj\n`)
	fontEntry   = regexp.MustCompile(`/(F[0-9a-f]{40}) (\d+) 0 R`)
	setFont     = regexp.MustCompile(`BT /(F[0-9a-f]{40}) [\d.]+ Tf ET`)
	showText    = regexp.MustCompile(`BT ([\d.]+) ([\d.]+) Td \(`)
)

func open(t testing.TB, file []byte) *opened {
	t.Helper()
	if !bytes.HasPrefix(file, []byte("%PDF-1.")) || !bytes.HasSuffix(bytes.TrimSpace(file), []byte("%%EOF")) {
		t.Fatal("not a PDF file")
	}
	o := &opened{objects: map[int][]byte{}, fonts: map[string]int{}}
	// Streams may contain bytes that look like the start of an object, so only consecutive numbers count.
	next, from := 0, -1
	for _, at := range objectStart.FindAllSubmatchIndex(file, -1) {
		number, _ := strconv.Atoi(string(file[at[2]:at[3]]))
		if from >= 0 {
			o.objects[next] = file[from:at[0]]
		}
		next, from = number, at[1]
	}
	o.objects[next] = file[from:]
	for _, object := range o.objects {
		if bytes.Contains(object, []byte("/ProcSet")) {
			for _, m := range fontEntry.FindAllSubmatch(object, -1) {
				o.fonts[string(m[1])], _ = strconv.Atoi(string(m[2]))
			}
		}
	}
	kids := regexp.MustCompile(`/Kids \[([^\]]*)\]`).FindSubmatch(file)
	for _, kid := range regexp.MustCompile(`(\d+) 0 R`).FindAllSubmatch(kids[1], -1) {
		number, _ := strconv.Atoi(string(kid[1]))
		content := o.stream(t, o.reference(t, number, "Contents"))
		o.pages = append(o.pages, texts(content))
	}
	return o
}

func (o *opened) reference(t testing.TB, object int, key string) int {
	t.Helper()
	m := regexp.MustCompile(`/` + key + ` \[?(\d+) 0 R`).FindSubmatch(o.objects[object])
	if m == nil {
		t.Fatalf("object %d has no %s", object, key)
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n
}

func (o *opened) stream(t testing.TB, object int) []byte {
	t.Helper()
	_, rest, ok := bytes.Cut(o.objects[object], []byte("stream\n"))
	if !ok {
		t.Fatalf("object %d has no stream", object)
	}
	z, err := zlib.NewReader(bytes.NewReader(rest))
	if err != nil {
		t.Fatalf("object %d: %v", object, err)
	}
	content, err := io.ReadAll(z)
	if err != nil {
		t.Fatalf("object %d: %v", object, err)
	}
	return content
}

// texts returns the texts of a content stream, in order.
func texts(content []byte) []printed {
	var all []printed
	font := ""
	for len(content) > 0 {
		f, s := setFont.FindSubmatchIndex(content), showText.FindSubmatchIndex(content)
		if s == nil {
			return all
		}
		if f != nil && f[0] < s[0] {
			font = string(content[f[2]:f[3]])
			content = content[f[1]:]
			continue
		}
		p := printed{font: font}
		p.x, _ = strconv.ParseFloat(string(content[s[2]:s[3]]), 64)
		p.y, _ = strconv.ParseFloat(string(content[s[4]:s[5]]), 64)
		content = content[s[1]:]
		var units []byte
		for content[0] != ')' {
			if content[0] == '\\' {
				content = content[1:]
				if content[0] == 'r' {
					content[0] = '\r'
				}
			}
			units = append(units, content[0])
			content = content[1:]
		}
		code := make([]uint16, len(units)/2)
		for i := range code {
			code[i] = uint16(units[2*i])<<8 | uint16(units[2*i+1])
		}
		p.text = string(utf16.Decode(code))
		all = append(all, p)
	}
	return all
}

// text returns the text of the file without white space.
func (o *opened) text() string {
	var b strings.Builder
	for _, page := range o.pages {
		for _, p := range page {
			b.WriteString(p.text)
		}
	}
	return squeeze(b.String())
}

func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// checkGlyphs fails for each printed character without an outline in its embedded font.
func (o *opened) checkGlyphs(t testing.TB) {
	t.Helper()
	used := map[string]map[rune]bool{}
	for _, page := range o.pages {
		for _, p := range page {
			if used[p.font] == nil {
				used[p.font] = map[rune]bool{}
			}
			for _, r := range p.text {
				used[p.font][r] = true
			}
		}
	}
	for name, runes := range used {
		descendant := o.reference(t, o.fonts[name], "DescendantFonts")
		glyphs := o.stream(t, o.reference(t, descendant, "CIDToGIDMap"))
		embedded, err := sfnt.Parse(o.stream(t, o.reference(t, o.reference(t, descendant, "FontDescriptor"), "FontFile2")))
		if err != nil {
			t.Fatalf("embedded font: %v", err)
		}
		var buffer sfnt.Buffer
		for r := range runes {
			if err := outlined(embedded, &buffer, r, glyphs); err != nil {
				t.Errorf("%s: %U %c: %v", o.objects[o.fonts[name]], r, r, err)
			}
		}
	}
}

func outlined(f *sfnt.Font, buffer *sfnt.Buffer, r rune, glyphs []byte) error {
	index := sfnt.GlyphIndex(glyphs[2*r])<<8 | sfnt.GlyphIndex(glyphs[2*r+1])
	if index == 0 {
		return fmt.Errorf("the glyph of missing characters")
	}
	outline, err := f.LoadGlyph(buffer, index, fixed.I(1000), nil)
	if err != nil {
		return err
	}
	if len(outline) == 0 && !unicode.IsSpace(r) {
		return fmt.Errorf("a blank glyph")
	}
	return nil
}
