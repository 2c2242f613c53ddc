package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/token"
)

// requestVerification handles POST /profile/emails/{address}/verify.
func (h *Handler) requestVerification(w http.ResponseWriter, r *http.Request) error {
	caller := token.CallerFrom(r.Context())
	if err := h.buckets.Take(w, r.Context(), verificationBucket, caller.Person.String(), httpapi.Identity); err != nil {
		return err
	}
	if err := h.service.RequestVerification(r.Context(), caller, httpapi.Param(r, "address")); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// confirmAddress handles POST /confirm/{key}.
func (h *Handler) confirmAddress(w http.ResponseWriter, r *http.Request) error {
	caller := token.CallerFrom(r.Context())
	if err := h.buckets.Take(w, r.Context(), confirmationBucket, caller.Person.String(), httpapi.Identity); err != nil {
		return err
	}
	idToken, err := h.service.Confirm(r.Context(), caller, httpapi.Param(r, "key"))
	if err != nil {
		return err
	}
	if idToken != "" {
		httpapi.Bearer(w, idToken)
	}
	return httpapi.NoContent(w)
}
