package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/strictjson"
)

// requestReset handles POST /auth/reset. Beside the general bucket, each address has one of its own, so that nobody's
// inbox is filled.
func (h *Handler) requestReset(w http.ResponseWriter, r *http.Request) error {
	var in addressRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	address, err := service.NormalizeAddress("address", in.Address)
	if err != nil {
		return err
	}
	if err := h.buckets.Take(w, r.Context(), resetBucket, address, httpapi.Identity); err != nil {
		return err
	}
	if err := h.service.RequestReset(r.Context(), httpapi.Client(r.Context()), address); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// resetPassword handles POST /auth/reset/{key}.
func (h *Handler) resetPassword(w http.ResponseWriter, r *http.Request) error {
	raw, err := h.service.Reset(r.Context(), httpapi.Client(r.Context()), httpapi.Param(r, "key"))
	if err != nil {
		return err
	}
	return handOut(w, raw)
}
