package handler

import (
	"net/http"
	"time"

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
	b := usageResponse{Month: u.Month, UploadBytes: u.UploadBytes, ReservedBytes: u.ReservedBytes,
		UploadLimitBytes: limitOrNull(u.UploadLimit)}
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

type usageOverTimeResponse struct {
	Months            []usedMonth `json:"months"`
	Days              []usedDay   `json:"days"`
	VolumeLimitBytes  *int64      `json:"volumeLimitBytes"`
	StorageLimitBytes *int64      `json:"storageLimitBytes"`
}

type usedMonth struct {
	Month string `json:"month"`
	Bytes int64  `json:"bytes"`
}

type usedDay struct {
	Day         string `json:"day"`
	StoredBytes int64  `json:"storedBytes"`
	MonthBytes  int64  `json:"monthBytes"`
}

// getUsageOverTime handles GET /adminunit/usage.
func (h *Handler) getUsageOverTime(w http.ResponseWriter, r *http.Request) error {
	u, err := h.service.UsageOverTime(r.Context(), caller(r))
	if err != nil {
		return err
	}
	b := usageOverTimeResponse{
		Months: make([]usedMonth, len(u.Months)), Days: make([]usedDay, len(u.Days)),
		VolumeLimitBytes: limitOrNull(u.VolumeLimit), StorageLimitBytes: limitOrNull(u.StoredLimit),
	}
	for i, m := range u.Months {
		b.Months[i] = usedMonth{m.Month.Format("2006-01"), m.Held}
	}
	for i, d := range u.Days {
		b.Days[i] = usedDay{d.Day.Format(time.DateOnly), d.Stored, d.Held}
	}
	return httpapi.JSON(w, http.StatusOK, b)
}
