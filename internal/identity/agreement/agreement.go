// Package agreement has the text of the data processing agreement (GDPR, Article 28) in every locale and fills in the
// facts of the parties. Each locale is one file in texts/ that a lawyer can read and change. Package pdf does the
// layout; the service decides who may get the document.
//
// A file begins with lines "name: value". After a line "---" comes the text: a line "## " begins a section, "@@ " an
// annex, "- " a list item, and every other line is a paragraph. Paragraphs before the first section are the preamble.
// {product}, {provider}, {organization}, {service}, {purpose} and {contact} are placeholders for facts.
package agreement

import (
	"embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/pdf"
)

//go:embed texts/*.txt
var files embed.FS

// Facts are the facts about the two parties in an agreement.
type Facts struct {
	Date           time.Time // date of the document, in the organization's time zone
	Domain         string    // product domain
	ProductName    string
	ProviderName   string
	ProviderURL    string // may be empty
	SupportContact string // may be empty
	Organization   identity.OrganizationProfile
}

// Texts are the texts of the agreement in all locales. It is safe for concurrent use.
type Texts struct {
	catalog *i18n.Catalog
	locales map[string]func() text // each is parsed at its first use
}

// text is a parsed file.
type text struct {
	words    map[string]string
	preamble []pdf.Block
	sections []pdf.Section
	annexes  []pdf.Section
}

// New returns the embedded texts. A malformed text panics at its first use; the package's tests use all of them.
func New(catalog *i18n.Catalog) *Texts {
	t := &Texts{catalog: catalog, locales: map[string]func() text{}}
	for _, locale := range i18n.Locales() {
		t.locales[locale] = sync.OnceValue(func() text {
			source, err := files.ReadFile("texts/" + locale + ".txt")
			if err != nil {
				panic(err)
			}
			parsed, err := parse(string(source))
			if err != nil {
				panic(fmt.Sprintf("agreement %s: %v", locale, err))
			}
			return parsed
		})
	}
	return t
}

// wordNames are the names of the lines "name: value" that every file must have.
var wordNames = []string{
	"title", "subtitle", "date", "page", "controller", "processor", "place", "name", "signature",
	"service.skp", "service.spaces", "purpose.skp", "purpose.spaces",
}

func parse(source string) (text, error) {
	head, body, found := strings.Cut(source, "\n---\n")
	if !found {
		return text{}, errors.New("the line --- is missing")
	}
	t := text{words: map[string]string{}}
	for line := range strings.Lines(head) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		t.words[name] = value
	}
	for _, name := range wordNames {
		if t.words[name] == "" {
			return text{}, fmt.Errorf("%s is missing", name)
		}
	}
	if len(t.words) != len(wordNames) {
		return text{}, fmt.Errorf("there are %d names before ---, not %d", len(t.words), len(wordNames))
	}
	blocks := &t.preamble
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			t.sections = append(t.sections, pdf.Section{Heading: heading})
			blocks = &t.sections[len(t.sections)-1].Blocks
		} else if heading, ok := strings.CutPrefix(line, "@@ "); ok {
			t.annexes = append(t.annexes, pdf.Section{Heading: heading})
			blocks = &t.annexes[len(t.annexes)-1].Blocks
		} else if item, ok := strings.CutPrefix(line, "- "); ok && len(*blocks) > 0 {
			last := &(*blocks)[len(*blocks)-1]
			last.Items = append(last.Items, item)
		} else if line != "" {
			*blocks = append(*blocks, pdf.Block{Text: line})
		}
	}
	return t, nil
}

// Document returns the agreement in the organization's locale, or in i18n.Default if there is no text in it.
func (t *Texts) Document(f Facts) pdf.Document {
	o := f.Organization
	if !i18n.Supported(o.Locale) {
		o.Locale = i18n.Default
	}
	words := t.locales[o.Locale]()
	contact := f.SupportContact
	if contact == "" {
		contact = f.ProviderURL
	}
	fill := strings.NewReplacer("{product}", f.ProductName, "{provider}", f.ProviderName, "{organization}", o.Name, "{contact}", contact,
		"{service}", words.words["service."+f.Domain], "{purpose}",
		strings.ReplaceAll(words.words["purpose."+f.Domain], "{product}", f.ProductName))
	w := func(name string) string { return fill.Replace(words.words[name]) }
	labels := []string{w("place"), w("name"), w("signature")}
	return pdf.Document{
		Locale: o.Locale, Title: w("title"), Subtitle: w("subtitle"), Date: f.Date,
		DateLine: w("date") + " " + t.catalog.Printer(o.Locale).Date(f.Date), Author: f.ProviderName,
		Header: w("title") + " · " + f.ProductName, Footer: f.ProviderName + " · " + o.Name, PageNumber: words.words["page"],
		Parties: []pdf.Party{
			{Role: w("controller"), Lines: controller(o)},
			{Role: w("processor"), Lines: lines(f.ProviderName, f.ProviderURL, f.SupportContact)},
		},
		Preamble: filled(fill, words.preamble), Sections: sections(fill, words.sections), NumberParagraphs: true,
		Signatures: []pdf.Signature{{Party: o.Name, Labels: labels}, {Party: f.ProviderName, Labels: labels}},
		Annexes:    sections(fill, words.annexes),
	}
}

// controller returns the postal address of the organization, in the order of lines that its locale uses.
func controller(o identity.OrganizationProfile) []string {
	town := strings.TrimSpace(o.PostCode + " " + o.City)
	if o.Locale == i18n.Default {
		town = strings.TrimSpace(strings.Trim(o.City+", "+o.State, ", ") + " " + o.PostCode)
		return lines(o.Name, o.AddressLine1, o.AddressLine2, town, o.Country)
	}
	return lines(o.Name, o.AddressLine1, o.AddressLine2, town, o.State, o.Country)
}

// lines returns the lines that are not empty.
func lines(all ...string) []string {
	var out []string
	for _, l := range all {
		if l != "" {
			out = append(out, l)
		}
	}
	return out
}

func sections(fill *strings.Replacer, list []pdf.Section) []pdf.Section {
	out := make([]pdf.Section, len(list))
	for i, s := range list {
		out[i] = pdf.Section{Heading: fill.Replace(s.Heading), Blocks: filled(fill, s.Blocks)}
	}
	return out
}

func filled(fill *strings.Replacer, list []pdf.Block) []pdf.Block {
	out := make([]pdf.Block, len(list))
	for i, b := range list {
		out[i] = pdf.Block{Text: fill.Replace(b.Text), Items: make([]string, len(b.Items)), Lettered: b.Lettered}
		for n, item := range b.Items {
			out[i].Items[n] = fill.Replace(item)
		}
	}
	return out
}
