// Tests of documents: languages, fonts, pages, and refusals.

package pdf_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/consign-dev/consign/internal/pdf"
)

func renderer(t testing.TB) *pdf.Renderer {
	t.Helper()
	return pdf.New(pdf.Options{})
}

func render(t testing.TB, doc pdf.Document) []byte {
	t.Helper()
	file, err := renderer(t).Render(t.Context(), doc)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Every word of a document is in the file, in order, in embedded glyphs that are not blank.
func TestLanguages(t *testing.T) {
	t.Parallel()
	for locale := range languages {
		t.Run(locale, func(t *testing.T) {
			t.Parallel()
			doc := agreement(locale)
			file := render(t, doc)
			o := open(t, file)
			o.checkGlyphs(t)
			text := o.text()
			wants := []string{doc.Title + doc.Subtitle + doc.DateLine, doc.Preamble[0].Text, doc.Header, doc.Footer}
			for _, p := range doc.Parties {
				wants = append(wants, p.Role+strings.Join(p.Lines, ""))
			}
			for i, s := range doc.Sections {
				number := strconv.Itoa(i+1) + "."
				wants = append(wants, number+s.Heading+number+"1"+s.Blocks[0].Text)
				for _, b := range s.Blocks {
					for j, item := range b.Items {
						wants = append(wants, "("+string(rune('a'+j))+")"+item)
					}
				}
			}
			for _, want := range wants {
				if !strings.Contains(text, squeeze(norm.NFC.String(want))) {
					t.Errorf("does not say %q", want)
				}
			}
			for i, page := range o.pages {
				number := strings.NewReplacer("{page}", strconv.Itoa(i+1), "{pages}", strconv.Itoa(len(o.pages))).Replace(doc.PageNumber)
				if !strings.Contains(pageText(page), squeeze(number)) {
					t.Errorf("page %d is not numbered %q", i+1, number)
				}
			}
			if !bytes.Contains(file, []byte("/Lang ("+strings.ReplaceAll(locale, "_", "-")+")")) {
				t.Error("the language is not stated")
			}
		})
	}
}

func pageText(page []printed) string {
	return (&opened{pages: [][]printed{page}}).text()
}

func TestFontsOfRuns(t *testing.T) {
	t.Parallel()
	for locale, want := range map[string]int{"en_US": 3, "de_DE": 2, "ru_RU": 2, "ja_JP": 3, "zh_CN": 3, "zh_TW": 3, "ko_KR": 3} {
		if got := len(open(t, render(t, agreement(locale))).fonts); got != want {
			t.Errorf("%s: %d fonts embedded, want %d", locale, got, want)
		}
	}
}

func TestSameBytes(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	for locale := range languages {
		const n = 4
		files := make(chan []byte, n)
		for range n {
			go func() {
				file, err := r.Render(context.Background(), agreement(locale))
				if err != nil {
					t.Error(err)
				}
				files <- file
			}()
		}
		first := <-files
		for range n - 1 {
			if !bytes.Equal(<-files, first) {
				t.Errorf("%s: the same document gave different files", locale)
			}
		}
		later := agreement(locale)
		later.Date = later.Date.Add(time.Second)
		if bytes.Equal(render(t, later), first) {
			t.Errorf("%s: the date is not in the file", locale)
		}
	}
}

// The time zone of Date does not change the file.
func TestZone(t *testing.T) {
	t.Parallel()
	doc := agreement("en_US")
	utc := render(t, doc)
	doc.Date = doc.Date.In(time.FixedZone("", 9*60*60))
	if !bytes.Equal(render(t, doc), utc) {
		t.Error("the zone of the date is in the file")
	}
}

func TestMissingGlyphs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Smile 😀 GmbH":                         "😀",
		"חברה ltd":                             "חברה",
		"شركة":                                 "شركة",
		"บริษัท":                               "บริษัท",
		"펲시":                                   "펲", // a syllable that NanumSquare leaves blank
		"a\x01b":                               "\x01",
		"𠮷野家":                                  "𠮷", // beyond the basic plane
		"Müller\u00ad & Söhne":                 "",
		"\u1112\u1161\u11ab\u1100\u1173\u11af": "", // Hangul in parts, as some systems send it
		"髙﨑 №1 ½ ﬁ ①":                          "",
	} {
		var runes []rune
		for _, r := range want {
			if !strings.ContainsRune(string(runes), r) {
				runes = append(runes, r)
			}
		}
		if got := renderer(t).Missing(text); string(got) != string(runes) {
			t.Errorf("Missing(%q) = %q, want %q", text, string(got), string(runes))
		}
		for place, put := range map[string]func(*pdf.Document){
			"title": func(d *pdf.Document) { d.Title = text }, "party": func(d *pdf.Document) { d.Parties[0].Lines[0] = text },
			"footer": func(d *pdf.Document) { d.Footer = text }, "item": func(d *pdf.Document) { d.Annexes[0].Blocks[0].Items = []string{text} },
			"label":   func(d *pdf.Document) { d.Signatures[0].Labels = []string{text} },
			"heading": func(d *pdf.Document) { d.Sections[0].Heading = text },
		} {
			doc := pdf.Document{Title: "x", Date: day, Parties: []pdf.Party{{Lines: []string{"x"}}}, Signatures: []pdf.Signature{{}},
				Sections: []pdf.Section{{}}, Annexes: []pdf.Section{{Blocks: []pdf.Block{{}}}}}
			put(&doc)
			file, err := renderer(t).Render(t.Context(), doc)
			var missing *pdf.GlyphError
			switch {
			case want == "" && err != nil:
				t.Errorf("%s %q: %v", place, text, err)
			case want != "" && (!errors.As(err, &missing) || string(missing.Runes) != string(runes) || missing.Text != text || file != nil):
				t.Errorf("%s %q: got %v", place, text, err)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	r := renderer(t)
	if _, err := r.Render(t.Context(), pdf.Document{Date: day}); !errors.Is(err, pdf.ErrNoTitle) {
		t.Errorf("no title: %v", err)
	}
	if _, err := r.Render(t.Context(), pdf.Document{Title: "x"}); !errors.Is(err, pdf.ErrNoDate) {
		t.Errorf("no date: %v", err)
	}
	if _, err := r.Render(t.Context(), pdf.Document{Title: "x", Date: day, Footer: "\xff"}); !errors.Is(err, pdf.ErrEncoding) {
		t.Errorf("no UTF-8: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Render(ctx, agreement("en_US")); !errors.Is(err, context.Canceled) {
		t.Errorf("context ended: %v", err)
	}
	message := (&pdf.GlyphError{Text: strings.Repeat("長", 100), Runes: []rune{0x1f600, 'ש'}}).Error()
	if !strings.Contains(message, "U+1F600, U+05E9") || len(message) > 300 {
		t.Errorf("GlyphError says %q", message)
	}
}

// The smallest document is one page with a title.
func TestSmallestDocument(t *testing.T) {
	t.Parallel()
	o := open(t, render(t, pdf.Document{Title: "Title", Date: day}))
	if len(o.pages) != 1 || o.text() != "Title1/1" {
		t.Errorf("%d pages that say %q", len(o.pages), o.text())
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	doc := long()
	o := open(t, render(t, doc))
	o.checkGlyphs(t)
	if len(o.pages) < 20 {
		t.Fatalf("%d pages", len(o.pages))
	}
	const header, footer = 780, 60 // what is printed above and below is not the text
	for i, page := range o.pages {
		if !strings.HasSuffix(pageText(page), "Page"+strconv.Itoa(i+1)+"of"+strconv.Itoa(len(o.pages))) {
			t.Errorf("page %d ends with %q", i+1, page[len(page)-1].text)
		}
		var lines []printed
		for _, p := range page {
			if p.x < 70 || p.x > 540 || p.y < 30 || p.y > 800 {
				t.Errorf("page %d: %q at %.1f, %.1f", i+1, p.text, p.x, p.y)
			}
			if p.y < header && p.y > footer {
				lines = append(lines, p)
			}
		}
		if len(lines) == 0 {
			t.Errorf("page %d is empty", i+1)
			continue
		}
		if last := lines[len(lines)-1].text; strings.HasPrefix(last, "Heading") {
			t.Errorf("page %d ends with a heading", i+1)
		}
	}
	if want := strings.Count(o.text(), "Headingthatstayswithwhatfollows"); want != len(doc.Sections) {
		t.Errorf("%d headings of %d", want, len(doc.Sections))
	}
}

// Both signatures are on one page, whatever the length of the text before them.
func TestSignaturesStayTogether(t *testing.T) {
	t.Parallel()
	for n := range 40 {
		doc := pdf.Document{Title: "x", Date: day, Signatures: []pdf.Signature{
			{Party: "One", Labels: []string{"Place of one", "Name of one"}}, {Party: "Other", Labels: []string{"Place of other"}}}}
		for range n {
			doc.Preamble = append(doc.Preamble, pdf.Block{Text: "line"})
		}
		for _, page := range open(t, render(t, doc)).pages {
			text := pageText(page)
			found := 0
			for _, part := range []string{"One", "Placeofone", "Nameofone", "Other", "Placeofother"} {
				found += strings.Count(text, part)
			}
			if found != 0 && found != 5 {
				t.Fatalf("with %d lines before them: %q", n, text)
			}
		}
	}
}

// Neither the first nor the last line of a paragraph is alone on a page.
func TestNoWidowsAndOrphans(t *testing.T) {
	t.Parallel()
	for n := range 12 {
		doc := pdf.Document{Title: "x", Date: day}
		for range 34 + n {
			doc.Preamble = append(doc.Preamble, pdf.Block{Text: "filler"})
		}
		doc.Preamble = append(doc.Preamble, pdf.Block{Text: strings.TrimSuffix(strings.Repeat("paragraph\n", 5), "\n")})
		for i, page := range open(t, render(t, doc)).pages {
			if lines := strings.Count(pageText(page), "paragraph"); lines == 1 || lines == 4 {
				t.Errorf("%d lines of 5 on page %d after %d others", lines, i+1, 34+n)
			}
		}
	}
}

func TestLongHeaderAndFooterAreCut(t *testing.T) {
	t.Parallel()
	o := open(t, render(t, pdf.Document{Title: "x", Date: day, Header: strings.Repeat("header ", 100),
		Footer: strings.Repeat("footer ", 100)}))
	text := o.text()
	if h, f := strings.Count(text, "header"), strings.Count(text, "footer"); h < 10 || h > 20 || f < 20 || f > 40 ||
		strings.Count(text, "…") != 2 {
		t.Errorf("%d headers, %d footers: %q", h, f, text)
	}
}

func TestFontFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("fonts/*.ttf")
	if err != nil || len(files) != 7 {
		t.Fatalf("%v, %v", files, err)
	}
	var total int64
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 7<<20 {
		t.Errorf("%d bytes of fonts", total)
	}
	for _, name := range []string{"DejaVu", "Droid", "Nanum", "Figtree", "NotoEmoji"} {
		if licence, err := os.ReadFile("fonts/LICENSE-" + name + ".txt"); err != nil || len(licence) < 2000 {
			t.Errorf("licence of %s: %d bytes, %v", name, len(licence), err)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	r := renderer(b)
	for _, locale := range []string{"en_US", "ja_JP", "ko_KR"} {
		b.Run(locale, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Render(b.Context(), agreement(locale)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
