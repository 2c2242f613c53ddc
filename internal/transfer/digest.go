package transfer

import (
	"crypto/sha256"
	"strings"

	"github.com/consign-dev/consign/internal/text"
)

// ParseDigest parses the sha-256 member of a Content-Digest or Repr-Digest header (RFC 9530), a dictionary of algorithms:
// "sha-256=:base64:, sha-512=:base64:". sum is nil when the header has other algorithms only. ok is false when the header is
// no such dictionary, or its sha-256 is not 32 bytes long. Of several sha-256 members the last one counts (RFC 8941, 3.2).
func ParseDigest(header string) (sum []byte, ok bool) {
	for member := range strings.SplitSeq(header, ",") {
		name, value, found := strings.Cut(strings.Trim(member, " \t"), "=")
		if !found || !algorithm(name) || len(value) < 2 || value[0] != ':' || value[len(value)-1] != ':' {
			return nil, false
		}
		b, err := text.Base64(value[1 : len(value)-1])
		if err != nil {
			return nil, false
		}
		if name != "sha-256" {
			continue
		}
		if len(b) != sha256.Size {
			return nil, false
		}
		sum = b
	}
	return sum, true
}

// algorithm reports whether s is a dictionary key (RFC 8941, 3.1.2).
func algorithm(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c == '*'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789_-.", rune(c))) {
			return false
		}
	}
	return s != ""
}
