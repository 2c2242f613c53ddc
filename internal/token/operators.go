package token

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/microcache"
)

// operatorLevel is the authLevel of a session with two factors.
const operatorLevel = 2

// operators decides who may call the routes of operators. Its zero value lets nobody pass. The cache lives 500 ms, so a person who is
// no longer an operator is refused within a second on every replica.
type operators struct {
	is    func(ctx context.Context, p id.Person) (bool, error) // nil: nobody is
	young time.Duration
	known *microcache.Cache[id.Person, bool]
}

// AcceptOperators makes the routes of operators accept the access tokens of persons for whom is returns true. A change needs a login
// that is at most young ago. Call it before the first request.
func (v *Verifier) AcceptOperators(is func(ctx context.Context, p id.Person) (bool, error), young time.Duration) {
	v.operators = operators{is: is, young: young, known: microcache.New[id.Person, bool](nil)}
}

// permit applies the rule a to an access token.
// Errors: ErrNotOperator, ErrOperatorFactor, ErrOperatorSession, those of is.
func (o operators) permit(ctx context.Context, c Caller, a Auth, now time.Time) error {
	if o.is == nil {
		return ErrNotOperator
	}
	yes, err := o.known.Get(c.Person, func() (bool, error) { return o.is(ctx, c.Person) })
	switch {
	case err != nil:
		return err
	case !yes:
		return ErrNotOperator
	case c.AuthLevel < operatorLevel:
		return ErrOperatorFactor
	case a&young != 0 && now.Sub(c.AuthTime) > o.young:
		return ErrOperatorSession
	}
	return nil
}
