// Lays text out on A4 pages: margins, columns, and page breaks.

package pdf

import (
	"strings"

	"codeberg.org/go-pdf/fpdf"
)

// A4 and its margins, in points from the top left corner.
const (
	millimetre = 72 / 25.4

	pageWidth  = 210 * millimetre
	pageHeight = 297 * millimetre

	left   = 25 * millimetre
	right  = pageWidth - 22*millimetre
	top    = 30 * millimetre
	bottom = pageHeight - 28*millimetre

	headerLine = 17 * millimetre               // baseline
	footerLine = pageHeight - 17*millimetre    // baseline of the first line
	numbering  = 34.0                          // width of the column of numbers
	bullets    = 20.0                          // width of the column of bullets and letters
	gutter     = 24.0                          // between two columns
	column     = (right - left - gutter) / 2.0 // width of one of two columns
)

// mark is an element of a page: a text in one face, or a rule when it has no face.
type mark struct {
	x, y   float64 // start of the baseline
	text   string
	in     choice
	size   float64
	grey   bool
	ink    Colour
	length float64          // of a rule
	art    func(*fpdf.Fpdf) // draws anything else
}

type page struct {
	marks    []mark
	contents []entry
}

// entry is a section in the table of contents (PDF bookmarks).
type entry struct {
	text string
	y    float64
}

// layout fills pages from top to bottom. It stores the first error and does nothing afterwards.
type layout struct {
	*typesetter
	pages []page
	y     float64 // where the next line begins
	err   error
}

func newLayout(t *typesetter) *layout {
	l := &layout{typesetter: t}
	l.newPage()
	return l
}

func (l *layout) newPage() {
	l.pages = append(l.pages, page{})
	l.y = top
}

func (l *layout) atTop() bool { return l.y == top }

// need starts a new page unless height points are left on the current one.
func (l *layout) need(height float64) {
	if l.y+height > bottom && !l.atTop() {
		l.newPage()
	}
}

// space adds vertical space, except at the top of a page.
func (l *layout) space(height float64) {
	if !l.atTop() {
		l.y += height
	}
}

// glyphs shapes a text. A character that cannot be printed sets l.err.
func (l *layout) glyphs(text string, s style) []glyph {
	if l.err != nil {
		return nil
	}
	if l.finder.sheet && !validText(text) {
		l.boxed = true
		text = strings.ToValidUTF8(text, string(box))
	}
	if !validText(text) {
		l.err = ErrEncoding
		return nil
	}
	glyphs, missing := l.shape(text, s)
	if len(missing) > 0 {
		l.err = &GlyphError{Text: text, Runes: missing}
		return nil
	}
	return glyphs
}

// set puts a line on a page with its baseline at y.
func (p *page) set(line []glyph, s style, x, y float64) {
	line = visual(line)
	for from := 0; from < len(line); {
		if line[from].outlined {
			p.outline(line[from], s, x, y)
			x += s.measure(line[from : from+1])
			from++
			continue
		}
		to := from
		var text []rune
		for to < len(line) && line[to].in == line[from].in && !line[to].outlined {
			if line[to].r != '\u200b' {
				text = append(text, line[to].r)
			}
			to++
		}
		if line[from].in.face != nil {
			p.marks = append(p.marks, mark{x: x, y: y, text: string(text), in: line[from].in, size: s.size, grey: s.grey,
				ink: s.ink})
		}
		x += s.measure(line[from:to])
		from = to
	}
}

func (p *page) rule(x, y, length float64) {
	p.marks = append(p.marks, mark{x: x, y: y, length: length})
}

// current returns the last page.
func (l *layout) current() *page { return &l.pages[len(l.pages)-1] }

// paragraph sets a text between x and the right margin, with a label (number or bullet) before its first line. It avoids
// single lines at the end or the beginning of a page (widows and orphans).
func (l *layout) paragraph(text string, s style, x float64, label string, labelX float64) {
	lines := s.lines(l.glyphs(text, s), right-x)
	for i := 0; i < len(lines); {
		fit := min(int((bottom-l.y)/l.leading(s)+1e-6), len(lines)-i)
		rest := len(lines) - i - fit
		if rest == 1 {
			fit, rest = fit-1, rest+1 // move one line to the next page, so that the last is not alone
		}
		if rest > 0 && fit < 2 && i == 0 {
			fit = 0
		}
		if fit <= 0 && l.atTop() {
			fit = 1
		}
		for range max(fit, 0) {
			if i == 0 && label != "" {
				l.current().set(l.glyphs(label, s), s, labelX, l.baseline(s))
			}
			l.current().set(lines[i], s, x, l.baseline(s))
			l.y += l.leading(s)
			i++
		}
		if i < len(lines) {
			l.newPage()
		}
	}
}

// baseline returns the baseline of a line that begins at l.y.
func (l *layout) baseline(s style) float64 { return l.y + (l.leading(s)+s.size*0.72)/2 }

// columns sets n cells, two in a row, each on one page. cell draws cell i at x, y and returns its end. It is called twice,
// the first time on a discarded page to measure the height.
func (l *layout) columns(n int, cell func(p *page, i int, x, y float64) float64) {
	for i := 0; i < n; i += 2 {
		end := cell(&page{}, i, 0, 0)
		if i+1 < n {
			end = max(end, cell(&page{}, i+1, 0, 0))
		}
		l.need(end)
		for j := i; j < min(i+2, n); j++ {
			cell(l.current(), j, left+float64(j-i)*(column+gutter), l.y)
		}
		l.y += end
	}
}

// block sets a text in a column and returns its end.
func (l *layout) block(p *page, text string, s style, x, y float64) float64 {
	for _, line := range s.lines(l.glyphs(text, s), column) {
		p.set(line, s, x, y+(l.leading(s)+s.size*0.72)/2)
		y += l.leading(s)
	}
	return y
}

// cut shortens a text to at most that many lines, with an ellipsis at the end.
func (l *layout) cut(text string, s style, width float64, most int) [][]glyph {
	lines := s.lines(l.glyphs(text, s), width)
	if len(lines) <= most {
		return lines
	}
	lines = lines[:most]
	dots := l.glyphs("…", s)
	last := append([]glyph(nil), lines[most-1]...)
	for len(last) > 0 && s.measure(last)+s.measure(dots) > width {
		last = last[:len(last)-1]
	}
	lines[most-1] = append(trim(last), dots...)
	return lines
}
