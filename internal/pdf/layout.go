package pdf

// A4 and what of it is used, in points from the top left corner.
const (
	millimetre = 72 / 25.4

	pageWidth  = 210 * millimetre
	pageHeight = 297 * millimetre

	left   = 25 * millimetre
	right  = pageWidth - 22*millimetre
	top    = 30 * millimetre
	bottom = pageHeight - 28*millimetre

	headerLine = 17 * millimetre               // the baseline
	footerLine = pageHeight - 17*millimetre    // that of the first line
	numbering  = 34.0                          // width of the column of numbers
	bullets    = 20.0                          // and of that of bullets and letters
	gutter     = 24.0                          // between two columns
	column     = (right - left - gutter) / 2.0 // one of two
)

// mark is a piece of a page: a text in one face, or a line if it has none.
type mark struct {
	x, y   float64 // of the baseline's start
	text   string
	in     choice
	size   float64
	grey   bool
	length float64 // of a line
}

type page struct {
	marks    []mark
	contents []entry
}

// entry is a section for the table of contents that viewers show beside the pages.
type entry struct {
	text string
	y    float64
}

// layout fills pages from top to bottom. The first error stops it from doing anything useful, and is kept.
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

// need starts a page unless height points are left on this one.
func (l *layout) need(height float64) {
	if l.y+height > bottom && !l.atTop() {
		l.newPage()
	}
}

// space leaves white, except at the top of a page.
func (l *layout) space(height float64) {
	if !l.atTop() {
		l.y += height
	}
}

// glyphs shapes a text and notes what cannot be printed.
func (l *layout) glyphs(text string, s style) []glyph {
	if l.err != nil {
		return nil
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

// set puts a line on a page, its baseline at y.
func (p *page) set(line []glyph, s style, x, y float64) {
	for from := 0; from < len(line); {
		to := from
		var text []rune
		for to < len(line) && line[to].in == line[from].in {
			if line[to].r != '\u200b' {
				text = append(text, line[to].r)
			}
			to++
		}
		if line[from].in.face != nil {
			p.marks = append(p.marks, mark{x: x, y: y, text: string(text), in: line[from].in, size: s.size, grey: s.grey})
		}
		x += s.measure(line[from:to])
		from = to
	}
}

func (p *page) rule(x, y, length float64) {
	p.marks = append(p.marks, mark{x: x, y: y, length: length})
}

// current returns the page that is being filled.
func (l *layout) current() *page { return &l.pages[len(l.pages)-1] }

// paragraph sets a text between x and the right margin, with label (a number, a bullet) before its first line. It does
// not leave a single line of it at the end or the beginning of a page.
func (l *layout) paragraph(text string, s style, x float64, label string, labelX float64) {
	lines := s.lines(l.glyphs(text, s), right-x)
	for i := 0; i < len(lines); {
		fit := min(int((bottom-l.y)/l.leading(s)+1e-6), len(lines)-i)
		rest := len(lines) - i - fit
		if rest == 1 {
			fit, rest = fit-1, rest+1 // take one along
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

// baseline returns where letters stand in a line that begins at l.y.
func (l *layout) baseline(s style) float64 { return l.y + (l.leading(s)+s.size*0.72)/2 }

// columns sets cells side by side, two in a row, each kept on one page. A cell draws itself at x from y and returns
// where it ends; it is called twice, first on a page that is thrown away.
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

// block sets lines of a text in a column and returns where they end.
func (l *layout) block(p *page, text string, s style, x, y float64) float64 {
	for _, line := range s.lines(l.glyphs(text, s), column) {
		p.set(line, s, x, y+(l.leading(s)+s.size*0.72)/2)
		y += l.leading(s)
	}
	return y
}

// cut shortens a text to that many lines, with an ellipsis where it ends.
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
