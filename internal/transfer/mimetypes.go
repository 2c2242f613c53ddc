// The MIME filter of a mailbox: entries, and the check of a file by its name and first bytes.

package transfer

import (
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"
)

// mimeName is the form of either half of a MIME type (RFC 6838, 4.2). The length is checked separately: a regexp with a
// bounded repetition takes a hundred times the memory.
var mimeName = regexp.MustCompile(`^[a-z0-9][a-z0-9!#$&^_.+-]*$`)

// ValidMIMERange reports whether s can be an entry of a MIMEFilter: type/subtype or type/*, in lower case.
func ValidMIMERange(s string) bool {
	isName := func(s string) bool { return len(s) <= maxMIMEName && mimeName.MatchString(s) }
	family, subtype, _ := strings.Cut(s, "/")
	return isName(family) && (subtype == "*" || isName(subtype))
}

// MIMEFilter lists the types that a mailbox accepts, as type/subtype or type/*. An empty filter accepts every type.
type MIMEFilter []string

// includes reports whether the filter has an entry for mimeType or another name of it.
func (f MIMEFilter) includes(mimeType string) bool {
	family, _, _ := strings.Cut(mimeType, "/")
	for _, entry := range f {
		if entry == family+"/*" || sameType(entry, mimeType) {
			return true
		}
	}
	return false
}

// sameType reports whether a and b name one type, as text/rtf and application/rtf do.
func sameType(a, b string) bool {
	if a == b {
		return true
	}
	known := mimetype.Lookup(a)
	return known != nil && known.Is(b)
}

// AllowsName reports whether the filter accepts a file by its name.
func (f MIMEFilter) AllowsName(name string) bool {
	return len(f) == 0 || f.includes(TypeByName(name))
}

// AllowsContent reports whether the filter accepts a file by its first bytes. A name that the filter allows is enough unless
// the bytes contradict it: many types (CSS, Markdown, mail) have no signature.
func (f MIMEFilter) AllowsContent(head []byte, name string) bool {
	if len(f) == 0 {
		return true
	}
	detected := mimetype.Detect(head)
	for t := detected; len(head) > 0 && t != nil; t = t.Parent() {
		if !t.Is(octetStream) && f.includes(mediaType(t)) {
			return true
		}
	}
	return f.AllowsName(name) && (len(head) == 0 || !contradicts(detected, TypeByName(name)))
}

// contradicts reports whether content of the detected type cannot be a file of type named. Unrecognised content contradicts
// nothing, and text contradicts only types that are not text.
func contradicts(detected *mimetype.MIME, named string) bool {
	known := mimetype.Lookup(named)
	switch {
	case detected.Is(octetStream), detected.Is(named), isoMedia[mediaType(detected)] && isoMedia[named]:
		return false
	case detected.Is("text/plain") && (known == nil || strings.HasPrefix(named, "text/")):
		return false
	case known == nil:
		return true
	}
	return !descends(detected, named) && !descends(known, mediaType(detected))
}

// descends reports whether t is a special case of mimeType, as a docx is of a zip.
func descends(t *mimetype.MIME, mimeType string) bool {
	for ; t != nil; t = t.Parent() {
		if t.Is(mimeType) {
			return true
		}
	}
	return false
}

// mediaType returns a type without its parameters.
func mediaType(t *mimetype.MIME) string {
	bare, _, _ := strings.Cut(t.String(), ";")
	return bare
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
	if t, ok := typesByExtension[strings.ToLower(path.Ext(name))]; ok {
		return t
	}
	return octetStream
}

// TypeByContent returns the MIME type of a file by its first bytes, or by its name if they match no signature.
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
