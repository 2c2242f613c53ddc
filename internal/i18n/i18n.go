// Package i18n owns the eight gettext catalogues of Consign (contract 3.16). It translates sentences with plural forms
// and contexts, chooses a locale from Accept-Language, and formats times and sizes. Mails and pages use the same files.
//
// The English sentences (msgids) are in the code that shows them, as arguments of T, F, N and C. A test of this package
// reads the whole source. It fails when a translation is missing, fuzzy or unused, or breaks a placeholder.
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

	_ "time/tzdata" // for hosts without a time zone database
)

// Default is the fallback locale, in the language of the msgids.
const Default = "en_US"

// contextEnd separates a context from its msgid, as in compiled gettext catalogues and in JED.
const contextEnd = "\x04"

//go:embed locales/*.po
var files embed.FS

// locales are those of the identity specification, with the language tags for matching Accept-Language.
var locales = []struct {
	name string
	tag  language.Tag
}{
	{Default, language.AmericanEnglish}, // first: the fallback of the matcher
	{"de_DE", language.German},
	{"fr_FR", language.French},
	{"ru_RU", language.Russian},
	{"ko_KR", language.Korean},
	{"zh_CN", language.SimplifiedChinese},
	{"zh_TW", language.TraditionalChinese},
	{"ja_JP", language.Japanese},
}

// Locales returns the supported locales as the identity specification lists them. The pages sort them by name.
func Locales() []string {
	return []string{"de_DE", "en_US", "fr_FR", "ru_RU", "ko_KR", "zh_CN", "zh_TW", "ja_JP"}
}

// Supported reports whether locale is one of Locales.
func Supported(locale string) bool { return slices.Contains(Locales(), locale) }

// Catalog holds the catalogues. Each is parsed at its first use, which saves the memory of unused languages. It is safe
// for concurrent use.
type Catalog struct {
	bundles map[string]func() *bundle
	matcher language.Matcher
}

// bundle is one catalogue.
type bundle struct {
	source  []byte // the .po file
	domain  *gotext.Domain
	entries map[string]*gotext.Translation // by msgid; with a context: context, U+0004, msgid
}

// New returns the embedded catalogues. It fails only when one is missing.
func New() (*Catalog, error) {
	c := &Catalog{bundles: map[string]func() *bundle{}}
	tags := make([]language.Tag, len(locales))
	for i, l := range locales {
		path := "locales/" + l.name + ".po"
		if _, err := fs.Stat(files, path); err != nil {
			return nil, fmt.Errorf("find catalogue %s: %w", l.name, err)
		}
		c.bundles[l.name] = sync.OnceValue(func() *bundle {
			source, _ := files.ReadFile(path) // cannot fail: fs.Stat has found it
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

// Match returns the best locale for an Accept-Language header (RFC 9110, 12.5.4), or Default when none matches or the
// header is malformed.
func (c *Catalog) Match(acceptLanguage string) string {
	tags, _, err := language.ParseAcceptLanguage(acceptLanguage)
	if err != nil {
		return Default
	}
	_, index, _ := c.matcher.Match(tags...)
	return locales[index].name
}

// PO returns the .po file of a locale (text/x-gettext-translation), or false when the locale is not supported.
func (c *Catalog) PO(locale string) ([]byte, bool) {
	b, ok := c.bundle(locale)
	if !ok {
		return nil, false
	}
	return b.source, true
}

// Forms returns the translation of a sentence without context, or its plural forms. It returns nil when the sentence or the
// locale is unknown.
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

// JED returns the catalogue as JSON for JED 1.x: domain and locale_data, a map of msgid (context, U+0004, msgid) to the
// list of translations. It returns false when the locale is not supported.
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
