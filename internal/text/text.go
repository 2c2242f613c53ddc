// Package text owns what strings from outside may look like (contract 1.14): lines, blocks, names of files, addresses,
// hostnames and URLs. Its errors are sentences for a client's detail, to be prefixed with the member's name, as
// fault.Problems.Add does. It knows no member and no limit of its own but those that a standard sets.
package text

import (
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// The limits of contract 1.14, in bytes.
const (
	MaxName    = 255 // names, subjects, anonSender
	MaxSlogan  = 500
	MaxMessage = 20_000 // messages, absence messages, signatures
	MaxField   = 4_000  // one value of the structured fields
	MaxSchema  = 64 << 10
	MaxFile    = 1_024 // name of an object
	MaxEmail   = 254
	MaxURL     = 2_048
)

var (
	errUTF8    = errors.New("is not valid UTF-8")
	errControl = errors.New("contains a control character")
	errBidi    = errors.New("contains a character that changes the direction of text")
	errEmpty   = errors.New("is empty")
	errEmail   = errors.New("is not an email address")
	errURL     = errors.New("is not an http or https URL")
	errHost    = errors.New("is not a hostname")
)

// Line checks a string of one line: valid UTF-8, no control characters, at most maxBytes long. Empty is fine.
func Line(s string, maxBytes int) error { return check(s, maxBytes, "") }

// Block checks a text of several lines: as Line, with line feeds and tabs allowed.
func Block(s string, maxBytes int) error { return check(s, maxBytes, "\n\t") }

// Required checks a Line that must not be empty or blank.
func Required(s string, maxBytes int) error {
	if strings.TrimSpace(s) == "" {
		return errEmpty
	}
	return Line(s, maxBytes)
}

// FileName checks the name of an object: a Line that is not empty and hides nothing behind bidirectional overrides.
// A name that looks like a path is kept as it is (contract 7).
func FileName(s string) error {
	if err := Required(s, MaxFile); err != nil {
		return err
	}
	if strings.ContainsFunc(s, isBidiControl) {
		return errBidi
	}
	return nil
}

func check(s string, maxBytes int, allowed string) error {
	if len(s) > maxBytes {
		return fmt.Errorf("is longer than %d bytes", maxBytes)
	}
	if !utf8.ValidString(s) {
		return errUTF8
	}
	for _, r := range s {
		if isControl(r) && !strings.ContainsRune(allowed, r) {
			return errControl
		}
	}
	return nil
}

// isControl also takes the two line separators of Unicode, which end a line like a control character.
func isControl(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

func isBidiControl(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' || r == '\u200e' || r == '\u200f' || r == '\u061c'
}

// profile is IDNA 2008 with the mappings of UTS 46, as browsers apply them, plus the length rules of DNS.
func profile() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.CheckHyphens(true), idna.VerifyDNSLength(true))
}

// Email checks a mailbox (RFC 5321, without quoted local parts and address literals) and returns the form in which
// addresses are stored and compared: lower case, the domain in its ASCII form.
func Email(s string) (string, error) {
	at := strings.LastIndexByte(s, '@')
	if at < 1 || at > 64 {
		return "", errEmail
	}
	if len(s) > 4*MaxEmail {
		return "", errEmail
	}
	local := s[:at]
	for i := range len(local) {
		if local[i] <= ' ' || local[i] >= 0x7f {
			return "", errEmail
		}
	}
	domain, err := Hostname(s[at+1:])
	if err != nil {
		return "", errEmail
	}
	address := local + "@" + domain
	if parsed, err := mail.ParseAddress(address); err != nil || parsed.Address != address || parsed.Name != "" || len(address) > MaxEmail {
		return "", errEmail
	}
	return strings.ToLower(address), nil
}

// Hostname checks a DNS name and returns it in lower-case ASCII form. Ports, addresses and a final dot are no part of
// a hostname.
func Hostname(s string) (string, error) {
	if s == "" || len(s) > 4*253 || strings.HasSuffix(s, ".") || !utf8.ValidString(s) {
		return "", errHost
	}
	ascii, err := profile().ToASCII(s)
	if err != nil || strings.HasSuffix(ascii, ".") || len(ascii) > 253 {
		return "", errHost
	}
	ascii = strings.ToLower(ascii)
	if last := ascii[strings.LastIndexByte(ascii, '.')+1:]; strings.Trim(last, "0123456789") == "" {
		return "", errHost // WHATWG URL: such a name is an IPv4 address
	}
	if _, err := netip.ParseAddr(ascii); err == nil {
		return "", errHost
	}
	return ascii, nil
}

// URL checks an absolute http or https URL without user information.
func URL(s string) error {
	if err := Line(s, MaxURL); err != nil {
		return err
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Opaque != "" || strings.ContainsAny(s, " \\") {
		return errURL
	}
	return nil
}
