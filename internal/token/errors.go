package token

import "github.com/consign-dev/consign/internal/fault"

// The errors of a request's token. Both APIs share them: their numbers begin at 901, which no domain uses.
var (
	// ErrMissing: the route needs a token and the request has none.
	ErrMissing = fault.New(401901, "Authorization: a bearer token is required")
	// ErrInvalid: the token is malformed, tampered with, signed by an unknown or revoked key, issued in the future, or
	// its claims contradict its kind.
	ErrInvalid = fault.New(401902, "Authorization: the token is not valid")
	// ErrExpired: the token was valid and has expired.
	ErrExpired = fault.New(401903, "Authorization: the token has expired")
	// ErrEnded: the session was logged out, or the person's rights changed since the token was issued.
	ErrEnded = fault.New(401904, "Authorization: the token was revoked")
	// ErrKind: the route does not accept this kind of token.
	ErrKind = fault.New(401905, "Authorization: this kind of token is not accepted here")
	// ErrUnverified: the token has authLevel 0 and the route needs a verified primary address (contract 2.3).
	ErrUnverified = fault.New(403901, "verify your primary email address first")
	// ErrFactorRequired: the member lacks the second factor that the organization requires (contract 3.2).
	ErrFactorRequired = fault.New(403902, "your organization requires a second factor")
	// ErrCrossOrigin: the request carries the session cookie, and its browser does not say that a page of the same origin
	// sends it (contract 2.9).
	ErrCrossOrigin = fault.New(403903, "Cookie: the session cookie is accepted from pages of the same origin only; send Origin and Sec-Fetch-Site, or a bearer token")
	// ErrScope: the API token has none of the scopes that open the route, or does not name the mailbox.
	ErrScope = fault.New(403904, "Authorization: the API token lacks a scope")
	// ErrNoScope: the route accepts no API tokens.
	ErrNoScope = fault.New(403905, "Authorization: API tokens are not accepted here")
	// ErrNotOperator: the person is no operator of the installation (contract 9.1).
	ErrNotOperator = fault.New(403907, "you are not an operator of this installation; consign admin add makes one")
	// ErrOperatorFactor: the operator's session has one factor only.
	ErrOperatorFactor = fault.New(403908, "operators sign in with a second factor: set one up, then log in with it")
	// ErrOperatorSession: the operator signed in too long ago for a change.
	ErrOperatorSession = fault.New(403909, "your last login is too long ago for a change; POST /admin/v1/session proves who you are again")
	// ErrProofMissing: the login is too long ago for a sensitive change, in the transfer API (403010 in the identity API; contract 3.21).
	ErrProofMissing = fault.New(403910, "your last login is too long ago for this; log in again, or send authKey (your password)")
	// ErrProofWrong: authKey is wrong, in the transfer API (403046 in the identity API).
	ErrProofWrong = fault.New(403911, "authKey: is not your password")
	// ErrFactorMissing: authFactor is missing, in the transfer API (403048 in the identity API).
	ErrFactorMissing = fault.New(403912, "send authFactor: {type, key}, or log in again with your second factor")
	// ErrFactorWrong: authFactor is wrong or was used, in the transfer API (403045 in the identity API).
	ErrFactorWrong = fault.New(403913, "authFactor: the code or the signature is wrong or was used")
	// ErrOperatorRole: the role of the operator does not admit the call.
	ErrOperatorRole = fault.New(403914, "your role in the console does not include this; consign admin add PERSON operator gives all of it")
	// ErrUnknownKey: the kid to revoke is not in the key ring.
	ErrUnknownKey = fault.New(404901, "kid: there is no such signing key")
)

// Insufficient returns ErrScope with a detail. The answer names the scopes in WWW-Authenticate (RFC 6750, 3.1).
func Insufficient(detail string, need ...Scope) error {
	return ErrScope.With(detail).WithChallenge(`Bearer error="insufficient_scope", scope="` + join(need, " ") + `"`)
}
