package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
)

type usageResponse struct {
	Month                  string `json:"month"`
	UploadBytes            int64  `json:"uploadBytes"`
	ReservedBytes          int64  `json:"reservedBytes"`
	UploadLimitBytes       *int64 `json:"uploadLimitBytes"`
	OrganizationBytes      *int64 `json:"organizationBytes"`
	OrganizationLimitBytes *int64 `json:"organizationLimitBytes"`
	StoredBytes            *int64 `json:"storedBytes"`
	StorageLimitBytes      *int64 `json:"storageLimitBytes"`
}

// getUsage handles GET /usage.
func (h *Handler) getUsage(w http.ResponseWriter, r *http.Request) error {
	u, err := h.service.Usage(r.Context(), caller(r))
	if err != nil {
		return err
	}
	b := usageResponse{Month: u.Month, UploadBytes: u.UploadBytes, ReservedBytes: u.ReservedBytes, UploadLimitBytes: limitOrNull(u.UploadLimit)}
	if u.InOrganization {
		b.OrganizationBytes, b.OrganizationLimitBytes = &u.OrganizationBytes, limitOrNull(u.OrganizationLimit)
		b.StoredBytes, b.StorageLimitBytes = &u.StoredBytes, limitOrNull(u.StorageLimit)
	}
	return httpapi.JSON(w, http.StatusOK, b)
}

// limitOrNull returns nil for no limit, which is negative.
func limitOrNull(bytes int64) *int64 {
	if bytes < 0 {
		return nil
	}
	return &bytes
}
