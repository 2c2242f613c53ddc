package oidc

import "errors"

// Reason classifies an Error; the service maps it to the status that the specification names.
type Reason int

// The reasons.
const (
	InvalidToken        Reason = iota + 1 // the ID token is malformed, forged, expired, not ours or not the one expected: 400
	EmailMissing                          // the ID token is genuine but holds no usable email: incomplete, 400
	EmailNotVerified                      // the ID token is genuine but its email proves nothing: 401
	UnknownProvider                       // issuer and clientId are no configured pair: 401
	InteractionFailed                     // the provider refused us, or answered with something that cannot be used: 401
	CommunicationFailed                   // the provider is down, slow, or does not answer as a provider: 409, retry
	InvalidCode                           // the provider refused the code, or it has no form of one: 400
)

// The reasons as values for errors.Is.
var (
	ErrInvalidToken        = &Error{Reason: InvalidToken, Detail: "token: is not a valid ID token of a configured provider"}
	ErrEmailMissing        = &Error{Reason: EmailMissing, Detail: "token: holds no email address; ask the provider for the scope email"}
	ErrEmailNotVerified    = &Error{Reason: EmailNotVerified, Detail: "token: the provider does not say that the email address is verified"}
	ErrUnknownProvider     = &Error{Reason: UnknownProvider, Detail: "issuer, clientId: are not a provider of the client environment"}
	ErrInteractionFailed   = &Error{Reason: InteractionFailed, Detail: "the identity provider did not accept the request or its answer cannot be used"}
	ErrCommunicationFailed = &Error{Reason: CommunicationFailed, Detail: "the identity provider cannot be reached at the moment; retry"}
	ErrInvalidCode         = &Error{Reason: InvalidCode, Detail: "code: is invalid, used or expired, or code_verifier does not belong to it"}
)

// Error is every failure of this package but those of Load and New.
type Error struct {
	Reason Reason
	Detail string // one sentence that is safe for a client
	cause  error
}

// Error implements error, for logs. It never contains a token, a code or a secret.
func (e *Error) Error() string {
	if e.cause == nil {
		return "oidc: " + e.Detail
	}
	return "oidc: " + e.Detail + ": " + e.cause.Error()
}

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is an Error for the same reason.
func (e *Error) Is(target error) bool {
	var other *Error
	return errors.As(target, &other) && other.Reason == e.Reason
}

func (e *Error) with(detail string) *Error {
	return &Error{Reason: e.Reason, Detail: detail, cause: e.cause}
}

func (e *Error) because(cause error) *Error {
	return &Error{Reason: e.Reason, Detail: e.Detail, cause: cause}
}
