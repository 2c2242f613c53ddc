package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/strictjson"
)

// sendSenderCode handles POST /reservations/{uid}/code.
func (h *Handler) sendSenderCode(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Reservation](r, "uid")
	if err != nil {
		return err
	}
	if err := h.service.SendSenderCode(r.Context(), caller(r), uid); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

type senderCodeRequest struct {
	Code string `json:"code"`
}

// verifySender handles POST /reservations/{uid}/verify.
func (h *Handler) verifySender(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Reservation](r, "uid")
	if err != nil {
		return err
	}
	var in senderCodeRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	if err := h.service.VerifySender(r.Context(), caller(r), uid, in.Code); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}
