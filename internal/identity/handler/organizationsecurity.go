package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/strictjson"
)

type securityRequest struct {
	MFARequired *bool `json:"mfaRequired"`
	httpapi.ProofRequest
}

type securityResponse struct {
	MFARequired bool `json:"mfaRequired"`
}

// putSecurity handles PUT /organizations/{uid}/security.
func (h *Handler) putSecurity(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	var in securityRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	if in.MFARequired == nil {
		return fault.ErrInvalid.With("mfaRequired: is required")
	}
	if err := h.buckets.TakeGuess(w, r, in.ProofRequest, httpapi.Identity); err != nil {
		return err
	}
	if err := h.service.PutSecurity(r.Context(), caller(r), o, *in.MFARequired, in.Proof()); err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, securityResponse{MFARequired: *in.MFARequired})
}

type organizationLimitsResponse struct {
	Members     int            `json:"members"`
	Limitations map[string]any `json:"limitations"`
}

// getOrganizationLimits handles GET /organizations/{uid}/limits.
func (h *Handler) getOrganizationLimits(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	l, err := h.service.OrganizationLimits(r.Context(), caller(r), o)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, organizationLimitsResponse{Members: l.Members, Limitations: limitationsFrom(o, l.Limits)})
}
