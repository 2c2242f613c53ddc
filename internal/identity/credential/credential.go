// Package credential has the rules and arithmetic of the four types of credentials: the rules for passwords (package
// password hashes them), TOTP secrets and codes, passkeys, and recovery codes. It has no storage. That a code is accepted
// once is a guarded statement in identity/postgres.
package credential

import "slices"

// The supported types of authenticators. The types sms and u2f of the specification are not supported.
const (
	TypeBcrypt   = "bcrypt"
	TypeTOTP     = "totp"
	TypePasskey  = "webauthn"
	TypeRecovery = "recovery"
)

// Needed reports whether a person with these types of verified second factors needs one to log in: recovery codes alone
// do not turn multi-factor on (contract 3.2).
func Needed(factors []string) bool {
	return slices.Contains(factors, TypeTOTP) || slices.Contains(factors, TypePasskey)
}
