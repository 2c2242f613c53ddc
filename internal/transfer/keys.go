// The form of keys, short links and client ids.

package transfer

import (
	"regexp"
	"strings"

	"github.com/google/uuid"
)

// vanityLink is the form of a vanity link in lower case (contract 4.1). The length is checked separately: a regexp with a
// bounded repetition takes a hundred times the memory.
var vanityLink = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]+[a-z0-9]$`)

func isVanityLink(s string) bool { return len(s) <= maxVanityLink && vanityLink.MatchString(s) }

// ParseKey parses the key of a public mailbox or group.
// Errors: ErrKeyInvalid when it is neither a uid nor a possible vanity
// link.
func ParseKey(s string) (Key, error) {
	if u, ok := uidForm(s); ok {
		return Key{UID: u}, nil
	}
	link := foldASCII(s)
	if !isVanityLink(link) {
		return Key{}, ErrKeyInvalid
	}
	return Key{Link: link}, nil
}

// ParseVanityLink parses a requested vanity link and returns it in lower case. ok is false when it is malformed, or looks
// like a uid.
func ParseVanityLink(s string) (link string, ok bool) {
	if _, isUID := uidForm(s); isUID {
		return "", false
	}
	link = foldASCII(s)
	return link, isVanityLink(link)
}

// ReservedLinks are the vanity links that nobody may take, without separators.
type ReservedLinks map[string]bool

var linkSeparators = strings.NewReplacer(".", "", "-", "", "_", "")

// NewReservedLinks returns the set of words. Case and separators do not matter: the word no-reply also reserves noreply and No.Reply.
func NewReservedLinks(words []string) ReservedLinks {
	r := make(ReservedLinks, len(words))
	for _, w := range words {
		r[linkSeparators.Replace(foldASCII(w))] = true
	}
	return r
}

// Contains reports whether a vanity link in lower case is reserved.
func (r ReservedLinks) Contains(link string) bool { return r[linkSeparators.Replace(link)] }

// uidForm returns the lower-case form of a UUID of 36 characters.
func uidForm(s string) (string, bool) {
	if len(s) != 36 {
		return "", false
	}
	u, err := uuid.Parse(s)
	if err != nil {
		return "", false
	}
	return u.String(), true
}

// foldASCII lowers A to Z only. Other letters cannot occur in a link: the Kelvin sign K must not become k.
func foldASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}, s)
}

// clientID is the form of a client's identifier of an object (contract 4).
var clientID = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// ValidClientID reports whether s can identify an object within its reservation. "." and ".." cannot: clients remove them
// from URL paths.
func ValidClientID(s string) bool {
	return len(s) <= maxClientID && clientID.MatchString(s) && s != "." && s != ".."
}
