package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
)

type organizationUsageResponse struct {
	Month         string `json:"month"`
	TransferBytes int64  `json:"transferBytes"`
	StoredBytes   int64  `json:"storedBytes"`
	Mailboxes     int    `json:"mailboxes"`
	MailboxGroups int    `json:"mailboxGroups"`
}

// getOrganizationUsage handles GET /organizations/{organization}/usage of the console.
func (h *Handler) getOrganizationUsage(w http.ResponseWriter, r *http.Request) error {
	o, err := uidParam[id.Organization](r, "organization")
	if err != nil {
		return err
	}
	u, err := h.service.OrganizationUsage(r.Context(), o)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, organizationUsageResponse{
		Month: u.Month.Format("2006-01"), TransferBytes: u.TransferBytes, StoredBytes: u.StoredBytes, Mailboxes: u.Mailboxes,
		MailboxGroups: u.MailboxGroups,
	})
}
