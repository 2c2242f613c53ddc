// Tests of sheets: every language, names of all kinds, and what is drawn instead of text.

package pdf_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/consign-dev/consign/internal/pdf"
)

// sheet returns a receipt of files with these names.
func sheet(locale string, names ...string) pdf.Document {
	w := languages[locale]
	s := &pdf.Sheet{
		Brand: pdf.Brand{Name: "Harbour Engineers", Colour: "#7a1f4b"}, Lead: w.preamble, Parties: w.parties, Sealed: true,
		Facts: []pdf.Fact{{Label: w.signature[0], Value: w.dateLine}, {Label: w.signature[1], Value: w.footer}},
		Table: pdf.Table{Heading: "File", Size: "Size"}, QR: "https://files.example.org/verify", Boxes: "A box is a character.",
		Notes: []pdf.Note{{Heading: w.sections[0].Heading, Text: w.sections[0].Blocks[0].Text}},
	}
	for i, name := range names {
		s.Table.Rows = append(s.Table.Rows, pdf.Row{Name: name, Size: fmt.Sprint(i+1, " kB"), Small: "SHA-256 " + strings.Repeat("0f", 32)})
	}
	return pdf.Document{Locale: locale, Title: w.title, DateLine: w.dateLine, Date: day, Footer: w.footer, PageNumber: w.pageNumber, Sheet: s}
}

// keep writes a file to the directory of SHEETS, to be looked at.
func keep(name string, file []byte) {
	if dir := os.Getenv("SHEETS"); dir != "" {
		_ = os.WriteFile(dir+"/"+name+".pdf", file, 0o600)
	}
}

// Every word of a sheet is in the file, in each language, and the same sheet is the same file.
func TestSheetLanguages(t *testing.T) {
	t.Parallel()
	for locale, w := range languages {
		doc := sheet(locale, "plan.pdf", "größe 図面.dwg")
		file := render(t, doc)
		keep(locale, file)
		o := open(t, file)
		o.checkGlyphs(t)
		text := o.text()
		for _, want := range []string{"Harbour Engineers", w.title, w.preamble, w.parties[0].Lines[0], w.signature[1], "größe 図面.dwg",
			w.sections[0].Blocks[0].Text} {
			if !strings.Contains(text, squeeze(norm.NFC.String(want))) {
				t.Errorf("%s: does not say %q", locale, want)
			}
		}
		if !bytes.Equal(render(t, doc), file) {
			t.Errorf("%s: the same sheet gave another file", locale)
		}
	}
}

// Letters from right to left are drawn as they are read, emoji as pictures, and no character as its number. A box stands for what no font
// has, and the sheet says so only then.
func TestSheetOfAnyText(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		text  string
		boxes bool
	}{
		"תוכנית 12.pdf":             {"pdf.12 תינכות", false},
		"تقرير.pdf":                 {"pdf.\ufeae\ufef3\ufeae\ufed8\ufe97", false},
		"party 🎉👩‍🚀.png":            {"party .png", false},
		"𝕏 plan":                    {"plan", false},
		"a\x01b":                    {"a□b", true},
		"बैठक.txt":                  {"□□□□.txt", true},
		"\xff.bin":                  {"□.bin", true},
		strings.Repeat("long", 200): {strings.Repeat("long", 200), false},
	} {
		doc := sheet("en_US", name)
		file := render(t, doc)
		o := open(t, file)
		o.checkGlyphs(t)
		text := o.text()
		if !strings.Contains(text, squeeze(want.text)) || strings.Contains(text, "U+") {
			t.Errorf("%.40q is not drawn as %.40q: %.2000s", name, want.text, text)
		}
		if got := strings.Contains(text, squeeze(doc.Sheet.Boxes)); got != want.boxes {
			t.Errorf("%.40q: the sheet speaks of boxes: %t", name, got)
		}
	}
	keep("any", render(t, sheet("en_US", "תוכנית 12.5 (סופי).pdf", "تقرير الميناء 2026.pdf", "party 🎉👩‍🚀❤️✅🇩🇪.png", "𝕏 plan 𠮷.txt",
		"बैठक नोट्स.txt", strings.Repeat("a_very_long_name_", 20)+".dwg", "งาน.doc")))
}

// A long table goes on over pages, each with the heading of its columns.
func TestSheetOfManyRows(t *testing.T) {
	t.Parallel()
	names := make([]string, 200)
	for i := range names {
		names[i] = fmt.Sprintf("file %d.bin", i)
	}
	doc := sheet("de_DE", append(names, strings.Repeat("long", 2000))...)
	doc.Sheet.Table.More = "and more"
	file := render(t, doc)
	keep("many", file)
	o := open(t, file)
	for i, page := range o.pages[:len(o.pages)-1] {
		if !strings.Contains(pageText(page), "FileSize") {
			t.Errorf("page %d has no heading", i+1)
		}
	}
	text := o.text()
	for _, name := range names {
		if !strings.Contains(text, squeeze(name)) {
			t.Errorf("%s is missing", name)
		}
	}
	if n := strings.Count(text, "long"); n < 1990 { // some are cut in two by the end of a page
		t.Errorf("the name that is longer than a page is there %d times", n)
	}
}
