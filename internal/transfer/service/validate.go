package service

import (
	"mime"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/text"
	"github.com/consign-dev/consign/internal/transfer"
)

// Lengths of contract 1.14, in bytes.
const (
	maxName     = 255
	maxSlogan   = 500
	maxMessage  = 20_000
	maxPassword = 72 // what bcrypt looks at
	maxFilters  = 100
)

// checkLine and checkBlock note a member that is not a line, or a text of lines, of so many bytes.
func checkLine(p *fault.Problems, member, value string, limit int) {
	if value == "" {
		return
	}
	if err := text.Line(value, limit); err != nil {
		p.Add(member, err.Error())
	}
}

func checkBlock(p *fault.Problems, member, value string, limit int) {
	if value == "" {
		return
	}
	if err := text.Block(value, limit); err != nil {
		p.Add(member, err.Error())
	}
}

// checkEmail notes a member that is not an address, and returns the address in the form it is compared in.
func checkEmail(p *fault.Problems, member, value string) string {
	address, err := text.Email(value)
	if err != nil {
		p.Add(member, err.Error())
	}
	return address
}

// mimeName is either half of a MIME type (RFC 6838, 4.2), which has 127 characters at most: compared apart, since a regexp
// that counts takes a hundred times the memory.
var mimeName = regexp.MustCompile(`^[a-z0-9][a-z0-9!#$&^_.+-]*$`)

const maxMIMEName = 127

// isMIMERange reports whether s can be an entry of a MIME filter: type/subtype, or type/*.
func isMIMERange(s string) bool {
	isName := func(s string) bool { return len(s) <= maxMIMEName && mimeName.MatchString(s) }
	family, subtype, _ := strings.Cut(s, "/")
	return isName(family) && (subtype == "*" || isName(subtype))
}

// filterAllows reports whether a list of types and wildcards includes a type.
func filterAllows(filter []string, mimeType string) bool {
	mimeType, _, _ = strings.Cut(mimeType, ";")
	mimeType = strings.ToLower(strings.TrimSpace(mimeType))
	family, _, _ := strings.Cut(mimeType, "/")
	for _, f := range filter {
		if f == mimeType || f == family+"/*" {
			return true
		}
	}
	return false
}

const octets = "application/octet-stream"

// typeOfName guesses a file's type by the end of its name.
func typeOfName(name string) string {
	if t := mime.TypeByExtension(strings.ToLower(path.Ext(name))); t != "" {
		return t
	}
	return octets
}

// sniffBytes is how much of a file its type is told by.
const sniffBytes = 3 << 10

// typeOfContent tells a file's type by its first bytes, by its name where they say nothing.
func typeOfContent(head []byte, name string) string {
	if len(head) == 0 {
		return typeOfName(name)
	}
	if t := mimetype.Detect(head); !t.Is(octets) {
		return t.String()
	}
	if t := typeOfName(name); !strings.HasPrefix(t, "text/") || utf8.Valid(head) {
		return t
	}
	return octets
}

// contentAllowed reports whether a filter lets content pass: its own type, or any that it is a kind of, as a docx is a zip.
func contentAllowed(filter []string, head []byte, name string) bool {
	if len(head) == 0 {
		return filterAllows(filter, typeOfName(name))
	}
	for t := mimetype.Detect(head); t != nil; t = t.Parent() {
		if !t.Is(octets) && filterAllows(filter, t.String()) {
			return true
		}
	}
	return filterAllows(filter, octets)
}

// errFiltered is ErrMIMEType saying what the mailbox takes.
func errFiltered(member string, filter []string) error {
	return transfer.ErrMIMEType.With(member + ": the mailbox takes " + strings.Join(filter, ", ") + " only")
}
