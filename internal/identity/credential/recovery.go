package credential

import (
	"crypto/rand"
	"crypto/sha256"
	"strings"
)

const (
	recoveryCodes  = 10
	recoveryLength = 10
	saltSize       = 16
)

// NewRecoveryCodes returns a set of ten random codes and the salt for their hashes (contract 3.3).
func NewRecoveryCodes() (codes []string, salt []byte) {
	codes = make([]string, recoveryCodes)
	seen := make(map[string]bool, recoveryCodes)
	for i := range codes {
		code := newCode()
		for seen[code] {
			code = newCode()
		}
		codes[i], seen[code] = code, true
	}
	salt = make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails (crypto/rand)
	return codes, salt
}

// newCode returns 50 random bits in base32.
func newCode() string {
	random := make([]byte, 7)
	_, _ = rand.Read(random)
	return base32NoPadding.EncodeToString(random)[:recoveryLength]
}

// HashRecoveryCode returns the salted SHA-256 of a code. It ignores case, spaces and hyphens, as people type them.
func HashRecoveryCode(salt []byte, code string) []byte {
	plain := strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' {
			return -1
		}
		return r
	}, strings.ToUpper(code))
	h := sha256.New()
	h.Write(salt)
	h.Write([]byte(plain))
	return h.Sum(nil)
}
