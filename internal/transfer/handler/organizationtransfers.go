package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// organizationRoutes holds what administrators see and change of their organization's mailboxes and transfers (contract 4.28). The service
// checks the role. API tokens can read, but not end transfers.
func (h *Handler) organizationRoutes() []httpapi.Route {
	changes := token.NeedAccess
	reads := changes.For(token.ScopeOrganizationRead, token.ScopeOrganizationManage)
	const one = "/adminunit/transfers/{uid}"
	return []httpapi.Route{
		{Method: "GET", Pattern: "/adminunit/mailboxes", Auth: reads, Handler: h.listOrganizationMailboxes},
		{Method: "GET", Pattern: "/adminunit/usage", Auth: reads, Handler: h.getUsageOverTime},
		{Method: "GET", Pattern: "/adminunit/transfers", Auth: reads, Handler: h.listOrganizationTransfers},
		{Method: "GET", Pattern: one, Auth: reads, Handler: h.getOrganizationTransfer},
		{Method: "POST", Pattern: one + "/extend", Auth: changes, Handler: h.extendOrganizationTransfer},
		{Method: "POST", Pattern: one + "/revoke", Auth: changes, Handler: h.revokeOrganizationTransfer},
	}
}

// listOrganizationTransfers handles GET /adminunit/transfers.
func (h *Handler) listOrganizationTransfers(w http.ResponseWriter, r *http.Request) error {
	q := httpapi.QueryOf(r)
	in := service.OrganizationTransfers{Person: q.One("person"), State: queryState(q), After: q.One("after")}
	if err := q.Err(); err != nil {
		return err
	}
	list, next, err := h.service.OrganizationTransfers(r.Context(), caller(r), in)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, transfersFrom(list, next))
}

// getOrganizationTransfer handles GET /adminunit/transfers/{uid}.
func (h *Handler) getOrganizationTransfer(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Transfer](r, "uid")
	if err != nil {
		return err
	}
	t, err := h.service.OrganizationTransfer(r.Context(), caller(r), uid)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, transferReportFrom(t))
}

// extendOrganizationTransfer handles POST /adminunit/transfers/{uid}/extend.
func (h *Handler) extendOrganizationTransfer(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Transfer](r, "uid")
	if err != nil {
		return err
	}
	var in extensionRequest
	if _, err := httpapi.DecodeChange(r, audit.Administrator, &in); err != nil {
		return err
	}
	if err := h.service.ExtendOrganizationTransfer(r.Context(), caller(r), in.Reason, uid, in.Days); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// revokeOrganizationTransfer handles POST /adminunit/transfers/{uid}/revoke.
func (h *Handler) revokeOrganizationTransfer(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Transfer](r, "uid")
	if err != nil {
		return err
	}
	by, err := httpapi.DecodeChange(r, audit.Administrator, &httpapi.Change{})
	if err != nil {
		return err
	}
	if err := h.service.RevokeOrganizationTransfer(r.Context(), caller(r), by.Reason, uid); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}
