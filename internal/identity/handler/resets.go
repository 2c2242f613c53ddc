package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/strictjson"
)

// requestReset handles POST /auth/reset. Besides the general bucket, each address has a bucket, so that no inbox is
// flooded.
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
	if err := h.service.RequestPasswordReset(r.Context(), httpapi.Client(r.Context()), address); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// resetPassword handles POST /auth/reset/{key}.
func (h *Handler) resetPassword(w http.ResponseWriter, r *http.Request) error {
	var signedIn service.SignedIn
	err := h.guess(w, r, func() (err error) {
		signedIn, err = h.service.ResetPassword(r.Context(), httpapi.Client(r.Context()), httpapi.Param(r, "key"))
		return err
	})
	if err != nil {
		return err
	}
	return h.respondSignedIn(w, r, signedIn)
}
