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

// MinPassword is the shortest password in characters.
const MinPassword = 10

//go:embed common.txt
var commonText string

// common is the sorted list; parsed when the first password is judged.
var common = sync.OnceValue(func() []string {
	_, list, _ := strings.Cut(commonText, "domain.\n") // behind the sources
	return strings.Fields(list)
})

// shortestRoot is the length from which a common password counts as the root of a longer one.
const shortestRoot = 4

// CheckPassword applies contract 3.1 to a new password. Its error is a sentence for a client, without the password.
func CheckPassword(candidate string) error {
	switch {
	case utf8.RuneCountInString(candidate) < MinPassword:
		return fmt.Errorf("needs %d characters at least", MinPassword)
	case len(candidate) > password.MaxLength:
		return fmt.Errorf("is longer than %d bytes", password.MaxLength)
	case isCommon(candidate):
		return errors.New("is among the most common passwords or close to one")
	}
	return nil
}

// isCommon reports whether a password is one of the list, a run or repetition of characters, or one of the list with
// digits and signs around it or written several times: most entries of any list are too short for MinPassword, and
// their lengthened forms are what people then choose.
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

// isRun reports whether every character is the one before plus the same step of -1, 0 or 1; 9 is followed by 0.
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
