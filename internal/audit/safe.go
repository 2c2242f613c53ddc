package audit

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxText  = 500 // bytes of any one text in an entry
	withheld = "(withheld)"
)

// secretNames are words in the names of details whose values are always withheld.
var secretNames = []string{"password", "secret", "token", "key", "code", "authorization", "cookie"}

// jwt matches a JSON Web Token: three base64url parts, the first of which is a JSON object.
var jwt = regexp.MustCompile(`eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+`)

// safe returns details without secrets that a caller passed by mistake, and without text that Postgres rejects.
func safe(details map[string]string) map[string]string {
	out := make(map[string]string, len(details))
	for name, value := range details {
		if secret(name) {
			value = withheld
		}
		out[plain(name)] = plain(value)
	}
	return out
}

// secret reports whether one of the words of a name like "resetKey" or "reset_key" is in secretNames.
func secret(name string) bool {
	var words strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) || !unicode.IsLetter(r) {
			words.WriteByte(' ')
		}
		words.WriteRune(unicode.ToLower(r))
	}
	for word := range strings.FieldsFuncSeq(words.String(), func(r rune) bool { return !unicode.IsLetter(r) }) {
		for _, s := range secretNames {
			if word == s || word == s+"s" {
				return true
			}
		}
	}
	return false
}

// plain returns s without tokens and control characters, as valid UTF-8 of at most maxText bytes.
func plain(s string) string {
	s = jwt.ReplaceAllString(s, withheld)
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= maxText {
		return s
	}
	cut := maxText
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}
