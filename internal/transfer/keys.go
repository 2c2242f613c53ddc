package transfer

import (
	"regexp"
	"strings"

	"github.com/google/uuid"
)

// vanityLink is the form of a vanity link once folded (contract 4.1). Lengths are compared apart from the form: a regexp
// that counts takes a hundred times the memory.
var vanityLink = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]+[a-z0-9]$`)

const (
	maxVanityLink = 64
	maxClientID   = 128
)

func isVanityLink(s string) bool { return len(s) <= maxVanityLink && vanityLink.MatchString(s) }

// ParseKey reads the key of a public mailbox or group. What is neither a uid nor a possible vanity link is
// ErrKeyInvalid, whether or not something could be found under it.
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

// ParseVanityLink reads a vanity link that somebody wishes to have and folds it. ok is false when it has not the form
// of one, or that of a uid.
func ParseVanityLink(s string) (link string, ok bool) {
	if _, isUID := uidForm(s); isUID {
		return "", false
	}
	link = foldASCII(s)
	return link, isVanityLink(link)
}

// uidForm returns the lower-case form of a UUID written with 36 characters.
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

// foldASCII lowers A to Z only: other letters are no part of a link, so K (Kelvin sign) must not become k.
func foldASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}, s)
}

// clientID is the form of an object's name on the client's side (contract 4).
var clientID = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// ValidClientID reports whether s can name an object within its reservation. The two names that a URL path would
// swallow are not among them.
func ValidClientID(s string) bool {
	return len(s) <= maxClientID && clientID.MatchString(s) && s != "." && s != ".."
}
