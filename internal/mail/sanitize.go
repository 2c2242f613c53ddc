// How mails show names and texts that strangers wrote: short, visible, and without links.

package mail

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"
)

// Lengths in runes to which text written by people is shortened.
const (
	maxName    = 120   // names of persons, mailboxes, organizations
	maxSubject = 200   // subject of a mail
	maxQuote   = 20000 // a message
	maxPreview = 120   // what lists of mails show of it
	maxFile    = 100   // a file name
	maxValue   = 500   // an answer to a question of a mailbox
)

// line returns untrusted text as one line: it replaces control and format characters (line ends, bidi overrides) by
// spaces, collapses runs of spaces, and shortens to limit runes.
func line(s string, limit int) string {
	return cut(strings.Join(strings.Fields(strings.Map(visible, s)), " "), limit)
}

// block does the same for text of several lines and keeps the lines.
func block(s string, limit int) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRightFunc(strings.Map(visible, l), unicode.IsSpace)
	}
	return cut(strings.Trim(strings.Join(lines, "\n"), "\n"), limit)
}

// visible replaces invisible characters by spaces. It keeps joiners, which some scripts and emoji need.
func visible(r rune) rune {
	const zeroWidthNonJoiner, zeroWidthJoiner = '\u200c', '\u200d'
	switch {
	case r == zeroWidthNonJoiner || r == zeroWidthJoiner:
		return r
	case r == unicode.ReplacementChar || unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
		return ' '
	}
	return r
}

func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	runes := []rune(s)
	if len(runes) <= limit {
		return s
	}
	return string(runes[:limit-1]) + "…"
}

// inert keeps mail programs from making a link of untrusted text such as a file name. It puts a zero-width space where
// they detect an address.
func inert(s string) string {
	return inertReplacer.Replace(s)
}

var inertReplacer = strings.NewReplacer("://", ":\u200b//", "www.", "www\u200b.", "WWW.", "WWW\u200b.")

// pieces splits text after the characters by which mail programs detect an address.
func pieces(s string) []string {
	var list []string
	start := 0
	for i := range len(s) {
		if strings.IndexByte("./:", s[i]) >= 0 {
			list = append(list, s[start:i+1])
			start = i + 1
		}
	}
	return append(list, s[start:])
}

// values is Message.Data decoded from JSON. Missing values and values of another type are zero: an incomplete mail is
// better than none.
type values map[string]any

func decodeValues(encoded []byte) (values, error) {
	v := values{}
	err := json.Unmarshal(encoded, &v)
	return v, err
}

func (v values) text(key string) string {
	s, _ := v[key].(string)
	return s
}

// line returns an untrusted value as one line.
func (v values) line(key string) string { return inert(line(v.text(key), maxName)) }

func (v values) flag(key string) bool {
	is, _ := v[key].(bool)
	return is
}

func (v values) number(key string) int64 {
	n, _ := v[key].(float64)
	return int64(n)
}

func (v values) time(key string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, v.text(key))
	if err != nil {
		return time.Time{}
	}
	return t
}

func (v values) files() []File { return decoded[File](v["files"]) }

func (v values) answers() []Answer { return decoded[Answer](v["answers"]) }

// decoded returns a list of Message.Data, nil when it has another shape.
func decoded[T any](value any) []T {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var list []T
	if json.Unmarshal(encoded, &list) != nil {
		return nil
	}
	return list
}
