// Reads files of environment variables by the rules of systemd's EnvironmentFile=, so that commands have the settings of the service.

package config

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"
)

// EnvFile is where the packages put the settings, and PackagedDataDir the data directory that their unit sets. Commands use both when
// neither --env-file nor a variable with Prefix is given.
const (
	EnvFile         = "/etc/consign/consign.env"
	PackagedDataDir = "/var/lib/consign"
)

// ReadEnvFile returns the variables of a file in the form of os.Environ, as systemd would set them. A name that occurs twice has its last
// value.
func ReadEnvFile(name string) ([]string, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	environ, err := ParseEnvFile(string(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return environ, nil
}

// ParseEnvFile returns the variables of a text as systemd reads it (systemd.exec(5), EnvironmentFile=). It is no shell: nothing is
// expanded, & and < are ordinary, and white space around a value is removed unless it is quoted. A line that systemd ignores is ignored.
// The error is a comment that ends with a backslash: systemd before 254 takes the next line for a part of it.
func ParseEnvFile(text string) ([]string, error) {
	p := envParser{at: make(map[string]int)}
	for i, c := range []byte(text) {
		p.step(c)
		if p.continued {
			return nil, fmt.Errorf("line %d is a comment that ends with a backslash, which versions of systemd read differently",
				strings.Count(text[:i+1], "\n"))
		}
	}
	if p.state != beforeName && p.state != inName && p.state != inComment && p.state != afterCommentBackslash {
		p.push() // the last line has no line feed
	}
	return p.environ, nil
}

// envState is where a parser is.
type envState int

const (
	beforeName envState = iota
	inName
	beforeValue // after the equals sign or a closing quote
	inValue
	afterBackslash
	inSingleQuotes
	inDoubleQuotes
	afterQuotedBackslash
	inComment
	afterCommentBackslash
)

// envParser reads a text byte by byte, as systemd's parser does.
type envParser struct {
	state       envState
	name, value []byte
	blank       int  // white space at the end of value, which is removed
	continued   bool // a comment ended with a backslash
	environ     []string
	at          map[string]int // index in environ of each name
}

const (
	blanks   = " \t\n\r"
	newlines = "\n\r"
)

func among(set string, c byte) bool { return strings.IndexByte(set, c) >= 0 }

// step takes the next byte.
func (p *envParser) step(c byte) {
	switch p.state {
	case beforeName:
		if among("#;", c) {
			p.state = inComment
		} else if !among(blanks, c) {
			p.state, p.name = inName, append(p.name, c)
		}
	case inName:
		switch {
		case among(newlines, c): // a line without an equals sign
			p.state, p.name = beforeName, nil
		case c == '=':
			p.state = beforeValue
		default:
			p.name = append(p.name, c)
		}
	case inComment:
		if c == '\\' {
			p.state = afterCommentBackslash
		} else if among(newlines, c) {
			p.state = beforeName
		}
	case afterCommentBackslash:
		p.state, p.continued = inComment, among(newlines, c)
	default:
		p.stepValue(c)
	}
}

// stepValue takes the next byte of a value.
func (p *envParser) stepValue(c byte) {
	add := func(b ...byte) { p.value = append(p.value, b...) }
	switch p.state {
	case beforeValue, inValue:
		switch {
		case among(newlines, c):
			p.push()
		case c == '\\':
			p.state, p.blank = afterBackslash, 0
		case p.state == beforeValue && c == '\'':
			p.state = inSingleQuotes
		case p.state == beforeValue && c == '"':
			p.state = inDoubleQuotes
		case !among(blanks, c):
			p.state, p.blank = inValue, 0
			add(c)
		case p.state == inValue:
			p.blank++
			add(c)
		}
	case afterBackslash:
		p.state = inValue
		if !among(newlines, c) { // else the next line continues this one
			add(c)
		}
	case inSingleQuotes:
		if c == '\'' {
			p.state = beforeValue
			return
		}
		add(c)
	case inDoubleQuotes:
		switch c {
		case '"':
			p.state = beforeValue
		case '\\':
			p.state = afterQuotedBackslash
		default:
			add(c)
		}
	default: // afterQuotedBackslash
		p.state = inDoubleQuotes
		if among("\"\\`$", c) {
			add(c)
		} else if c != '\n' {
			add('\\', c)
		}
	}
}

// push ends a line with a variable. systemd ignores names that no variable can have, and values that are not UTF-8.
func (p *envParser) push() {
	value := string(p.value)
	if p.state == inValue {
		value = value[:len(value)-p.blank]
	}
	name := strings.TrimRight(string(p.name), blanks)
	p.state, p.name, p.value, p.blank = beforeName, nil, nil, 0
	if !variableName(name) || !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
		return
	}
	if i, known := p.at[name]; known {
		p.environ[i] = name + "=" + value
		return
	}
	p.at[name] = len(p.environ)
	p.environ = append(p.environ, name+"="+value)
}

func variableName(s string) bool {
	for i, c := range []byte(s) {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
