// Package text validates strings from clients (contract 1.14): lines, blocks, file names, email addresses, hostnames and
// URLs. It holds the table of length limits for both domains. Its errors complete a detail that begins with the member's
// name, as fault.Problems.Add writes it.
package text

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// The length limits of contract 1.14, in bytes.
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
	errBase64  = errors.New("is not base64 with padding")
	errEmail   = errors.New("is not an email address")
	errURL     = errors.New("is not an http or https URL")
	errHost    = errors.New("is not a hostname")
	errOrigin  = errors.New("is not an origin like https://www.example.com or https://www.example.com:8443, without a path")
)

// Line checks a string of one line: valid UTF-8, no control characters, at most maxBytes long. It may be empty.
func Line(s string, maxBytes int) error { return check(s, maxBytes, "") }

// Block checks a text of several lines: as Line, but line feeds and tabs are allowed.
func Block(s string, maxBytes int) error { return check(s, maxBytes, "\n\t") }

// Required checks a line that must not be empty or blank.
func Required(s string, maxBytes int) error {
	if strings.TrimSpace(s) == "" {
		return errEmpty
	}
	return Line(s, maxBytes)
}

// Base64 decodes base64 (RFC 4648, section 4) of which each value has one spelling: with padding, the unused bits 0, and without the
// line breaks that Go's decoder skips.
func Base64(s string) ([]byte, error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || strings.ContainsAny(s, "\r\n") {
		return nil, errBase64
	}
	return raw, nil
}

// FileName checks the name of an object: a line that is not blank and has no bidirectional overrides, embeddings or
// isolates, which can disguise the extension. Marks (U+200E, U+200F, U+061C) are allowed: Arabic and Hebrew names need
// them. A name may look like a path (contract 7).
func FileName(s string) error {
	if err := Required(s, MaxFile); err != nil {
		return err
	}
	return Direction(s)
}

// Direction checks that a text has no bidirectional overrides, embeddings or isolates, which can disguise it in the texts around it.
func Direction(s string) error {
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

// isControl includes the line and paragraph separators of Unicode, which end a line too.
func isControl(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

func isBidiControl(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// profile returns IDNA 2008 with the mappings of UTS 46, as browsers use it, and the length rules of DNS.
func profile() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.CheckHyphens(true), idna.VerifyDNSLength(true))
}

// Email checks an email address (RFC 5321, without quoted local parts and address literals). It returns the form in
// which addresses are stored and compared: lower case, with the domain in ASCII.
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

// Hostname checks a DNS name and returns it in lower-case ASCII. Ports, IP addresses and a final dot are invalid.
func Hostname(s string) (string, error) {
	if s == "" || len(s) > 4*253 || strings.HasSuffix(s, ".") || !utf8.ValidString(s) {
		return "", errHost
	}
	ascii, err := profile().ToASCII(s)
	if err != nil || strings.HasSuffix(ascii, ".") || len(ascii) > 253 {
		return "", errHost
	}
	ascii = strings.ToLower(ascii)
	if again, err := profile().ToASCII(ascii); err != nil || again != ascii {
		return "", errHost // the ASCII form of a name of mixed directions may be invalid itself: xn--5db1683f
	}
	if last := ascii[strings.LastIndexByte(ascii, '.')+1:]; strings.Trim(last, "0123456789") == "" {
		return "", errHost // the WHATWG URL standard reads such a name as an IPv4 address
	}
	if _, err := netip.ParseAddr(ascii); err == nil {
		return "", errHost
	}
	return ascii, nil
}

// Origin checks the origin of an https site, https://host or https://host:port, and returns it as browsers send it: in lower-case
// ASCII, without the port 443.
func Origin(s string) (string, error) {
	const scheme = "https://"
	if len(s) < len(scheme) || !strings.EqualFold(s[:len(scheme)], scheme) {
		return "", errOrigin
	}
	host, port, found := strings.Cut(s[len(scheme):], ":")
	host, err := Hostname(host)
	if err != nil {
		return "", errOrigin
	}
	if !found {
		return scheme + host, nil
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 || port[0] == '0' {
		return "", errOrigin
	}
	if number == 443 {
		return scheme + host, nil
	}
	return scheme + host + ":" + port, nil
}

// URL checks an absolute http or https URL without user information.
func URL(s string) error {
	if err := Line(s, MaxURL); err != nil {
		return err
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Opaque != "" ||
		strings.ContainsAny(s, " \\") {
		return errURL
	}
	return nil
}
