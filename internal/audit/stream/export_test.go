package stream

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"
)

// Rehash returns a changed line with its right hash.
func Rehash(t *testing.T, line string) string {
	t.Helper()
	hashed, _, err := split(strings.TrimSuffix(line, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(hashed))
	return strings.TrimSuffix(hashed, "}") + hashMember + hex.EncodeToString(sum[:]) + "\"}\n"
}

var previous = regexp.MustCompile(`"previous":"[0-9a-f]{64}"`)

// Rechain returns changed lines as a chain that is whole.
func Rechain(t *testing.T, text string) string {
	t.Helper()
	var all strings.Builder
	before := strings.Repeat("0", 64)
	for line := range strings.Lines(text) {
		line = Rehash(t, previous.ReplaceAllString(line, `"previous":"`+before+`"`))
		_, hash, _ := split(strings.TrimSuffix(line, "\n"))
		before = hex.EncodeToString(hash)
		all.WriteString(line)
	}
	return all.String()
}
