// The JSON parser behind Decode.

package strictjson

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/consign-dev/consign/internal/fault"
)

// encoding/json silently accepts duplicate members, members in another case and invalid UTF-8, and reports only the first wrong
// type. This parser reads JSON (RFC 8259) itself. It binds while it parses and builds no tree, which bounds its memory.

const (
	maxDepth    = 64
	maxElements = 10_000 // of one list or map
)

// parser reads one document. It stops at an error: the text is not JSON, or is JSON that is refused. A value that does not fit its
// member is a problem: it is recorded and parsing continues.
type parser struct {
	data     []byte
	at       int
	depth    int
	problems fault.Problems
}

// place is the path of a value in the document. It is formatted only for a problem.
type place struct {
	outer *place
	name  string
	index int // of a list, when name is empty
}

func (l *place) String() string {
	if l == nil {
		return "body"
	}
	if l.name == "" {
		outer := ""
		if l.outer != nil {
			outer = l.outer.String()
		}
		return outer + "[" + strconv.Itoa(l.index) + "]"
	}
	name := l.name
	if len(name) > 100 {
		name = name[:100] + "…"
	}
	if l.outer == nil {
		return name
	}
	return l.outer.String() + "." + name
}

func (p *parser) problem(l *place, text string) {
	if len(p.problems) < fault.MaxProblems {
		p.problems.Add(l.String(), text)
	}
}

// syntax returns an error with the current line and column.
func (p *parser) syntax(text string) error {
	line, column := 1, 1
	for _, c := range p.data[:min(p.at, len(p.data))] {
		if c == '\n' {
			line, column = line+1, 0
		}
		column++
	}
	return fmt.Errorf("body: %s at line %d, column %d", text, line, column)
}

// document reads the whole text into dst.
func (p *parser) document(dst reflect.Value) error {
	p.space()
	if err := p.value(dst, nil); err != nil {
		return err
	}
	p.space()
	if p.at < len(p.data) {
		return p.syntax("is not JSON: something follows the value")
	}
	return nil
}

func (p *parser) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

func (p *parser) peek() byte {
	if p.at < len(p.data) {
		return p.data[p.at]
	}
	return 0
}

// skip reads a value without storing it and returns its text.
func (p *parser) skip(l *place) ([]byte, error) {
	start := p.at
	err := p.value(reflect.Value{}, l)
	return p.data[start:p.at], err
}

// object reads an object and calls member for each of its values.
func (p *parser) object(l *place, member func(name string, l *place) error) error {
	if p.depth++; p.depth > maxDepth {
		return p.syntax("is nested too deeply")
	}
	defer func() { p.depth-- }()
	seen := make(map[string]struct{})
	p.at++ // {
	p.space()
	if p.peek() == '}' {
		p.at++
		return nil
	}
	for {
		p.space()
		if p.peek() != '"' {
			return p.syntax("is not JSON: a member name in quotes is expected")
		}
		name, err := p.text()
		if err != nil {
			return err
		}
		inner := &place{outer: l, name: name}
		if _, twice := seen[name]; twice {
			return errors.New(inner.String() + ": is given twice")
		}
		seen[name] = struct{}{}
		p.space()
		if p.peek() != ':' {
			return p.syntax("is not JSON: a colon is expected")
		}
		p.at++
		p.space()
		if err := member(name, inner); err != nil {
			return err
		}
		if more, err := p.separator('}'); !more {
			return err
		}
	}
}

// list reads an array and calls element for each of its values.
func (p *parser) list(l *place, element func(l *place) error) error {
	if p.depth++; p.depth > maxDepth {
		return p.syntax("is nested too deeply")
	}
	defer func() { p.depth-- }()
	p.at++ // [
	p.space()
	if p.peek() == ']' {
		p.at++
		return nil
	}
	for i := 0; ; i++ {
		p.space()
		if err := element(&place{outer: l, index: i}); err != nil {
			return err
		}
		if more, err := p.separator(']'); !more {
			return err
		}
	}
}

// separator reads the comma after an element, or the end.
func (p *parser) separator(end byte) (more bool, err error) {
	p.space()
	switch p.peek() {
	case ',':
		p.at++
		return true, nil
	case end:
		p.at++
		return false, nil
	}
	return false, p.syntax("is not JSON: a comma or the end is expected")
}

// literal reads true, false or null.
func (p *parser) literal() (string, error) {
	for _, word := range [...]string{"true", "false", "null"} {
		if len(p.data)-p.at >= len(word) && string(p.data[p.at:p.at+len(word)]) == word {
			p.at += len(word)
			return word, nil
		}
	}
	if p.at >= len(p.data) {
		return "", p.syntax("is not JSON: it ends too early")
	}
	return "", p.syntax("is not JSON: a value is expected")
}

// number reads a number and returns its text.
func (p *parser) number() (string, error) {
	start := p.at
	if p.peek() == '-' {
		p.at++
	}
	if p.peek() == '0' {
		p.at++
	} else if !p.digits() {
		return "", p.syntax("is not JSON: a digit is expected")
	}
	if p.peek() == '.' {
		p.at++
		if !p.digits() {
			return "", p.syntax("is not JSON: a digit is expected")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		if !p.digits() {
			return "", p.syntax("is not JSON: a digit is expected")
		}
	}
	return string(p.data[start:p.at]), nil
}

func (p *parser) digits() bool {
	start := p.at
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.at > start
}

// text reads a string in quotes.
func (p *parser) text() (string, error) {
	p.at++ // "
	start := p.at
	for p.at < len(p.data) && p.data[p.at] != '"' && p.data[p.at] != '\\' && p.data[p.at] >= ' ' {
		p.at++
	}
	out := p.data[start:p.at]
	if p.peek() != '"' {
		var err error
		if out, err = p.escaped(append([]byte(nil), out...)); err != nil {
			return "", err
		}
	}
	if !utf8.Valid(out) {
		return "", p.syntax("has a string that is not valid UTF-8")
	}
	p.at++ // "
	return string(out), nil
}

// escaped reads the rest of a string that contains an escape, up to the closing quote.
func (p *parser) escaped(out []byte) ([]byte, error) {
	for {
		if p.at >= len(p.data) {
			return nil, p.syntax("is not JSON: it ends within a string")
		}
		switch c := p.data[p.at]; {
		case c == '"':
			return out, nil
		case c < ' ':
			return nil, p.syntax("is not JSON: a control character stands in a string")
		case c != '\\':
			out = append(out, c)
			p.at++
		default:
			r, err := p.escape()
			if err != nil {
				return nil, err
			}
			out = utf8.AppendRune(out, r)
		}
	}
}

var escapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads one escape sequence, or a surrogate pair of two.
func (p *parser) escape() (rune, error) {
	p.at++ // \
	if r, ok := escapes[p.peek()]; ok {
		p.at++
		return r, nil
	}
	r, ok := p.hex()
	if !ok {
		return 0, p.syntax("is not JSON: an unknown escape stands in a string")
	}
	if r == 0 {
		return 0, p.syntax("has a NUL character")
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if p.peek() == '\\' {
		p.at++
		if low, ok := p.hex(); ok {
			if whole := utf16.DecodeRune(r, low); whole != utf8.RuneError {
				return whole, nil
			}
		}
	}
	return 0, p.syntax("has half of a surrogate pair")
}

// hex reads u and four digits.
func (p *parser) hex() (rune, bool) {
	if p.peek() != 'u' || p.at+5 > len(p.data) {
		return 0, false
	}
	var r rune
	for _, c := range p.data[p.at+1 : p.at+5] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	p.at += 5
	return r, true
}
