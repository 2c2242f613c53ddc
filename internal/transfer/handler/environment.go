package handler

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/consign-dev/consign/internal/httpapi"
)

type environmentResponse struct {
	ServerVersion   string  `json:"serverVersion"`
	AvailableTTL    []int32 `json:"availableTtl"`
	DefaultTTL      int32   `json:"defaultTtl"`
	PriorityEnabled bool    `json:"priorityEnabled"`
	PinningEnabled  bool    `json:"pinningEnabled"`
	ProtectionLevel string  `json:"protectionLevel"`
}

// encodedEnvironment is an answer to GET /environment with its JSON. Nearly all answers are the same, so the last one is
// kept.
type encodedEnvironment struct {
	body environmentResponse
	json []byte
}

// getEnvironment handles GET /environment. An access token selects the settings of the caller's organization.
func (h *Handler) getEnvironment(w http.ResponseWriter, r *http.Request) error {
	e, err := h.service.Environment(r.Context(), caller(r))
	if err != nil {
		return err
	}
	body := environmentResponse{
		ServerVersion: e.ServerVersion, AvailableTTL: e.Adminunit.AvailableTTL, DefaultTTL: e.Adminunit.DefaultTTL,
		PriorityEnabled: e.Adminunit.PriorityEnabled, PinningEnabled: e.Adminunit.PinningEnabled,
		ProtectionLevel: string(e.Adminunit.ProtectionLevel),
	}
	last := h.environment.Load()
	if last == nil || !last.body.equal(body) {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		body.AvailableTTL = slices.Clone(body.AvailableTTL)
		last = &encodedEnvironment{body: body, json: encoded}
		h.environment.Store(last)
	}
	return httpapi.EncodedJSON(w, http.StatusOK, last.json)
}

func (b environmentResponse) equal(o environmentResponse) bool {
	return b.ServerVersion == o.ServerVersion && slices.Equal(b.AvailableTTL, o.AvailableTTL) && b.DefaultTTL == o.DefaultTTL &&
		b.PriorityEnabled == o.PriorityEnabled && b.PinningEnabled == o.PinningEnabled && b.ProtectionLevel == o.ProtectionLevel
}
