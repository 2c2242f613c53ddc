package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
)

type environmentBody struct {
	ServerVersion   string  `json:"serverVersion"`
	AvailableTTL    []int32 `json:"availableTtl"`
	DefaultTTL      int32   `json:"defaultTtl"`
	PriorityEnabled bool    `json:"priorityEnabled"`
	ProtectionLevel string  `json:"protectionLevel"`
}

// getEnvironment handles GET /environment.
func (h *Handler) getEnvironment(w http.ResponseWriter, r *http.Request) error {
	e, err := h.service.Environment(r.Context(), caller(r))
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, environmentBody{
		ServerVersion: e.ServerVersion, AvailableTTL: e.Adminunit.AvailableTTL, DefaultTTL: e.Adminunit.DefaultTTL,
		PriorityEnabled: e.Adminunit.PriorityEnabled, ProtectionLevel: string(e.Adminunit.ProtectionLevel),
	})
}
