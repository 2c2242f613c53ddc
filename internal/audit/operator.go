package audit

import (
	"context"
	"maps"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
)

// Operator is a person who makes a change with the console.
type Operator struct {
	Person id.Person
	Client token.Client
	Reason string // of the change; empty: not asked for
}

type operatorKey struct{}

// ByOperator returns a context whose changes are those of an operator. Append completes their entries: the operator is the actor where
// none is known. So services need no second method for what commands do without an actor.
func ByOperator(ctx context.Context, o Operator) context.Context {
	return context.WithValue(ctx, operatorKey{}, o)
}

// Because returns a context of ByOperator with the reason of the change. It is the detail "why" of each entry.
func Because(ctx context.Context, reason string) context.Context {
	o, _ := ctx.Value(operatorKey{}).(Operator)
	o.Reason = reason
	return ByOperator(ctx, o)
}

// completed returns e with what the context says of an operator.
func completed(ctx context.Context, e Entry) Entry {
	o, ok := ctx.Value(operatorKey{}).(Operator)
	if !ok {
		return e
	}
	if e.Actor.IsZero() {
		e.Actor, e.Client = o.Person, o.Client
	}
	if o.Reason != "" {
		details := map[string]string{"why": o.Reason}
		maps.Copy(details, e.Details)
		e.Details = details
	}
	return e
}
