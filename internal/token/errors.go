package token

import "github.com/consign-dev/consign/internal/fault"

// The failures that a request's token can have. Numbers from 901 are this package's, so that no domain's collide.
var (
	// ErrMissing: the route needs a token and there is none.
	ErrMissing = fault.New(fault.Unauthenticated, 901, "Authorization: a bearer token is required")
	// ErrInvalid: not a token of this installation: malformed, tampered, signed by a key that is unknown or revoked,
	// from the future, or with claims that contradict its kind.
	ErrInvalid = fault.New(fault.Unauthenticated, 902, "Authorization: the token is not valid")
	// ErrExpired: the token was valid once.
	ErrExpired = fault.New(fault.Unauthenticated, 903, "Authorization: the token has expired")
	// ErrEnded: the session was logged out, or the person's rights changed since the token was issued.
	ErrEnded = fault.New(fault.Unauthenticated, 904, "Authorization: the token was revoked")
	// ErrKind: a valid token, but of a kind that the route does not take.
	ErrKind = fault.New(fault.Unauthenticated, 905, "Authorization: this kind of token is not accepted here")
	// ErrUnverified: authLevel 0 on a route that needs a verified primary address (contract 2.3).
	ErrUnverified = fault.New(fault.Forbidden, 901, "verify your primary email address first")
	// ErrFactorRequired: a member without the second factor that its organization demands (contract 3.2).
	ErrFactorRequired = fault.New(fault.Forbidden, 902, "your organization requires a second factor")
	// ErrUnknownKey: Revoke was given a kid that is not in the ring.
	ErrUnknownKey = fault.New(fault.NotFound, 901, "kid: there is no such signing key")
)
