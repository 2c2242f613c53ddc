// The embedded fonts, which one a character gets, and which characters cannot be printed.

package pdf

import (
	_ "embed" // fonts/*.ttf
	"fmt"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/unicode/bidi"
)

// Variables of type []byte avoid the copy of seven megabytes that an embed.FS would make.
var (
	//go:embed fonts/DejaVuSans.ttf
	latinFile []byte
	//go:embed fonts/DejaVuSans-Bold.ttf
	latinBoldFile []byte
	//go:embed fonts/DroidSansFallbackFull.ttf
	hanFile []byte
	//go:embed fonts/NanumSquareR.ttf
	hangulFile []byte
	//go:embed fonts/Figtree-Regular.ttf
	brandFile []byte
	//go:embed fonts/Figtree-SemiBold.ttf
	brandBoldFile []byte
	//go:embed fonts/NotoEmoji-Regular.ttf
	emojiFile []byte
)

// face is one font file.
type face struct {
	name string // in the PDF
	file []byte
	font *sfnt.Font // safe for concurrent use with a buffer for each user
}

// fonts holds the faces by script.
type fonts struct {
	latin     *face // Latin, Cyrillic, Greek …
	latinBold *face
	han       *face // ideographs and kana; it has no Latin letter
	hangul    *face // Hangul, and Latin in the same style

	// Those of sheets.
	brand     *face // Latin: the typeface of the pages
	brandBold *face
	emoji     *face // in one colour
}

// embedded returns the faces, parsed for the first document. Parsing takes a megabyte of memory, which most servers never
// need. An invalid font file panics in every test of the package.
var embedded = sync.OnceValue(func() *fonts {
	var f fonts
	for _, built := range []struct {
		name string
		file []byte
		into **face
	}{
		{"DejaVuSans", latinFile, &f.latin}, {"DejaVuSans-Bold", latinBoldFile, &f.latinBold},
		{"DroidSansFallbackFull", hanFile, &f.han}, {"NanumSquareR", hangulFile, &f.hangul},
		{"Figtree-Regular", brandFile, &f.brand}, {"Figtree-SemiBold", brandBoldFile, &f.brandBold}, {"NotoEmoji-Regular", emojiFile, &f.emoji},
	} {
		parsed, err := sfnt.Parse(built.file)
		if err != nil {
			panic(fmt.Sprintf("parse font %s: %v", built.name, err))
		}
		*built.into = &face{name: built.name, file: built.file, font: parsed}
	}
	return &f
})

// choice is a face for a style. An emboldened face has no bold file and is drawn with a stroke.
type choice struct {
	face       *face
	emboldened bool
}

// preferences returns the faces in the order in which a locale looks characters up.
func (f *fonts) preferences(locale string, bold bool) []choice {
	latin, han, hangul := []choice{{f.latin, bold}}, choice{f.han, bold}, choice{f.hangul, bold}
	if bold {
		latin = []choice{{f.latinBold, false}, {f.latin, true}}
	}
	if language(locale) == "ko" {
		return append(append([]choice{hangul}, latin...), han)
	}
	return append(latin, han, hangul)
}

// sheetPreferences is preferences for sheets: Latin is that of the pages, but in Russian text, whose letters it lacks.
func (f *fonts) sheetPreferences(locale string, bold bool) []choice {
	all := f.preferences(locale, bold)
	if language(locale) == "ru" {
		return append(all, choice{f.emoji, false})
	}
	brand := choice{f.brand, false}
	if bold {
		brand.face = f.brandBold
	}
	return append(append([]choice{brand}, all...), choice{f.emoji, false})
}

// language returns the first part of a locale such as "ko_KR" or "ko-KR".
func language(locale string) string {
	l, _, _ := strings.Cut(strings.ReplaceAll(locale, "_", "-"), "-")
	return strings.ToLower(l)
}

// glyph is a character with its face.
type glyph struct {
	r     rune
	in    choice
	width float64 // in ems

	outlined bool // drawn as a picture: the PDF library writes no character beyond the basic plane
}

// finder looks characters up, with a cache. It is not safe for concurrent use.
type finder struct {
	prefer map[bool][]choice // by bold
	found  map[found]glyph
	buffer sfnt.Buffer
	sheet  bool // letters from right to left, pictures of glyphs, and boxes for what no font has
}

type found struct {
	r    rune
	bold bool
}

func newFinder(f *fonts, locale string) *finder {
	return &finder{
		prefer: map[bool][]choice{false: f.preferences(locale, false), true: f.preferences(locale, true)},
		found:  map[found]glyph{},
	}
}

// newSheetFinder is newFinder for sheets.
func newSheetFinder(f *fonts, locale string) *finder {
	return &finder{
		prefer: map[bool][]choice{false: f.sheetPreferences(locale, false), true: f.sheetPreferences(locale, true)},
		found:  map[found]glyph{}, sheet: true,
	}
}

// find returns the glyph of a character, or false when it cannot be printed correctly.
func (f *finder) find(r rune, bold bool) (glyph, bool) {
	if g, ok := f.found[found{r, bold}]; ok {
		return g, g.in.face != nil
	}
	g := glyph{r: r}
	if printable(r) || f.sheet && !unicode.IsControl(r) {
		for _, c := range f.prefer[bold] {
			if width, ok := f.advance(c.face, r); ok {
				g.in, g.width, g.outlined = c, width, r > 0xffff
				break
			}
		}
	}
	f.found[found{r, bold}] = g
	return g, g.in.face != nil
}

// advance returns the width of a character in a face, in ems.
func (f *finder) advance(in *face, r rune) (float64, bool) {
	index, err := in.font.GlyphIndex(&f.buffer, r)
	if err != nil || index == 0 {
		return 0, false
	}
	units := in.font.UnitsPerEm()
	outline, err := in.font.LoadGlyph(&f.buffer, index, fixed.I(int(units)), nil)
	if err != nil || len(outline) == 0 && !unicode.IsSpace(r) {
		return 0, false // NanumSquare has blank glyphs for thousands of ideographs and syllables
	}
	width, err := in.font.GlyphAdvance(&f.buffer, index, fixed.I(int(units)), font.HintingNone)
	if err != nil {
		return 0, false
	}
	return float64(width) / 64 / float64(units), true
}

// printable excludes characters beyond the basic plane, which the PDF library cannot write, control characters, and
// scripts written from right to left.
func printable(r rune) bool {
	if r > 0xffff || unicode.IsControl(r) || unicode.Is(unicode.Co, r) {
		return false
	}
	properties, _ := bidi.LookupRune(r)
	switch properties.Class() {
	case bidi.R, bidi.AL, bidi.AN:
		return false
	}
	return true
}
