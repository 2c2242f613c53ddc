package handler

import (
	"encoding/json"
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/token"
)

type passkeyOptionsResponse struct {
	Options json.RawMessage `json:"options"`
}

type relatedOriginsResponse struct {
	Origins []string `json:"origins"`
}

// relatedOriginsPath is where browsers look (WebAuthn level 3, section 5.11).
const relatedOriginsPath = "/.well-known/webauthn"

// createPasskeyOptions handles POST /auth/passkey/options.
func (h *Handler) createPasskeyOptions(w http.ResponseWriter, r *http.Request) error {
	mfa, err := h.optionalMFA(r)
	if err != nil {
		return err
	}
	options, err := h.service.PasskeyOptions(r.Context(), httpapi.Client(r.Context()), mfa)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, passkeyOptionsResponse{Options: options})
}

// optionalMFA returns the caller of the mfa token, nil without a token. A token that is not a valid one is refused: the caller means the
// second step of a login.
// Errors: identity.ErrMFAToken.
func (h *Handler) optionalMFA(r *http.Request) (*token.Caller, error) {
	mfa, err := h.mfa(r)
	if _, present := token.Bearer(r); err == nil && present && mfa == nil {
		return nil, identity.ErrMFAToken
	}
	return mfa, err
}

// createProofOptions handles POST /profile/passkey/options.
func (h *Handler) createProofOptions(w http.ResponseWriter, r *http.Request) error {
	options, err := h.service.ProofOptions(r.Context(), caller(r))
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, passkeyOptionsResponse{Options: options})
}

// getRelatedOrigins handles GET /.well-known/webauthn.
func (h *Handler) getRelatedOrigins(w http.ResponseWriter, r *http.Request) error {
	origins, err := h.service.RelatedOrigins(r.Context(), httpapi.Client(r.Context()))
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, relatedOriginsResponse{Origins: origins})
}
