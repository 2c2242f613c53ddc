// Writes the laid out pages as a PDF file.

package pdf

import (
	"bytes"
	"fmt"
	"strings"

	"codeberg.org/go-pdf/fpdf"
)

// embolden is the stroke width in ems that simulates bold.
const embolden = 0.032

// write returns the PDF file. It depends on doc and pages only.
func write(doc Document, pages []page) (file []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("PDF library panicked: %v", p)
		}
	}()
	f := fpdf.NewCustom(&fpdf.InitType{OrientationStr: "P", UnitStr: "pt", Size: fpdf.SizeType{Wd: pageWidth, Ht: pageHeight}})
	f.SetCatalogSort(true)
	f.SetMargins(0, 0, 0)
	f.SetAutoPageBreak(false, 0)
	f.SetTitle(doc.Title, true)
	f.SetAuthor(doc.Author, true)
	f.SetProducer("Consign", true)
	f.SetLang(strings.ReplaceAll(doc.Locale, "_", "-"))
	f.SetCreationDate(doc.Date.UTC())
	f.SetModificationDate(doc.Date.UTC())
	addFonts(f, pages)
	var attached []fpdf.Attachment
	for _, a := range doc.Attachments {
		attached = append(attached, fpdf.Attachment{Filename: a.Name, Description: a.Description, Content: a.Content})
	}
	f.SetAttachments(attached)
	for _, p := range pages {
		f.AddPage()
		for _, m := range p.marks {
			draw(f, m)
		}
		for _, e := range p.contents {
			f.Bookmark(e.text, 0, e.y)
		}
	}
	var out bytes.Buffer
	if err := f.Output(&out); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// addFonts adds the faces that are used. Each is a copy, because the library writes into the font file: it appends to
// slices of it.
func addFonts(f *fpdf.Fpdf, pages []page) {
	added := map[*face]bool{nil: true}
	for _, p := range pages {
		for _, m := range p.marks {
			if !added[m.in.face] {
				added[m.in.face] = true
				f.AddUTF8FontFromBytes(m.in.face.name, "", bytes.Clone(m.in.face.file))
			}
		}
	}
}

func draw(f *fpdf.Fpdf, m mark) {
	if m.art != nil {
		m.art(f)
		return
	}
	if m.in.face == nil {
		f.SetDrawColor(150, 150, 150)
		f.SetLineWidth(0.5)
		f.Line(m.x, m.y, m.x+m.length, m.y)
		return
	}
	shade := 0
	if m.grey {
		shade = 90
	}
	ink := [3]int{shade, shade, shade}
	if m.ink != "" {
		ink = m.ink.parts()
	}
	f.SetTextColor(ink[0], ink[1], ink[2])
	f.SetFont(m.in.face.name, "", m.size)
	if m.in.emboldened {
		f.SetDrawColor(ink[0], ink[1], ink[2])
		f.SetLineWidth(m.size * embolden)
		f.SetTextRenderingMode(2)
		defer f.SetTextRenderingMode(0)
	}
	f.Text(m.x, m.y, m.text)
}
