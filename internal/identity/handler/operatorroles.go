package handler

import (
	"net/http"
	"slices"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
)

// OperatorRoutes returns the routes of the console's API that belong to this domain, relative to httpapi.OperatorBase.
func (h *Handler) OperatorRoutes() []httpapi.Route {
	reads, changes := token.NeedAccess.Operator().Auditor(), token.NeedAccess.Operator().Young()
	everybody, helps := reads.HelpDesk(), changes.HelpDesk()
	return slices.Concat(h.operatorOrganizationRoutes(reads, changes), []httpapi.Route{
		{Method: "GET", Pattern: "/session", Auth: everybody, Handler: h.getOperatorSession},
		{Method: "POST", Pattern: "/session", Auth: everybody, Handler: h.createOperatorSession},
		{Method: "GET", Pattern: "/people", Auth: everybody, Handler: h.listPeople},
		{Method: "POST", Pattern: "/people", Auth: changes, Handler: h.createPerson},
		{Method: "GET", Pattern: "/people/{person}", Auth: everybody, Handler: h.getPerson},
		{Method: "POST", Pattern: "/people/{person}/end-sessions", Auth: helps, Handler: h.changePerson(h.service.EndPersonSessions)},
		{Method: "POST", Pattern: "/people/{person}/reset-factors", Auth: helps, Handler: h.changePerson(h.service.ResetFactors)},
		{Method: "POST", Pattern: "/people/{person}/suspend", Auth: changes, Handler: h.changePerson(h.service.SuspendPerson)},
		{Method: "POST", Pattern: "/people/{person}/reactivate", Auth: changes, Handler: h.changePerson(h.service.ReactivatePerson)},
		{Method: "POST", Pattern: "/people/{person}/verify", Auth: changes, Handler: h.changePerson(h.service.VerifyPerson)},
		{Method: "POST", Pattern: "/people/{person}/limits", Auth: changes, Handler: h.setPersonLimits},
		{Method: "POST", Pattern: "/people/{person}/export", Auth: changes, Produces: []string{typeZIP}, Handler: h.exportPerson},
		{Method: "POST", Pattern: "/people/{person}/delete", Auth: changes, Handler: h.changePerson(h.service.DeletePerson)},
	})
}

type operatorSessionResponse struct {
	UID          string             `json:"uid"`
	Email        string             `json:"email"`
	Role         token.OperatorRole `json:"role"`
	ChangesUntil httpapi.Time       `json:"changesUntil"`
}

// getOperatorSession says who the operator is.
func (h *Handler) getOperatorSession(w http.ResponseWriter, r *http.Request) error {
	c := caller(r)
	role, err := h.service.OperatorRole(r.Context(), c.Person)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, operatorSessionResponse{c.Person.String(), c.Email, role, httpapi.Time(h.service.ChangesUntil(c))})
}

// createOperatorSession answers with a token for changes.
func (h *Handler) createOperatorSession(w http.ResponseWriter, r *http.Request) error {
	var in httpapi.ProofRequest
	if err := strictjson.DecodeOptional(r, &in); err != nil {
		return err
	}
	if err := h.buckets.TakeGuess(w, r, in, httpapi.Transfer); err != nil {
		return err
	}
	access, err := h.service.RenewOperatorSession(r.Context(), caller(r), in.Proof())
	if err != nil {
		return err
	}
	return respondToken(w, access.Token, token.KindAccess)
}
