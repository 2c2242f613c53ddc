package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/strictjson"
)

type uploadOriginsRequest struct {
	Origins *[]string `json:"origins"`
	httpapi.ProofRequest
}

type uploadOriginsResponse struct {
	Origins []string `json:"origins"`
}

// getUploadOrigins handles GET /organizations/{uid}/uploadorigins.
func (h *Handler) getUploadOrigins(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	origins, err := h.service.UploadOrigins(r.Context(), caller(r), o)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, uploadOriginsResponse{Origins: origins})
}

// putUploadOrigins handles PUT /organizations/{uid}/uploadorigins.
func (h *Handler) putUploadOrigins(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	var in uploadOriginsRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	if in.Origins == nil {
		return fault.ErrInvalid.With("origins: is required")
	}
	if err := h.buckets.TakeGuess(w, r, in.ProofRequest, httpapi.Identity); err != nil {
		return err
	}
	origins, err := h.service.PutUploadOrigins(r.Context(), caller(r), o, *in.Origins, in.Proof())
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, uploadOriginsResponse{Origins: origins})
}
