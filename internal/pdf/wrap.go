package pdf

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// style holds the size and look of a text.
type style struct {
	size float64 // points
	bold bool
	grey bool
	ink  Colour // other than black or grey
}

// The styles of documents.
var (
	body    = style{size: 10}
	strong  = style{size: 10, bold: true}
	heading = style{size: 11.5, bold: true}
	title   = style{size: 18, bold: true}
	under   = style{size: 11, grey: true} // subtitle
	small   = style{size: 8, grey: true}  // header, footer, labels
)

// typesetter breaks texts into lines. It is not safe for concurrent use.
type typesetter struct {
	*finder
	spacing float64 // line height in multiples of the font size
	boxed   bool    // a character was drawn as a box
}

// box stands on sheets for a character that no font has.
const box = '□'

func newTypesetter(f *fonts, locale string) *typesetter {
	return &typesetter{finder: newFinder(f, locale), spacing: spacingOf(locale)}
}

func newSheetTypesetter(f *fonts, locale string) *typesetter {
	return &typesetter{finder: newSheetFinder(f, locale), spacing: spacingOf(locale)}
}

// spacingOf returns the line height in multiples of the font size.
func spacingOf(locale string) float64 {
	switch language(locale) {
	case "ja", "zh", "ko":
		return 1.65 // full-width characters need more space between lines
	}
	return 1.45
}

// leading returns the height of a line in points.
func (t *typesetter) leading(s style) float64 {
	if s.size > body.size {
		return s.size * (t.spacing - 0.1)
	}
	return s.size * t.spacing
}

// shape returns the glyphs of a text, and the characters that cannot be printed.
func (t *typesetter) shape(text string, s style) (glyphs []glyph, missing []rune) {
	runes := []rune(norm.NFC.String(text))
	if t.sheet {
		runes = join(runes)
	}
	for _, r := range runes {
		switch {
		case r == '\t':
			r = ' '
		case r == '\n', r == '\u2028', r == '\u2029':
			glyphs = append(glyphs, glyph{r: '\n'})
			continue
		case r == '\u200b':
			glyphs = append(glyphs, glyph{r: r})
			continue
		case r == '\r', unicode.Is(unicode.Cf, r), r >= 0xfe00 && r <= 0xfe0f:
			continue // not printed: soft hyphens, joiners, direction marks, variation selectors
		}
		if t.sheet && r >= 0x1f3fb && r <= 0x1f3ff {
			continue // skin tones: emoji have one colour
		}
		g, ok := t.find(r, s.bold)
		if !ok && t.sheet {
			t.boxed = true
			g, ok = t.find(box, s.bold)
		}
		if !ok && !slices.Contains(missing, r) {
			missing = append(missing, r)
		}
		glyphs = append(glyphs, g)
	}
	return glyphs, missing
}

// lines breaks glyphs into lines no wider than width points. A word that is wider than a line is broken anywhere.
func (s style) lines(glyphs []glyph, width float64) [][]glyph {
	var lines [][]glyph
	limit := width / s.size
	start, opportunity, used := 0, 0, 0.0
	for i := 0; i < len(glyphs); i++ {
		g := glyphs[i]
		if g.r == '\n' {
			lines = append(lines, trim(glyphs[start:i]))
			start, opportunity, used = i+1, i+1, 0
			continue
		}
		if i > start && mayBreak(glyphs, start, i) {
			opportunity = i
		}
		if !isSpace(g.r) && used+g.width > limit+1e-9 && i > start {
			at := opportunity
			if at <= start {
				at = i
				for at > start+1 && unicode.Is(unicode.M, glyphs[at].r) {
					at-- // combining marks stay with their letter
				}
			}
			lines = append(lines, trim(glyphs[start:at]))
			start, opportunity, used = at, at, 0
			i = at - 1
			continue
		}
		used += g.width
	}
	return append(lines, trim(glyphs[start:]))
}

// trim removes the spaces around a line.
func trim(line []glyph) []glyph {
	for len(line) > 0 && isSpace(line[0].r) {
		line = line[1:]
	}
	for len(line) > 0 && isSpace(line[len(line)-1].r) {
		line = line[:len(line)-1]
	}
	return line
}

// measure returns the width of a line in points.
func (s style) measure(line []glyph) float64 {
	var ems float64
	for _, g := range line {
		ems += g.width
	}
	return ems * s.size
}

const (
	closing = "、。，．・：；？！）〕］｝〉》」』】〗〙〟’”»›,.:;!?)]}%‰°…‥ー゛゜々〻ゝゞヽヾ～·" +
		"ぁぃぅぇぉっゃゅょゎゕゖァィゥェォッャュョヮヵヶ％"
	opening = "（〔［｛〈《「『【〖〘〝‘“«‹([{¿¡§№＃￥＄"
	french  = "»›!?;:%" // no break before them, although a space precedes them in French
)

// mayBreak reports whether a line that starts at start may end before glyphs[i]. It implements the rules of UAX #14 and of
// kinsoku that contracts need, not all.
func mayBreak(glyphs []glyph, start, i int) bool {
	before, after := glyphs[i-1].r, glyphs[i].r
	switch {
	case before == '\u200b':
		return true
	case isSpace(after), unicode.Is(unicode.M, after), tied(before), tied(after):
		return false
	case isSpace(before):
		last := i - 1
		for last > start && isSpace(glyphs[last].r) {
			last--
		}
		return !strings.ContainsRune(french, after) && glyphs[last].r != '«' && glyphs[last].r != '‹'
	case strings.ContainsRune(closing, after), strings.ContainsRune(opening, before):
		return false
	case before == '—' || after == '—' || before == '–':
		return before != after && after != '–'
	case before == '-' || before == '\u2010' || before == '/':
		return unicode.IsLetter(after) && i-1 > start && unicode.IsLetter(glyphs[i-2].r)
	}
	return ideographic(before) || ideographic(after)
}

func isSpace(r rune) bool {
	return r == ' ' || r == '\u3000' || r == '\u200b' || r >= '\u2000' && r <= '\u200a' && r != '\u2007'
}

// tied reports whether a character forbids a break on both sides.
func tied(r rune) bool { return r == '\u00a0' || r == '\u202f' || r == '\u2007' || r == '\u2011' }

// ideographic reports whether lines may break next to a character without a space. Hangul is not ideographic: Korean breaks
// between words.
func ideographic(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo) ||
		r >= 0x3000 && r <= 0x303f || r >= 0xff01 && r <= 0xff60 || r == 'ー' || r == '・'
}
