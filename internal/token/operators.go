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
	last  *microcache.Cache[id.Person, bool] // for an outage of the database: those who were operators when it answered last
}

// Bounds of what is known in an outage.
const (
	lastTime = time.Hour
	lastSize = 256
)

type outageKey struct{}

// inOutage reports whether the route of ctx is served while the database does not answer.
func inOutage(ctx context.Context) bool { return ctx.Value(outageKey{}) != nil }

// AcceptOperators makes the routes of operators accept the access tokens of persons for whom is returns true. A change needs a login
// that is at most young ago. Call it before the first request.
func (v *Verifier) AcceptOperators(is func(ctx context.Context, p id.Person) (bool, error), young time.Duration) {
	v.operators = operators{is: is, young: young, known: microcache.New[id.Person, bool](nil),
		last: microcache.NewSized[id.Person, bool](lastTime, lastSize, v.now)}
}

// permit applies the rule a to an access token.
// Errors: ErrNotOperator, ErrOperatorFactor, ErrOperatorSession, those of is.
func (o operators) permit(ctx context.Context, c Caller, a Auth, now time.Time) error {
	if o.is == nil {
		return ErrNotOperator
	}
	yes, err := o.known.Get(c.Person, func() (bool, error) { return o.is(ctx, c.Person) })
	last, stamp, recent := o.last.Lookup(c.Person)
	switch {
	case err == nil && (!recent || last != yes):
		o.last.Store(c.Person, yes, stamp)
	case err != nil && a&outage != 0 && recent:
		yes, err = last, nil
	}
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
