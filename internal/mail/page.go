package mail

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	"github.com/consign-dev/consign/internal/i18n"
)

//go:embed page.html
var pageSource string

// pageTemplate parses the embedded page; a mistake in it shows in every test of the package.
func pageTemplate() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"pieces": pieces,
		"lines":  func(s string) []string { return strings.Split(s, "\n") },
	}).Parse(pageSource))
}

// page is what page.html shows.
type page struct {
	content
	Product string
	Lang    string
	p       i18n.Printer
}

// T translates a sentence of the page itself.
func (p page) T(msgid string) string { return p.p.T(msgid) }

func (m *Mailer) html(c content, product string, p i18n.Printer) ([]byte, error) {
	var b bytes.Buffer
	err := m.page.Execute(&b, page{content: c, Product: product, Lang: languageTag(p.Locale()), p: p})
	if err != nil {
		return nil, fmt.Errorf("write HTML of mail: %w", err)
	}
	return b.Bytes(), nil
}

// languageTag turns de_DE into de-DE (RFC 5646).
func languageTag(locale string) string { return strings.ReplaceAll(locale, "_", "-") }

// text writes the same as a plain text, complete without the HTML. A link stands on a line of its own.
func text(c content) []byte {
	var b strings.Builder
	paragraph := func(lines ...string) {
		for _, l := range lines {
			b.WriteString(l + "\n")
		}
		b.WriteString("\n")
	}
	paragraph(c.Greeting)
	for _, l := range c.Lines {
		paragraph(l)
	}
	if c.Code != "" {
		paragraph("    " + c.Code)
	}
	if c.Quote != "" {
		paragraph("> " + strings.ReplaceAll(c.Quote, "\n", "\n> "))
	}
	if len(c.Facts) > 0 {
		for _, f := range c.Facts {
			b.WriteString(f.Label + ": " + f.Value + "\n")
		}
		b.WriteString("\n")
	}
	for _, f := range c.Files {
		b.WriteString("- " + f.Name + "\n  " + f.Size + "\n  SHA-256 " + f.SHA256 + "\n")
	}
	if c.More != "" {
		b.WriteString(c.More + "\n")
	}
	if len(c.Files) > 0 {
		b.WriteString("\n")
	}
	if c.Link != "" {
		paragraph(c.Label+":", c.Link)
	}
	for _, l := range c.Notes {
		paragraph(l)
	}
	b.WriteString("--\n" + strings.Join(c.Footer, "\n") + "\n")
	return []byte(b.String())
}
