package imaging

import "errors"

// Reason says why a picture was rejected. Every reason is an error of the client.
type Reason int

// The reasons.
const (
	NotImage  Reason = iota + 1 // not a picture
	Format                      // a format or variant that is not supported
	TooLarge                    // more pixels or memory than allowed
	Defective                   // damaged or truncated
)

// Refusal is the error for a rejected picture. Sentence is for the client; Error adds the cause for the log.
type Refusal struct {
	Reason   Reason
	Sentence string // English, no full stop, safe to show
	cause    error
}

// The values to compare with by errors.Is. Returned errors have a more specific sentence.
var (
	ErrNotImage = &Refusal{Reason: NotImage, Sentence: "is not a picture; send a JPEG, PNG or GIF file"}
	ErrFormat   = &Refusal{Reason: Format, Sentence: "is in a format that is not supported; send a JPEG, PNG or GIF file"}
	ErrTooLarge = &Refusal{Reason: TooLarge, Sentence: "has too many pixels"}
	ErrDamaged  = &Refusal{Reason: Defective, Sentence: "is damaged or incomplete"}
)

// Error implements error.
func (r *Refusal) Error() string {
	if r.cause == nil {
		return "the picture " + r.Sentence
	}
	return "the picture " + r.Sentence + ": " + r.cause.Error()
}

// Unwrap returns the decoder's error, or nil.
func (r *Refusal) Unwrap() error { return r.cause }

// Is reports whether target is a refusal for the same reason.
func (r *Refusal) Is(target error) bool {
	var other *Refusal
	return errors.As(target, &other) && other.Reason == r.Reason
}

// because copies the refusal with a cause and, unless empty, another sentence.
func (r *Refusal) because(cause error, sentence string) *Refusal {
	c := *r
	c.cause = cause
	if sentence != "" {
		c.Sentence = sentence
	}
	return &c
}
