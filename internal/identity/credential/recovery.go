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

// NewRecoveryCodes makes a set of codes and the salt under which they are to be hashed (contract 3.3).
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

// newCode makes 50 random bits, as base32.
func newCode() string {
	random := make([]byte, 7)
	_, _ = rand.Read(random)
	return base32NoPadding.EncodeToString(random)[:recoveryLength]
}

// HashRecoveryCode returns what is stored of a code. People may type it in lower case and with spaces or hyphens.
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
