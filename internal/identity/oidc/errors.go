package oidc

import "errors"

// Reason classifies an Error. The service maps it to a declared error with the status of the specification.
type Reason int

// The reasons.
const (
	InvalidToken        Reason = iota + 1 // 400: the ID token is malformed, forged, expired, for another client or unexpected
	EmailMissing                          // 400: the ID token is genuine but has no usable email
	EmailNotVerified                      // 401: the ID token is genuine but its email is not verified
	UnknownProvider                       // 401: issuer and clientId are not a configured pair
	InteractionFailed                     // 401: the provider refused the request, or its response is unusable
	CommunicationFailed                   // 409: the provider is down, slow, or not a provider; a retry may succeed
	InvalidCode                           // 400: the provider refused the code, or the code is malformed
)

// One error per reason, for errors.Is.
var (
	ErrInvalidToken      = &Error{Reason: InvalidToken, Detail: "token: is not a valid ID token of a configured provider"}
	ErrEmailMissing      = &Error{Reason: EmailMissing, Detail: "token: holds no email address; ask the provider for the scope email"}
	ErrEmailNotVerified  = &Error{Reason: EmailNotVerified, Detail: "token: the provider does not say that the email address is verified"}
	ErrUnknownProvider   = &Error{Reason: UnknownProvider, Detail: "issuer, clientId: are not a provider of the client environment"}
	ErrInteractionFailed = &Error{Reason: InteractionFailed,
		Detail: "the identity provider did not accept the request or its answer cannot be used"}
	ErrCommunicationFailed = &Error{Reason: CommunicationFailed, Detail: "the identity provider cannot be reached at the moment; retry"}
	ErrInvalidCode         = &Error{Reason: InvalidCode, Detail: "code: is invalid, used or expired, or code_verifier does not belong to it"}
)

// Error is the type of all errors of this package except those of Load and New.
type Error struct {
	Reason Reason
	Detail string // a sentence for clients, without secrets
	cause  error
}

// Error returns the text for logs. It never contains a token, a code or a secret.
func (e *Error) Error() string {
	if e.cause == nil {
		return "oidc: " + e.Detail
	}
	return "oidc: " + e.Detail + ": " + e.cause.Error()
}

// Unwrap returns the cause, which is not for clients.
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
