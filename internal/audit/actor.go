package audit

import (
	"maps"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
)

// Kind is the role in which an actor makes a change.
type Kind string

// The kinds of actors.
const (
	Person        Kind = "person"        // for themselves; a stranger has no account
	Administrator Kind = "administrator" // for an organization, or in place of a member
	Operator      Kind = "operator"      // with the console
	Command       Kind = "command"       // of the installation
	Job           Kind = "job"           // without a request
)

// Actor is who makes a change.
type Actor struct {
	Kind   Kind
	Person id.Person    // zero: a stranger, a command or a job
	Client token.Client // its address and user agent are stored
	Name   string       `db:"-"` // Command: the user who runs it; stored as the detail "operator"
	Reason string       `db:"-"` // stored as the detail "why"; empty: not asked for
}

// By returns the actor who acts for themselves. The zero person is a stranger.
func By(p id.Person, c token.Client) Actor { return Actor{Kind: Person, Person: p, Client: c} }

// Of returns the caller of a request, who acts for themselves.
func Of(c token.Caller) Actor { return By(c.Person, c.Client) }

// As returns the actor in another role.
func (a Actor) As(k Kind) Actor {
	a.Kind = k
	return a
}

// completed returns details with what they tell of the actor.
func (a Actor) completed(details map[string]string) map[string]string {
	out := map[string]string{}
	if a.Name != "" {
		out["operator"] = a.Name
	}
	if a.Reason != "" {
		out["why"] = a.Reason
	}
	maps.Copy(out, details)
	return out
}
