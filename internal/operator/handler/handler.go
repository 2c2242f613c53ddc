// Package handler serves the parts of the console's API (contract 9) that belong to no other domain: the route table and the JSON form
// of answers. The rules are in operator/service.
package handler

import (
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/operator/service"
	"github.com/consign-dev/consign/internal/token"
)

// Handler serves the routes.
type Handler struct{ service *service.Service }

// New returns a Handler.
func New(s *service.Service) *Handler { return &Handler{s} }

// Routes returns the route table, with patterns relative to httpapi.OperatorBase. Every route is for operators; those that change
// something also need a young login.
func (h *Handler) Routes() []httpapi.Route {
	reads := token.NeedAccess.Operator()
	return []httpapi.Route{
		{Method: "GET", Pattern: "/overview", Auth: reads, Handler: h.getOverview},
	}
}
