package token

// Proof is what a request shows besides its access token, so that a leaked token alone cannot take over an account
// (contract 3.21). The zero Proof is a request that relies on a recent login.
type Proof struct {
	Key    *string // the password
	Factor *Factor // the second factor
}

// Factor is a code of a second factor.
type Factor struct {
	Type string // totp, webauthn or recovery
	Key  string
}
