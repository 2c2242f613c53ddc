// Lays out a sheet: a document of one matter, such as a receipt, with the look of an organization, a table, a seal and a QR code.

package pdf

import (
	"bytes"
	"strconv"

	"codeberg.org/go-pdf/fpdf"
)

// Sheet is the content of a document of one matter. Its texts may have any characters: letters from right to left are drawn as they are
// read, emoji as pictures of one colour, and what no font has as a box.
type Sheet struct {
	Brand   Brand
	Lead    string // what the document proves, in one sentence
	Parties []Party
	Facts   []Fact
	Table   Table
	Notes   []Note // in a panel, beside the QR code
	QR      string // an address; empty: none
	Boxes   string // says that characters are shown as boxes, printed where it is so
	Sealed  bool   // has a seal
}

// Brand is whose document it is.
type Brand struct {
	Name   string
	Colour Colour // readable on white
	Logo   []byte // JPEG; empty: the mark of the product
}

// Fact is a labelled value.
type Fact struct{ Label, Value string }

// Table is a list of files or the like. Rows may have a line in small letters under them.
type Table struct {
	Heading, Size string // of the columns
	Rows          []Row
	More          string // follows the last row; empty: nothing
}

// Row is a row of a Table.
type Row struct{ Name, Size, Small string }

// Note is a paragraph with a heading.
type Note struct{ Heading, Text string }

// Colour is #rrggbb. The empty one is that of the product.
type Colour string

const ownColour Colour = "#0d6e62"

// parts returns red, green and blue. A malformed colour is that of the product.
func (c Colour) parts() [3]int {
	if len(c) != 7 || c[0] != '#' {
		return ownColour.parts()
	}
	n, err := strconv.ParseUint(string(c[1:]), 16, 24)
	if err != nil {
		return ownColour.parts()
	}
	return [3]int{int(n >> 16), int(n >> 8 & 255), int(n & 255)}
}

// The styles of sheets.
var (
	brandName = style{size: 13, bold: true}
	headline  = style{size: 25, bold: true}
	leading   = style{size: 11.5}
	label     = style{size: 8.5, grey: true}
	fine      = style{size: 7, grey: true}
)

const (
	logoEdge   = 30.0
	sealEdge   = 74.0
	labelWidth = 118.0
	sizeWidth  = 76.0
	qrEdge     = 84.0
	padding    = 14.0
)

func (l *layout) sheet(doc Document) {
	l.y = 20 * millimetre
	l.brand(doc.Sheet.Brand, doc.DateLine)
	l.y += 34
	l.headline(doc)
	l.columns(len(doc.Sheet.Parties), func(p *page, i int, x, y float64) float64 { return l.party(p, doc.Sheet.Parties[i], x, y) })
	l.facts(doc.Sheet.Facts)
	l.table(doc.Sheet.Table)
	l.panel(doc.Sheet)
	if l.boxed && doc.Sheet.Boxes != "" {
		l.y += 8
		l.paragraph(doc.Sheet.Boxes, label, left, "", 0)
	}
	l.current().contents = append(l.current().contents, entry{text: doc.Title, y: 0})
	for i := range l.pages {
		l.margins(&l.pages[i], doc, i+1)
	}
}

// brand sets the mark or logo and the name, and the date at the right.
func (l *layout) brand(b Brand, date string) {
	p, y := l.current(), l.y
	if len(b.Logo) > 0 {
		p.marks = append(p.marks, mark{art: func(f *fpdf.Fpdf) {
			f.RegisterImageOptionsReader("logo", fpdf.ImageOptions{ImageType: "JPEG"}, bytes.NewReader(b.Logo))
			f.ImageOptions("logo", left, y, 0, logoEdge, false, fpdf.ImageOptions{ImageType: "JPEG"}, 0, "")
		}})
	} else {
		p.art(func(f *fpdf.Fpdf) { house(f, left, y, logoEdge, b.Colour) })
	}
	dated := l.glyphs(date, label)
	p.set(dated, label, right-label.measure(dated), y+logoEdge/2+3)
	x := left + logoEdge + 11
	name := l.cut(b.Name, brandName, right-label.measure(dated)-gutter-x, 1)[0]
	p.set(name, brandName, x, y+logoEdge/2+4.5)
	l.y += logoEdge
}

// headline sets title and lead, beside the seal.
func (l *layout) headline(doc Document) {
	from, width := l.y, right-left
	if doc.Sheet.Sealed {
		width -= sealEdge + gutter
		colour := doc.Sheet.Brand.Colour
		l.current().art(func(f *fpdf.Fpdf) { seal(f, right-sealEdge/2, from+sealEdge/2-4, sealEdge/2, colour) })
	}
	set := func(text string, s style) {
		for _, line := range s.lines(l.glyphs(text, s), width) {
			l.current().set(line, s, left, l.baseline(s))
			l.y += l.leading(s)
		}
	}
	set(doc.Title, headline)
	l.y += 6
	set(doc.Sheet.Lead, leading)
	l.y = max(l.y, from+sealEdge) + 20
}

func (l *layout) party(p *page, of Party, x, y float64) float64 {
	y = l.block(p, of.Role, label, x, y) + 1
	for n, line := range of.Lines {
		s := body
		if n == 0 {
			s = strong
		}
		y = l.block(p, line, s, x, y)
	}
	return y + 12
}

// facts sets labels and values in two columns.
func (l *layout) facts(all []Fact) {
	for _, fact := range all {
		lines := body.lines(l.glyphs(fact.Value, body), right-left-labelWidth)
		names := label.lines(l.glyphs(fact.Label, label), labelWidth-10)
		height := max(float64(len(lines))*l.leading(body), float64(len(names))*l.leading(label)) + 4
		l.need(height)
		for i, line := range lines {
			l.current().set(line, body, left+labelWidth, l.baseline(body)+float64(i)*l.leading(body))
		}
		for i, line := range names {
			l.current().set(line, label, left, l.baseline(body)+float64(i)*l.leading(label))
		}
		l.y += height
	}
	l.space(14)
}

// table sets rows with a rule under each. The heading is repeated on each page.
func (l *layout) table(t Table) {
	if len(t.Rows) == 0 {
		return
	}
	heading := func() {
		p := l.current()
		p.set(l.glyphs(t.Heading, label), label, left, l.baseline(label))
		size := l.glyphs(t.Size, label)
		p.set(size, label, right-label.measure(size), l.baseline(label))
		l.y += l.leading(label) + 4
		p.rule(left, l.y, right-left)
		l.y += 5
	}
	l.need(4 * l.leading(body))
	heading()
	for _, row := range t.Rows {
		lines := strong.lines(l.glyphs(row.Name, strong), right-left-sizeWidth)
		small := fine.lines(l.glyphs(row.Small, fine), right-left)
		fit := func(height float64) {
			if l.y+height > bottom && !l.atTop() {
				l.newPage()
				heading()
			}
		}
		fit(float64(min(len(lines), 20))*l.leading(strong) + float64(len(small))*l.leading(fine) + 11)
		size := l.glyphs(row.Size, body)
		l.current().set(size, body, right-body.measure(size), l.baseline(body))
		for _, line := range lines {
			fit(l.leading(strong)) // a name may be longer than a page
			l.current().set(line, strong, left, l.baseline(strong))
			l.y += l.leading(strong)
		}
		for _, line := range small {
			fit(l.leading(fine))
			l.current().set(line, fine, left, l.baseline(fine))
			l.y += l.leading(fine)
		}
		l.y += 6
		l.current().hairline(left, l.y, right-left)
		l.y += 5
	}
	if t.More != "" {
		l.paragraph(t.More, body, left, "", 0)
	}
	l.space(16)
}

// panel sets the notes on a tinted ground, beside the QR code.
func (l *layout) panel(s *Sheet) {
	width, x := right-left-2*padding, left+padding
	code := qrCode(s.QR)
	if code != nil {
		width -= qrEdge + gutter
	}
	type set struct {
		line  []glyph
		style style
		gap   float64
	}
	var all []set
	height := 0.0
	add := func(text string, st style, gap float64) {
		for i, line := range st.lines(l.glyphs(text, st), width) {
			if i > 0 {
				gap = 0
			}
			all = append(all, set{line, st, gap})
			height += gap + l.leading(st)
		}
	}
	for i, note := range s.Notes {
		gap := 10.0
		if i == 0 {
			gap = 0
		}
		if note.Heading != "" {
			add(note.Heading, strong, gap)
			gap = 2
		}
		add(note.Text, style{size: 9}, gap)
	}
	if code != nil {
		height = max(height, qrEdge)
	}
	l.need(height + 2*padding)
	from, p := l.y, l.current()
	p.art(func(f *fpdf.Fpdf) {
		f.SetFillColor(243, 246, 245)
		f.RoundedRect(left, from, right-left, height+2*padding, 9, "1234", "F")
	})
	if code != nil {
		p.art(func(f *fpdf.Fpdf) { code.draw(f, right-padding-qrEdge, from+padding, qrEdge) })
	}
	l.y += padding
	for _, one := range all {
		l.y += one.gap
		p.set(one.line, one.style, x, l.baseline(one.style))
		l.y += l.leading(one.style)
	}
	l.y = from + height + 2*padding
}
