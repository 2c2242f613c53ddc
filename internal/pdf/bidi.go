// Puts lines with Arabic, Hebrew and other letters that are written from right to left into the order in which they are drawn, and
// replaces Arabic letters by their joined forms.

package pdf

import (
	"slices"
	"unicode"

	"golang.org/x/text/unicode/bidi"
)

// visual returns a line in the order in which it is drawn: the rules of UAX #9 for text without explicit embeddings, with numbers beside
// right-to-left letters. The first letter decides the direction of the line.
func visual(line []glyph) []glyph {
	if !slices.ContainsFunc(line, func(g glyph) bool { return rightToLeft(g.r) }) {
		return line
	}
	levels := embed(line)
	highest := slices.Max(levels)
	ordered, order := slices.Clone(line), slices.Clone(levels)
	for i, g := range ordered {
		if mirror, ok := mirrors[g.r]; ok && levels[i]%2 == 1 {
			ordered[i].r = mirror
		}
	}
	for level := highest; level > 0; level-- {
		for from := 0; from < len(order); {
			if order[from] < level {
				from++
				continue
			}
			to := from
			for to < len(order) && order[to] >= level {
				to++
			}
			slices.Reverse(ordered[from:to])
			slices.Reverse(order[from:to])
			from = to
		}
	}
	return marksAfterLetters(ordered, order)
}

// marksAfterLetters puts combining marks, which a reversal has put before their letter, behind it again: their glyphs reach back.
func marksAfterLetters(line []glyph, levels []int) []glyph {
	for i := 0; i < len(line); i++ {
		if levels[i]%2 == 0 || !unicode.Is(unicode.M, line[i].r) {
			continue
		}
		to := i
		for to < len(line) && unicode.Is(unicode.M, line[to].r) {
			to++
		}
		if to < len(line) {
			slices.Reverse(line[i : to+1])
		}
		i = to
	}
	return line
}

func classOf(r rune) bidi.Class {
	properties, _ := bidi.LookupRune(r)
	return properties.Class()
}

func rightToLeft(r rune) bool {
	class := classOf(r)
	return class == bidi.R || class == bidi.AL
}

// embed returns the embedding level of each glyph: even from left to right, odd from right to left.
func embed(line []glyph) []int {
	base := 0
	for _, g := range line {
		if class := classOf(g.r); class == bidi.L {
			break
		} else if class == bidi.R || class == bidi.AL {
			base = 1
			break
		}
	}
	const neutral = -1
	levels := make([]int, len(line))
	last := base // the direction of the last letter
	for i, g := range line {
		switch class := classOf(g.r); {
		case class == bidi.L:
			levels[i], last = 2*base, 0
		case class == bidi.R || class == bidi.AL:
			levels[i], last = 1, 1
		case class == bidi.AN || class == bidi.EN && last == 1:
			levels[i] = 2
		case class == bidi.EN:
			levels[i] = 2 * base
		case class == bidi.NSM && i > 0:
			levels[i] = levels[i-1]
		case (class == bidi.CS || class == bidi.ES) && i > 0 && i+1 < len(line) && levels[i-1] == 2 && classOf(line[i-1].r) == bidi.EN &&
			classOf(line[i+1].r) == bidi.EN:
			levels[i] = 2
		default:
			levels[i] = neutral
		}
	}
	for i := 0; i < len(levels); i++ { // neutrals take the direction of both sides, else that of the line
		if levels[i] != neutral {
			continue
		}
		to := i
		for to < len(levels) && levels[to] == neutral {
			to++
		}
		before, after := base, base
		if i > 0 {
			before = side(levels[i-1])
		}
		if to < len(levels) {
			after = side(levels[to])
		}
		level := base
		if before == after && before != base {
			level = base + 1
		}
		for ; i < to; i++ {
			levels[i] = level
		}
	}
	return levels
}

// side returns 1 for what neutrals see as right to left: letters of that direction, and numbers among them.
func side(level int) int {
	if level == 0 {
		return 0
	}
	return 1
}

var mirrors = map[rune]rune{'(': ')', ')': '(', '[': ']', ']': '[', '{': '}', '}': '{', '<': '>', '>': '<', '«': '»', '»': '«', '‹': '›',
	'›': '‹'}

// form is where the joined forms of an Arabic letter begin, in the order alone, final, initial, medial. Letters with two forms join to the
// letter before them only.
type form struct {
	first rune
	forms int
}

// arabic are the letters that join, as presentation forms of Unicode. A font draws them without tables of its own.
var arabic = map[rune]form{
	0x621: {0xfe80, 1}, 0x622: {0xfe81, 2}, 0x623: {0xfe83, 2}, 0x624: {0xfe85, 2}, 0x625: {0xfe87, 2}, 0x626: {0xfe89, 4},
	0x627: {0xfe8d, 2}, 0x628: {0xfe8f, 4}, 0x629: {0xfe93, 2}, 0x62a: {0xfe95, 4}, 0x62b: {0xfe99, 4}, 0x62c: {0xfe9d, 4},
	0x62d: {0xfea1, 4}, 0x62e: {0xfea5, 4}, 0x62f: {0xfea9, 2}, 0x630: {0xfeab, 2}, 0x631: {0xfead, 2}, 0x632: {0xfeaf, 2},
	0x633: {0xfeb1, 4}, 0x634: {0xfeb5, 4}, 0x635: {0xfeb9, 4}, 0x636: {0xfebd, 4}, 0x637: {0xfec1, 4}, 0x638: {0xfec5, 4},
	0x639: {0xfec9, 4}, 0x63a: {0xfecd, 4}, 0x641: {0xfed1, 4}, 0x642: {0xfed5, 4}, 0x643: {0xfed9, 4}, 0x644: {0xfedd, 4},
	0x645: {0xfee1, 4}, 0x646: {0xfee5, 4}, 0x647: {0xfee9, 4}, 0x648: {0xfeed, 2}, 0x649: {0xfeef, 2}, 0x64a: {0xfef1, 4},
	0x679: {0xfb66, 4}, 0x67e: {0xfb56, 4}, 0x686: {0xfb7a, 4}, 0x688: {0xfb88, 2}, 0x691: {0xfb8c, 2}, 0x698: {0xfb8a, 2},
	0x6a9: {0xfb8e, 4}, 0x6af: {0xfb92, 4}, 0x6ba: {0xfb9e, 2}, 0x6be: {0xfbaa, 4}, 0x6c1: {0xfba6, 4}, 0x6cc: {0xfbfc, 4},
	0x6d2: {0xfbae, 2},
}

// lamAlef are the ligatures of lam with a following alef.
var lamAlef = map[rune]rune{0x622: 0xfef5, 0x623: 0xfef7, 0x625: 0xfef9, 0x627: 0xfefb}

const lam, tatweel = 0x644, 0x640

// join replaces Arabic letters by their joined forms.
func join(text []rune) []rune {
	if !slices.ContainsFunc(text, func(r rune) bool { return arabic[r].forms > 0 }) {
		return text
	}
	var joined []rune
	open := false // the letter before joins to the next one
	for i := 0; i < len(text); i++ {
		r := text[i]
		f, letter := arabic[r]
		switch {
		case unicode.Is(unicode.M, r):
			joined = append(joined, r)
			continue
		case r == tatweel:
			joined, open = append(joined, r), true
			continue
		case !letter:
			joined, open = append(joined, r), false
			continue
		}
		next := nextLetter(text[i+1:])
		if ligature := lamAlef[next]; r == lam && ligature != 0 && text[i+1] == next {
			f, i = form{ligature, 2}, i+1
			next = 0
		}
		form := f.first
		if open && f.forms > 1 {
			form++
		}
		open = f.forms == 4 && (next == tatweel || arabic[next].forms > 1)
		if open {
			form += 2
		}
		joined = append(joined, form)
	}
	return joined
}

// nextLetter returns the first character that is no combining mark, 0 for none.
func nextLetter(text []rune) rune {
	for _, r := range text {
		if !unicode.Is(unicode.M, r) {
			return r
		}
	}
	return 0
}
