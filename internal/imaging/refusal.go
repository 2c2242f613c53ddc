package imaging

import "errors"

// Reason classifies why a picture was refused. Every reason is the client's to mend, none is a defect of ours.
type Reason int

// The reasons, from the outside of the file inwards.
const (
	NotImage  Reason = iota + 1 // no picture at all
	Format                      // a picture, but of a format or variant that is not read
	TooLarge                    // more pixels, or more memory to decode, than allowed
	Defective                   // one of the formats, but damaged or cut off
)

// Refusal is a picture that could not be taken. Sentence is for the client; Error adds the cause, for the log.
type Refusal struct {
	Reason   Reason
	Sentence string // English, no full stop, safe to show
	cause    error
}

// The refusals to compare with by errors.Is; those returned say more.
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

// Unwrap returns what the decoder said, if it was one that refused.
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
