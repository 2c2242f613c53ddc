// Which passwords are refused, and with which sentence.

package credential

import (
	_ "embed" // the list of common passwords
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/consign-dev/consign/internal/password"
)

//go:embed common.txt
var commonText string

// common returns the sorted list. It is parsed at the first call.
var common = sync.OnceValue(func() []string {
	_, list, _ := strings.Cut(commonText, "domain.\n") // the header names the sources
	return strings.Fields(list)
})

// shortestRoot is the least number of characters of a common password that counts as the root of a longer one.
const shortestRoot = 4

// CheckPassword checks a new password (contract 3.1). minimum is the least number of characters. The error is a sentence for
// clients and does not contain the password.
func CheckPassword(candidate string, minimum int) error {
	switch {
	case utf8.RuneCountInString(candidate) < minimum:
		return fmt.Errorf("needs %d characters at least", minimum)
	case len(candidate) > password.MaxLength:
		return fmt.Errorf("is longer than %d bytes", password.MaxLength)
	case isCommon(candidate):
		return errors.New("is among the most common passwords or close to one")
	}
	return nil
}

// isCommon reports whether a password is on the list, on the list with digits and signs around it, a repetition of an
// entry of the list or of up to three bytes, or a run of characters. The longer forms matter because most entries of
// such lists are shorter than the minimum.
func isCommon(password string) bool {
	p := strings.ToLower(password)
	if listed(p) || isRun(p) {
		return true
	}
	root := strings.TrimFunc(p, func(r rune) bool { return !unicode.IsLetter(r) })
	if utf8.RuneCountInString(root) >= shortestRoot && listed(root) {
		return true
	}
	for n := 1; n <= len(p)/2; n++ {
		if len(p)%n == 0 && strings.Repeat(p[:n], len(p)/n) == p && (n < shortestRoot || listed(p[:n])) {
			return true
		}
	}
	return false
}

func listed(p string) bool {
	_, found := slices.BinarySearch(common(), p)
	return found
}

// isRun reports whether every character differs from the one before by the same step of -1, 0 or 1. 0 follows 9.
func isRun(p string) bool {
	runes := []rune(p)
	steps := map[rune]bool{-1: true, 0: true, 1: true}
	for i := 1; i < len(runes); i++ {
		d := runes[i] - runes[i-1]
		switch d {
		case '0' - '9':
			d = 1
		case '9' - '0':
			d = -1
		}
		for s := range steps {
			if s != d {
				delete(steps, s)
			}
		}
	}
	return len(steps) > 0
}
