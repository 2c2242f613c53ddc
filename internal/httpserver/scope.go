package httpserver

import (
	"context"
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/requestid"
	"github.com/consign-dev/consign/internal/token"
)

// scope is the context of a request on its way through the API: one look instead of a chain of them for what everything below
// asks of it, and one copy of the request instead of one for each.
type scope struct {
	context.Context
	id      string // X-Request-Id
	routing *chi.Context
	caller  token.Caller // anonymous until the request was identified, Client apart
}

// Value implements context.Context.
func (s *scope) Value(key any) any {
	switch key {
	case chi.RouteCtxKey:
		return s.routing
	case requestid.Key{}:
		return s.id
	case token.CallerKey{}:
		return &s.caller
	case ratelimit.ClientKey{}:
		return &s.caller.Client.Address
	}
	return s.Context.Value(key)
}

// routings are chi's notes on the route of a request, kept for the next one as chi itself keeps them.
var routings = sync.Pool{New: func() any { return chi.NewRouteContext() }}

// within makes the context of the request, whose routing starts at mux.
func (x *exchange) within(parent context.Context, routing *chi.Context, mux *chi.Mux) context.Context {
	routing.Reset()
	routing.Routes = mux
	x.context.Context, x.context.routing = parent, routing
	return &x.context
}

// client is what is known of the sender.
func (x *exchange) client() *token.Client { return &x.context.caller.Client }

// identified notes who calls, for all who ask the request's context.
func (x *exchange) identified(caller token.Caller) {
	caller.Client = *x.client()
	x.context.caller = caller
}
