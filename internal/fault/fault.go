// Package fault defines the error type that clients see: a kind, a stable public code, a message, details, and a
// private cause for the log.
//
// The package does not depend on HTTP; package httpapi turns a Kind into a status. Each package declares its errors
// once, in errors.go, with New and the full code. A code from an answer or a log can therefore be found with grep.
package fault

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Kind classifies an error. Its value is the HTTP status and the thousands part of the public code (contract 1.6).
type Kind int

// The kinds that clients see. The section "Errors" of the transfer specification defines them.
const (
	Invalid          Kind = 400 // missing field, wrong type or invalid value
	Unauthenticated  Kind = 401 // missing, wrong or expired credentials
	Forbidden        Kind = 403 // well-formed, but not allowed for this caller or beyond a limit
	NotFound         Kind = 404 // does not exist, no longer exists, or is not visible to this caller
	MethodNotAllowed Kind = 405 // the resource does not support the method
	NotAcceptable    Kind = 406 // the Accept header excludes every type that the resource offers
	Conflict         Kind = 409 // conflicts with the current state: read again, reapply, retry
	Gone             Kind = 410 // removed from the API for good
	Precondition     Kind = 412 // another version of a protocol than the server speaks
	TooLarge         Kind = 413 // request body over its limit
	Unsupported      Kind = 415 // Content-Type not supported
	BadRange         Kind = 416 // Range or Content-Range not acceptable
	Unprocessable    Kind = 422 // an Idempotency-Key that belongs to another request
	RateLimited      Kind = 429 // bucket full; the identity API answers Overloaded instead
	Checksum         Kind = 460 // the checksum of a tus upload differs
	Internal         Kind = 500 // a defect of the server
	Unavailable      Kind = 503 // maintenance, shutdown, or database or storage unavailable: retry
	Overloaded       Kind = 509 // bucket full, as the identity specification answers it
)

// The messages that the section "Errors" of the two specifications fixes.
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
	Precondition:     "The server does not support this version of the protocol.",
	Checksum:         "The checksum differs.",
	TooLarge:         "The request body is too large.",
	Unsupported:      "The content type of the request is not supported.",
	BadRange:         "The requested range cannot be satisfied.",
	Unprocessable:    "The idempotency key belongs to another request.",
	RateLimited:      MessageTooMany,
	Internal:         "The server could not complete the request.",
	Unavailable:      "The service is temporarily unavailable.",
	Overloaded:       MessageTooMany,
}

// Error is a failure that a client may see. Values declared with New are templates: the With methods return copies.
type Error struct {
	Kind       Kind
	Code       int           // stable; Kind × 1000 + n (contract 1.6)
	Message    string        // one sentence per kind, fixed by the specifications
	Details    []string      // problems and what is expected, in English; no internals
	RetryAfter time.Duration // when a retry makes sense; 0 when unknown
	Capacity   int           // of the full bucket that refused, for X-RateLimit-Limit; 0 when none did
	Challenge  string        // WWW-Authenticate; empty: the usual one
	Problem    *Problem      // for protocols that answer with problem details; nil: none
	Limit      int64         // the bound that the request exceeds, in bytes or as a count; 0: no number says it
	Transfer   string        // uid of the transfer that the details name, as a member of the answer; empty: none
	cause      error
}

// New declares an error. code is the full public code: the kind times 1000 plus a number that is unique within the
// kind. The message is the kind's. New panics when code has no known kind.
func New(code int, details ...string) *Error {
	kind := Kind(code / 1000)
	message, known := messages[kind]
	if !known {
		panic(fmt.Sprintf("fault: code %d has no known kind", code))
	}
	return &Error{Kind: kind, Code: code, Message: message, Details: details}
}

// Error returns the message, the details and the cause, for logs. Clients get Message and Details only.
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

// Is reports whether target has the same code.
func (e *Error) Is(target error) bool {
	var other *Error
	return errors.As(target, &other) && other.Code == e.Code
}

// With returns a copy with other details.
func (e *Error) With(details ...string) *Error {
	c := *e
	c.Details = slices.Clone(details)
	return &c
}

// AtMost returns a copy that tells clients the bound which the request exceeds.
func (e *Error) AtMost(limit int64) *Error {
	c := *e
	c.Limit = limit
	return &c
}

// WithMessage returns a copy with another message.
func (e *Error) WithMessage(message string) *Error {
	c := *e
	c.Message = message
	return &c
}

// WithRetryAfter returns a copy with a time to wait before a retry.
func (e *Error) WithRetryAfter(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// Problem is what problem details (RFC 9457) tell beside the error.
type Problem struct {
	Type    string // URL
	Title   string
	Members map[string]int64
}

// WithProblem returns a copy that is answered as problem details, too.
func (e *Error) WithProblem(p Problem) *Error {
	c := *e
	c.Problem = &p
	return &c
}

// WithCapacity returns a copy that names the capacity of the bucket that refused.
func (e *Error) WithCapacity(tokens int) *Error {
	c := *e
	c.Capacity = tokens
	return &c
}

// WithChallenge returns a copy with another WWW-Authenticate header.
func (e *Error) WithChallenge(challenge string) *Error {
	c := *e
	c.Challenge = challenge
	return &c
}

// Because returns a copy with a private cause for the log.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// The general error of each kind, for cases that need no code of their own.
var (
	ErrInvalid          = New(400001)
	ErrUnauthenticated  = New(401001)
	ErrForbidden        = New(403001)
	ErrNotFound         = New(404001)
	ErrMethodNotAllowed = New(405001)
	ErrNotAcceptable    = New(406001)
	ErrConflict         = New(409001)
	ErrVersion          = New(409002) // If-Match names another version: read again; a repetition fails again
	ErrOffset           = New(409003) // bytes of an upload do not begin where those held end: ask for the offset
	ErrGone             = New(410001)
	ErrPrecondition     = New(412001)
	ErrTooLarge         = New(413001)
	ErrUnsupported      = New(415001)
	ErrBadRange         = New(416001)
	ErrRateLimited      = New(429001, "too many requests; retry after as many seconds as Retry-After says")
	ErrChecksum         = New(460001, "the SHA-256 of the bytes differs from Upload-Checksum; nothing of this request was kept")
	ErrInternal         = New(500001)
	ErrUnavailable      = New(503001)
	ErrOverloaded       = New(509001)
)

// Problems collects one detail per invalid member, so that one answer names all of them (contract 1.4).
type Problems []string

// MaxProblems caps the details of one answer: a list can have thousands of invalid entries.
const MaxProblems = 20

// Add adds the detail "member: problem", unless there are MaxProblems details already.
func (p *Problems) Add(member, problem string) {
	if len(*p) < MaxProblems {
		*p = append(*p, member+": "+problem)
	}
}

// Err returns nil when there are no problems, else ErrInvalid with the problems as details.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return ErrInvalid.With(p...)
}
