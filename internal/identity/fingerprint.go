package identity

import (
	"crypto/sha256"

	"github.com/consign-dev/consign/internal/id"
)

// Emoji is one symbol of a fingerprint.
type Emoji struct {
	Name      string // the emoji as text
	CodePoint rune
	Title     string // English; the key of its translations
}

// FingerprintLength is the number of emoji in a fingerprint (contract 3.8).
const FingerprintLength = 4

// Fingerprint returns the emoji by which people recognize a person. It depends only on the uid and never changes. The
// uid is hashed because uids of the same millisecond begin with the same bytes.
func Fingerprint(uid id.Person) [FingerprintLength]Emoji {
	sum := sha256.Sum256(uid.UUID[:])
	var f [FingerprintLength]Emoji
	for i := range f {
		e := emoji[sum[i]%byte(len(emoji))]
		f[i] = Emoji{Name: string(e.codePoint), CodePoint: e.codePoint, Title: e.title}
	}
	return f
}

// emoji are easy to distinguish and to name. Each is one code point. The order is part of every fingerprint and must
// never change. There are 64, which divides 256, so that each is equally likely.
var emoji = [64]struct {
	codePoint rune
	title     string
}{
	{0x1F436, "dog"}, {0x1F431, "cat"}, {0x1F981, "lion"}, {0x1F40E, "horse"},
	{0x1F984, "unicorn"}, {0x1F437, "pig"}, {0x1F418, "elephant"}, {0x1F430, "rabbit"},
	{0x1F43C, "panda"}, {0x1F413, "rooster"}, {0x1F427, "penguin"}, {0x1F422, "turtle"},
	{0x1F41F, "fish"}, {0x1F419, "octopus"}, {0x1F98B, "butterfly"}, {0x1F41D, "bee"},
	{0x1F33B, "sunflower"}, {0x1F335, "cactus"}, {0x1F332, "fir"}, {0x1F344, "mushroom"},
	{0x1F30D, "globe"}, {0x1F319, "moon"}, {0x2B50, "star"}, {0x1F525, "fire"},
	{0x1F34C, "banana"}, {0x1F34E, "apple"}, {0x1F353, "strawberry"}, {0x1F352, "cherries"},
	{0x1F34B, "lemon"}, {0x1F33D, "maize"}, {0x1F955, "carrot"}, {0x1F355, "pizza"},
	{0x1F382, "cake"}, {0x1F369, "doughnut"}, {0x1F9C0, "cheese"}, {0x2615, "coffee"},
	{0x1F3E0, "house"}, {0x26F5, "sailing boat"}, {0x1F682, "locomotive"}, {0x1F6B2, "bicycle"},
	{0x1F680, "rocket"}, {0x1F681, "helicopter"}, {0x1F69C, "tractor"}, {0x2693, "anchor"},
	{0x1F3A9, "hat"}, {0x1F453, "glasses"}, {0x1F451, "crown"}, {0x1F45F, "shoe"},
	{0x1F9F2, "magnet"}, {0x1F528, "hammer"}, {0x1F511, "key"}, {0x1F4A1, "light bulb"},
	{0x1F4D5, "book"}, {0x270F, "pencil"}, {0x1F4CE, "paper clip"}, {0x2702, "scissors"},
	{0x23F0, "alarm clock"}, {0x1F381, "gift"}, {0x1F3B8, "guitar"}, {0x1F3BA, "trumpet"},
	{0x1F514, "bell"}, {0x26BD, "ball"}, {0x1F3C6, "trophy"}, {0x2602, "umbrella"},
}
