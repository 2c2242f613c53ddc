package i18n

import (
	"fmt"
	"regexp"
)

// Printer translates sentences and formats times and sizes for one locale. The zero value is English.
type Printer struct {
	locale string
	bundle *bundle
}

// Printer returns the printer of a locale, or of Default when the locale is not supported.
func (c *Catalog) Printer(locale string) Printer {
	b, ok := c.bundle(locale)
	if !ok {
		locale = Default
		b, _ = c.bundle(Default)
	}
	return Printer{locale: locale, bundle: b}
}

// Locale returns the printer's locale, like de_DE.
func (p Printer) Locale() string {
	if p.locale == "" {
		return Default
	}
	return p.locale
}

// T translates a sentence.
func (p Printer) T(msgid string) string { return p.lookup(msgid, msgid) }

// C translates a sentence whose meaning depends on context.
func (p Printer) C(context, msgid string) string { return p.lookup(context+contextEnd+msgid, msgid) }

// F translates a sentence and replaces its placeholders (%s, %d). A translation may reorder them by number, %2$s, as in
// gettext and JED.
func (p Printer) F(msgid string, args ...any) string { return fill(p.lookup(msgid, msgid), args) }

// N translates a sentence with the plural form for n. Both msgids contain %d, which becomes n, followed by the same
// placeholders for args.
func (p Printer) N(singular, plural string, n int, args ...any) string {
	format := singular
	switch {
	case p.bundle != nil:
		format = p.bundle.domain.GetN(singular, plural, n)
	case n != 1:
		format = plural
	}
	return fill(format, append([]any{n}, args...))
}

var numbered = regexp.MustCompile(`%([0-9]+)\$`)

// fill replaces the placeholders of a format. It converts numbered placeholders from %2$s to the %[2]s of package fmt.
func fill(format string, args []any) string {
	return fmt.Sprintf(numbered.ReplaceAllString(format, "%[$1]"), args...)
}

func (p Printer) lookup(key, otherwise string) string {
	if p.bundle == nil {
		return otherwise
	}
	t, ok := p.bundle.entries[key]
	if !ok {
		return otherwise
	}
	return t.Get()
}
