package i18n

import (
	"fmt"
	"regexp"
)

// Printer writes sentences, times and sizes of one locale. The zero value writes English.
type Printer struct {
	locale string
	bundle *bundle
}

// Printer returns the printer of a locale, of Default when the locale is not supported.
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

// C translates a sentence that means different things in different places; context tells which.
func (p Printer) C(context, msgid string) string { return p.lookup(context+contextEnd+msgid, msgid) }

// F translates a sentence with placeholders (%s, %d) and fills them in. A translation may reorder them by number as
// gettext and JED write it, %2$s.
func (p Printer) F(msgid string, args ...any) string { return fill(p.lookup(msgid, msgid), args) }

// N translates a sentence about n things in the plural form the language asks for. Both msgids hold %d, which becomes
// n, and then the same placeholders for args.
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

// fill writes args into a format whose numbered placeholders are those of C; package fmt writes them %[2]s.
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
