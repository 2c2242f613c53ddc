// Package credential owns the arithmetic of the three kinds of credentials that identity manages: the rules for passwords
// (package bcrypt hashes them), TOTP secrets, and sets of recovery codes. It stores nothing and decides nothing about a person; that a
// code counts once is a guarded statement of the postgres package.
package credential

// The types of authenticators that exist here. sms and u2f of the specification's enumeration are not supported.
const (
	TypeBcrypt   = "bcrypt"
	TypeTOTP     = "totp"
	TypeRecovery = "recovery"
)
