// Package credential has the rules and arithmetic of the three types of credentials: the rules for passwords (package
// password hashes them), TOTP secrets and codes, and recovery codes. It has no storage. That a code is accepted once is
// a guarded statement in identity/postgres.
package credential

// The supported types of authenticators. The types sms and u2f of the specification are not supported.
const (
	TypeBcrypt   = "bcrypt"
	TypeTOTP     = "totp"
	TypeRecovery = "recovery"
)
