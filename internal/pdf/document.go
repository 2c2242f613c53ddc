package pdf

import (
	"strconv"
	"strings"
)

// document lays out all pages, then adds the header and footer, which need the number of pages.
func (l *layout) document(doc Document) {
	l.opening(doc)
	l.blocks(doc.Preamble, "")
	for i, section := range doc.Sections {
		number := strconv.Itoa(i+1) + "."
		l.heading(number+" "+section.Heading, section.Heading, number)
		if !doc.NumberParagraphs {
			number = ""
		}
		l.blocks(section.Blocks, number)
	}
	l.closing(doc)
	for _, annex := range doc.Annexes {
		l.newPage()
		l.heading(annex.Heading, annex.Heading, "")
		l.blocks(annex.Blocks, "")
	}
	for i := range l.pages {
		l.margins(&l.pages[i], doc, i+1)
	}
}

func (l *layout) opening(doc Document) {
	l.paragraph(doc.Title, title, left, "", 0)
	if doc.Subtitle != "" {
		l.space(2)
		l.paragraph(doc.Subtitle, under, left, "", 0)
	}
	if doc.DateLine != "" {
		l.space(4)
		l.paragraph(doc.DateLine, body, left, "", 0)
	}
	l.space(16)
	l.columns(len(doc.Parties), func(p *page, i int, x, y float64) float64 {
		p.rule(x, y, column)
		y += 5
		y = l.block(p, doc.Parties[i].Role, small, x, y)
		for n, line := range doc.Parties[i].Lines {
			s := body
			if n == 0 {
				s = strong
			}
			y = l.block(p, line, s, x, y)
		}
		return y + 12
	})
	l.space(4)
}

// heading sets the heading of a section, with its number if not empty, and adds it to the table of contents.
func (l *layout) heading(entryText, text, number string) {
	l.space(10)
	l.need(l.leading(heading) + 4 + 2*l.leading(body)) // keeps the heading on the page of its first two lines
	p := l.current()
	p.contents = append(p.contents, entry{text: strings.TrimSpace(entryText), y: l.y})
	x := left
	if number != "" {
		x += numbering
	}
	l.paragraph(text, heading, x, number, left)
	l.y += 4
}

// blocks sets paragraphs and lists. With a prefix such as "3." paragraphs are numbered 3.1, 3.2 … and everything is
// indented. A list belongs to the paragraph before it.
func (l *layout) blocks(blocks []Block, prefix string) {
	x := left
	if prefix != "" {
		x += numbering
	}
	paragraph := 0
	for _, b := range blocks {
		if b.Text != "" {
			label := ""
			if prefix != "" {
				paragraph++
				label = prefix + strconv.Itoa(paragraph)
			}
			if len(b.Items) > 0 {
				l.need(2*l.leading(body) + 4) // keeps the introduction on the page of its list
			}
			l.paragraph(b.Text, body, x, label, left)
			l.space(4)
		}
		for i, item := range b.Items {
			label := "•"
			if b.Lettered {
				label = "(" + letters(i) + ")"
			}
			l.paragraph(item, body, x+bullets, label, x)
			l.space(2)
		}
		l.space(2)
	}
}

// letters returns the i-th label of a, b … z, aa, ab …
func letters(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return letters(i/26-1) + string(rune('a'+i%26))
}

func (l *layout) closing(doc Document) {
	if len(doc.Closing) > 0 {
		l.space(10)
		l.blocks(doc.Closing, "")
	}
	if len(doc.Signatures) == 0 {
		return
	}
	l.space(14)
	l.columns(len(doc.Signatures), func(p *page, i int, x, y float64) float64 {
		y = l.block(p, doc.Signatures[i].Party, strong, x, y)
		for _, label := range doc.Signatures[i].Labels {
			y += 30 // space for the signature
			p.rule(x, y, column)
			y = l.block(p, label, small, x, y+2)
		}
		return y + 14
	})
}

// margins adds header, footer and page number to a page.
func (l *layout) margins(p *page, doc Document, number int) {
	if doc.Header != "" {
		p.set(l.cut(doc.Header, small, right-left, 1)[0], small, left, headerLine)
		p.rule(left, headerLine+5, right-left)
	}
	format := doc.PageNumber
	if format == "" {
		format = "{page} / {pages}"
	}
	text := strings.NewReplacer("{page}", strconv.Itoa(number), "{pages}", strconv.Itoa(len(l.pages))).Replace(format)
	line := l.glyphs(text, small)
	width := small.measure(line)
	p.rule(left, footerLine-small.size-5, right-left)
	if doc.Footer != "" {
		for i, part := range l.cut(doc.Footer, small, right-left-width-gutter, 2) {
			p.set(part, small, left, footerLine+float64(i)*small.size*1.35)
		}
	}
	p.set(line, small, right-width, footerLine)
}
