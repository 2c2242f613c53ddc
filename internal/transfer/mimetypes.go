package transfer

import (
	"mime"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"
)

// mimeName is the form of either half of a MIME type (RFC 6838, 4.2). Its length is compared apart: a counting regexp takes
// a hundred times the memory.
var mimeName = regexp.MustCompile(`^[a-z0-9][a-z0-9!#$&^_.+-]*$`)

// ValidMIMERange reports whether s can be an entry of a MIMEFilter: type/subtype or type/*, in lower case.
func ValidMIMERange(s string) bool {
	isName := func(s string) bool { return len(s) <= maxMIMEName && mimeName.MatchString(s) }
	family, subtype, _ := strings.Cut(s, "/")
	return isName(family) && (subtype == "*" || isName(subtype))
}

// MIMEFilter lists the types that a mailbox accepts, as type/subtype or type/*. An empty filter accepts every type.
type MIMEFilter []string

// includes reports whether the filter has an entry for mimeType.
func (f MIMEFilter) includes(mimeType string) bool {
	mimeType, _, _ = strings.Cut(mimeType, ";")
	mimeType = strings.ToLower(strings.TrimSpace(mimeType))
	family, _, _ := strings.Cut(mimeType, "/")
	for _, entry := range f {
		if entry == mimeType || entry == family+"/*" {
			return true
		}
	}
	return false
}

// AllowsName reports whether the filter accepts a file by its name.
func (f MIMEFilter) AllowsName(name string) bool {
	return len(f) == 0 || f.includes(TypeByName(name))
}

// AllowsContent reports whether the filter accepts a file by its first bytes: by their type or a more general one, as a
// docx is also a zip.
func (f MIMEFilter) AllowsContent(head []byte, name string) bool {
	if len(f) == 0 {
		return true
	}
	if len(head) == 0 {
		return f.AllowsName(name)
	}
	for t := mimetype.Detect(head); t != nil; t = t.Parent() {
		if !t.Is(octetStream) && f.includes(t.String()) {
			return true
		}
	}
	return f.includes(octetStream)
}

// Rejection returns ErrMIMEType with a detail that names member and the accepted types.
func (f MIMEFilter) Rejection(member string) error {
	return ErrMIMEType.With(member + ": the mailbox takes " + strings.Join(f, ", ") + " only")
}

const octetStream = "application/octet-stream"

// SniffBytes is how many first bytes of a file TypeByContent needs.
const SniffBytes = 3 << 10

// TypeByName returns the MIME type for a file name's extension, application/octet-stream for an unknown one.
func TypeByName(name string) string {
	if t := mime.TypeByExtension(strings.ToLower(path.Ext(name))); t != "" {
		return t
	}
	return octetStream
}

// TypeByContent returns the MIME type of a file by its first bytes, or by its name where they do not tell.
func TypeByContent(head []byte, name string) string {
	if len(head) == 0 {
		return TypeByName(name)
	}
	if t := mimetype.Detect(head); !t.Is(octetStream) {
		return t.String()
	}
	if t := TypeByName(name); !strings.HasPrefix(t, "text/") || utf8.Valid(head) {
		return t
	}
	return octetStream
}
