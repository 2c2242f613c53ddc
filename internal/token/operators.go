// Who may call the routes of operators: the roles of the console, and how recent the login must be.

package token

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/microcache"
)

// operatorLevel is the authLevel of a session with two factors.
const operatorLevel = 2

// OperatorRole is what somebody may do in the console (contract 9.1). The zero value is nobody's.
type OperatorRole string

// The roles of the console, as the database, the command line and the API spell them.
const (
	RoleOperator OperatorRole = "operator" // reads and changes all
	RoleAuditor  OperatorRole = "auditor"  // reads all, changes nothing
	RoleHelpDesk OperatorRole = "helpdesk" // sees people and the mail queue, and helps them to sign in
)

// OperatorRoles lists the roles.
func OperatorRoles() []OperatorRole { return []OperatorRole{RoleOperator, RoleAuditor, RoleHelpDesk} }

// operators decides who may call the routes of operators. Its zero value lets nobody pass. The cache lives 500 ms, so a person who has
// lost the role is refused within a second on every replica.
type operators struct {
	role  func(ctx context.Context, p id.Person) (OperatorRole, error) // nil: nobody has one
	young time.Duration
	known *microcache.Cache[id.Person, OperatorRole]
	last  *microcache.Cache[id.Person, OperatorRole] // for an outage of the database: the roles when it answered last
}

// Bounds of what is known in an outage.
const (
	lastTime = time.Hour
	lastSize = 256
)

type outageKey struct{}

// inOutage reports whether the route of ctx is served while the database does not answer.
func inOutage(ctx context.Context) bool { return ctx.Value(outageKey{}) != nil }

// AcceptOperators makes the routes of operators accept the access tokens of persons for whom role returns one that they admit. A change
// needs a login that is at most young ago. Call it before the first request.
func (v *Verifier) AcceptOperators(role func(ctx context.Context, p id.Person) (OperatorRole, error), young time.Duration) {
	v.operators = operators{role: role, young: young, known: microcache.New[id.Person, OperatorRole](nil),
		last: microcache.NewSized[id.Person, OperatorRole](lastTime, lastSize, v.now)}
}

// permit applies the rule a to an access token.
// Errors: ErrNotOperator, ErrOperatorFactor, ErrOperatorRole, ErrOperatorSession, those of role.
func (o operators) permit(ctx context.Context, c Caller, a Auth, now time.Time) error {
	if o.role == nil {
		return ErrNotOperator
	}
	role, err := o.known.Get(c.Person, func() (OperatorRole, error) { return o.role(ctx, c.Person) })
	last, stamp, recent := o.last.Lookup(c.Person)
	switch {
	case err == nil && (!recent || last != role):
		o.last.Store(c.Person, role, stamp)
	case err != nil && a&outage != 0 && recent:
		role, err = last, nil
	}
	switch {
	case err != nil:
		return err
	case role == "":
		return ErrNotOperator
	case c.AuthLevel < operatorLevel:
		return ErrOperatorFactor
	case !a.Admits(role):
		return ErrOperatorRole
	case a&young != 0 && now.Sub(c.AuthTime) > o.young:
		return ErrOperatorSession
	}
	return nil
}
