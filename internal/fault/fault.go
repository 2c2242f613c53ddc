// Package fault is the one error type of Consign: a kind, a stable public code, a sentence that is safe
// to show to any client, and a private cause that only the log sees.
//
// It owns the error vocabulary and knows nothing of HTTP: package httpapi maps a Kind to its status.
// Each domain declares its errors once, in errors.go, as values made by New.
package fault

import (
	"errors"
	"slices"
	"time"
)

// Kind classifies an error. Its number is the thousands part of the public code (contract 1.6), which is why
// the numbers are spelled out here.
type Kind int

// The kinds a client can meet; the meaning of each is in "Errors" of the transfer specification.
const (
	Invalid          Kind = 400 // missing field, wrong type or invalid value
	Unauthenticated  Kind = 401 // credentials missing, wrong or expired
	Forbidden        Kind = 403 // well-formed, but not allowed to this caller or by a limit
	NotFound         Kind = 404 // does not exist (any more), or not for this caller
	MethodNotAllowed Kind = 405 // the resource exists, the method does not
	NotAcceptable    Kind = 406 // Accept excludes what the resource offers
	Conflict         Kind = 409 // reread, reapply, retry
	Gone             Kind = 410 // once valid, dropped for good
	TooLarge         Kind = 413 // body over its limit
	Unsupported      Kind = 415 // Content-Type not supported
	BadRange         Kind = 416 // Range or Content-Range not acceptable
	RateLimited      Kind = 429 // bucket full; identity renders its own refusals as 509
	Internal         Kind = 500 // a defect of ours
	Unavailable      Kind = 503 // maintenance, shutdown, database or disk away: retry
	Overloaded       Kind = 509 // the identity specification's name for RateLimited
)

// The fixed messages of the two specifications ("Errors").
const (
	MessageInvalid         = "The request cannot be fulfilled."
	MessageUnauthenticated = "Authentication failed or missing."
	MessageForbidden       = "This request is forbidden."
	MessageNotFound        = "The requested object does not exist."
	MessageNotStored       = "The data could not be stored."
	MessageTooMany         = "Maximum number of concurrent API requests reached."
)

var messages = map[Kind]string{
	Invalid:          MessageInvalid,
	Unauthenticated:  MessageUnauthenticated,
	Forbidden:        MessageForbidden,
	NotFound:         MessageNotFound,
	MethodNotAllowed: "The method is not supported by this resource.",
	NotAcceptable:    "The response cannot be supplied in the requested media type.",
	Conflict:         "The request conflicts with the state of the resource.",
	Gone:             "This part of the API is no longer available.",
	TooLarge:         "The request body is too large.",
	Unsupported:      "The content type of the request is not supported.",
	BadRange:         "The requested range cannot be satisfied.",
	RateLimited:      MessageTooMany,
	Internal:         "The server could not complete the request.",
	Unavailable:      "The service is temporarily unavailable.",
	Overloaded:       MessageTooMany,
}

// Error is a failure that a client may see. Values declared with New are templates: the With methods copy.
type Error struct {
	Kind       Kind
	Code       int           // Kind × 1000 + n, stable (contract 1.6)
	Message    string        // one sentence per kind, from the specifications
	Details    []string      // what is wrong and what would be right, in English; never internals
	RetryAfter time.Duration // when a retry makes sense; 0 = not said
	cause      error
}

// New declares an error: its code is kind × 1000 + n, its message the kind's.
func New(kind Kind, n int, details ...string) *Error {
	return &Error{Kind: kind, Code: int(kind)*1000 + n, Message: messages[kind], Details: details}
}

// Error implements error for logs; clients get Message and Details.
func (e *Error) Error() string {
	text := e.Message
	for _, d := range e.Details {
		text += " " + d
	}
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is the same declared error: codes are equal.
func (e *Error) Is(target error) bool {
	var other *Error
	return errors.As(target, &other) && other.Code == e.Code
}

// With returns a copy whose details are replaced by details.
func (e *Error) With(details ...string) *Error {
	c := *e
	c.Details = slices.Clone(details)
	return &c
}

// WithMessage returns a copy with another message.
func (e *Error) WithMessage(message string) *Error {
	c := *e
	c.Message = message
	return &c
}

// WithRetryAfter returns a copy that tells when to retry.
func (e *Error) WithRetryAfter(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// Because returns a copy that carries a private cause for the log.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// The general case of each kind (n = 1), for mechanisms that no domain names more precisely.
var (
	ErrInvalid          = New(Invalid, 1)
	ErrUnauthenticated  = New(Unauthenticated, 1)
	ErrForbidden        = New(Forbidden, 1)
	ErrNotFound         = New(NotFound, 1)
	ErrMethodNotAllowed = New(MethodNotAllowed, 1)
	ErrNotAcceptable    = New(NotAcceptable, 1)
	ErrConflict         = New(Conflict, 1)
	ErrGone             = New(Gone, 1)
	ErrTooLarge         = New(TooLarge, 1)
	ErrUnsupported      = New(Unsupported, 1)
	ErrBadRange         = New(BadRange, 1)
	ErrRateLimited      = New(RateLimited, 1, "too many requests; retry after as many seconds as Retry-After says")
	ErrInternal         = New(Internal, 1)
	ErrUnavailable      = New(Unavailable, 1)
	ErrOverloaded       = New(Overloaded, 1)
)

// Problems collects one detail per invalid member, so that a client learns all of them at once (contract 1.4).
type Problems []string

// MaxProblems is how many details an error about many things has: a list can have thousands of wrong entries.
const MaxProblems = 20

// Add notes that a member is wrong, as "member: what is wrong". Beyond MaxProblems it notes nothing more.
func (p *Problems) Add(member, problem string) {
	if len(*p) < MaxProblems {
		*p = append(*p, member+": "+problem)
	}
}

// Err returns nil when nothing was added, else a copy of ErrInvalid with the problems as details.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return ErrInvalid.With(p...)
}
