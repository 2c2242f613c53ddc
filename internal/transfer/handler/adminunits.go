// The settings of transfers of an organization over HTTP (/adminunit).

package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/transfer"
)

type adminunitResponse struct {
	AvailableTTL    []int32 `json:"availableTtl"`
	DefaultTTL      int32   `json:"defaultTtl"`
	PriorityEnabled bool    `json:"priorityEnabled"`
	PinningEnabled  bool    `json:"pinningEnabled"`
	ProtectionLevel string  `json:"protectionLevel"`
	MaxFiles        int32   `json:"maxFiles"`
	MaxFileSizeMB   int64   `json:"maxFileSizeMb"`
	MaxRecipients   int32   `json:"maxRecipients"`

	Inspection *inspectionResponse `json:"inspection,omitempty"` // left out without a scanner
	Retention  transfer.Retention  `json:"retention"`
}

func (h *Handler) adminunitFrom(u transfer.Adminunit) adminunitResponse {
	b := adminunitResponse{
		AvailableTTL: u.AvailableTTL, DefaultTTL: u.DefaultTTL, PriorityEnabled: u.PriorityEnabled, PinningEnabled: u.PinningEnabled,
		ProtectionLevel: string(u.ProtectionLevel),
		MaxFiles:        u.MaxFiles, MaxFileSizeMB: u.MaxFileSizeMB, MaxRecipients: u.MaxRecipients,
		Retention: u.Retention,
	}
	if h.service.Inspects() {
		b.Inspection = inspectionFrom(u.Inspection)
	}
	return b
}

// getAdminunit handles GET /adminunit, which every member may read.
func (h *Handler) getAdminunit(w http.ResponseWriter, r *http.Request) error {
	u, err := h.service.Adminunit(r.Context(), caller(r))
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, h.adminunitFrom(u))
}

type adminunitRequest struct {
	AvailableTTL    []int32 `json:"availableTtl"`
	DefaultTTL      *int32  `json:"defaultTtl"`
	PriorityEnabled *bool   `json:"priorityEnabled"`
	PinningEnabled  *bool   `json:"pinningEnabled"`
	ProtectionLevel *string `json:"protectionLevel"`
	MaxFiles        *int32  `json:"maxFiles"`
	MaxFileSizeMB   *int64  `json:"maxFileSizeMb"`
	MaxRecipients   *int32  `json:"maxRecipients"`

	Inspection *inspectionRequest `json:"inspection"`
	Retention  transfer.Retention `json:"retention"`

	httpapi.ProofRequest
}

// domain returns defaults with the members of in.
func (in adminunitRequest) domain(defaults transfer.Adminunit) transfer.Adminunit {
	u := defaults
	u.Retention = in.Retention
	set(&u.DefaultTTL, in.DefaultTTL)
	set(&u.PriorityEnabled, in.PriorityEnabled)
	set(&u.PinningEnabled, in.PinningEnabled)
	set(&u.MaxFiles, in.MaxFiles)
	set(&u.MaxFileSizeMB, in.MaxFileSizeMB)
	set(&u.MaxRecipients, in.MaxRecipients)
	if in.AvailableTTL != nil {
		u.AvailableTTL = in.AvailableTTL
	}
	if in.Inspection != nil {
		u.Inspection = transfer.Inspection(*in.Inspection)
	}
	if in.ProtectionLevel != nil {
		u.ProtectionLevel = transfer.Protection(*in.ProtectionLevel)
	}
	return u
}

// set assigns a member that is present.
func set[T any](to *T, value *T) {
	if value != nil {
		*to = *value
	}
}

// putAdminunit handles PUT /adminunit. A setting that is left out gets the server's default.
func (h *Handler) putAdminunit(w http.ResponseWriter, r *http.Request) error {
	var in adminunitRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	if err := h.buckets.TakeGuess(w, r, in.ProofRequest, httpapi.Transfer); err != nil {
		return err
	}
	u := in.domain(h.service.DefaultAdminunit())
	if err := h.service.PutAdminunit(r.Context(), caller(r), u, in.Proof()); err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, h.adminunitFrom(u))
}
