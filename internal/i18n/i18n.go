// Package i18n owns the eight gettext catalogues of Consign (contract 3.16): look-up of translated sentences with
// plural forms and contexts, choice of a locale from Accept-Language, and how times and sizes are written in each
// locale. Mails and pages are translated with the same files.
//
// It does not own the sentences: those stand in the code that shows them, as msgids in English, marked by the method
// that translates them (T, F, N, C). A test of this package reads the whole source and fails when a catalogue lacks
// one, holds one that is fuzzy or breaks a placeholder, or keeps one that nothing uses.
package i18n

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/leonelquinteros/gotext"
	"golang.org/x/text/language"

	_ "time/tzdata" // times are written in any zone, also on a host without a zone database
)

// Default is the locale of everything that has no other: the language of the msgids.
const Default = "en_US"

// contextEnd separates a context from its msgid, as in compiled gettext catalogues and in JED.
const contextEnd = "\x04"

//go:embed locales/*.po
var files embed.FS

// locales is the enumeration of the identity specification, with the language tag of each for matching.
var locales = []struct {
	name string
	tag  language.Tag
}{
	{Default, language.AmericanEnglish}, // first: the answer when nothing matches
	{"de_DE", language.German},
	{"fr_FR", language.French},
	{"ru_RU", language.Russian},
	{"ko_KR", language.Korean},
	{"zh_CN", language.SimplifiedChinese},
	{"zh_TW", language.TraditionalChinese},
	{"ja_JP", language.Japanese},
}

// Locales lists the supported locales in the order of the specification's enumeration.
func Locales() []string {
	return []string{"de_DE", "en_US", "fr_FR", "ru_RU", "ko_KR", "zh_CN", "zh_TW", "ja_JP"}
}

// Supported reports whether locale is one of the enumeration, spelled as there.
func Supported(locale string) bool { return slices.Contains(Locales(), locale) }

// Catalog holds the catalogues, each parsed when it is first asked for: a server that speaks one language does not keep
// eight in memory. It is safe for use by many goroutines.
type Catalog struct {
	bundles map[string]func() *bundle
	matcher language.Matcher
}

// bundle is one catalogue: as stored, as parsed, and flat for look-up, a context before its msgid and a U+0004.
type bundle struct {
	source  []byte
	domain  *gotext.Domain
	entries map[string]*gotext.Translation
}

// New finds the embedded catalogues. It fails only when one of them is missing.
func New() (*Catalog, error) {
	c := &Catalog{bundles: map[string]func() *bundle{}}
	tags := make([]language.Tag, len(locales))
	for i, l := range locales {
		path := "locales/" + l.name + ".po"
		if _, err := fs.Stat(files, path); err != nil {
			return nil, fmt.Errorf("find catalogue %s: %w", l.name, err)
		}
		c.bundles[l.name] = sync.OnceValue(func() *bundle {
			source, _ := files.ReadFile(path) // it is there, see above
			return parse(source)
		})
		tags[i] = l.tag
	}
	c.matcher = language.NewMatcher(tags)
	return c, nil
}

// bundle returns the catalogue of a locale; false for one that is not supported.
func (c *Catalog) bundle(locale string) (*bundle, bool) {
	load, ok := c.bundles[locale]
	if !ok {
		return nil, false
	}
	return load(), true
}

func parse(source []byte) *bundle {
	po := gotext.NewPo()
	po.Parse(source)
	b := &bundle{source: source, domain: po.GetDomain(), entries: po.GetDomain().GetTranslations()}
	delete(b.entries, "") // the header
	for context, entries := range b.domain.GetCtxTranslations() {
		for msgid, t := range entries {
			b.entries[context+contextEnd+msgid] = t
		}
	}
	return b
}

// Match picks the locale that serves an Accept-Language header (RFC 9110, 12.5.4) best; Default when none does or the
// header is malformed.
func (c *Catalog) Match(acceptLanguage string) string {
	tags, _, err := language.ParseAcceptLanguage(acceptLanguage)
	if err != nil {
		return Default
	}
	_, index, _ := c.matcher.Match(tags...)
	return locales[index].name
}

// PO returns the catalogue as it is stored (text/x-gettext-translation); false for a locale that is not supported.
func (c *Catalog) PO(locale string) ([]byte, bool) {
	b, ok := c.bundle(locale)
	if !ok {
		return nil, false
	}
	return b.source, true
}

// Forms returns the translations of a sentence without context in a locale: one, or as many as it has plural forms. Nil
// for a sentence or a locale that is not there.
func (c *Catalog) Forms(locale, msgid string) []string {
	b, ok := c.bundle(locale)
	if !ok {
		return nil
	}
	t, ok := b.entries[msgid]
	if !ok {
		return nil
	}
	forms := make([]string, len(t.Trs))
	for i := range forms {
		forms[i] = t.Trs[i]
	}
	return forms
}

// JED returns the catalogue in the JSON form of JED 1.x: domain and locale_data, the latter holding msgid (with its
// context before a U+0004) to the list of translations. False for a locale that is not supported.
func (c *Catalog) JED(locale string) ([]byte, bool) {
	b, ok := c.bundle(locale)
	if !ok {
		return nil, false
	}
	messages := map[string]any{"": map[string]string{
		"domain": "messages", "lang": locale, "plural_forms": b.domain.Headers.Get("Plural-Forms"),
	}}
	for key, t := range b.entries {
		forms := make([]string, len(t.Trs))
		for i := range forms {
			forms[i] = t.Trs[i]
		}
		messages[key] = forms
	}
	encoded, err := json.Marshal(map[string]any{
		"domain": "messages", "locale_data": map[string]any{"messages": messages},
	})
	return encoded, err == nil
}
