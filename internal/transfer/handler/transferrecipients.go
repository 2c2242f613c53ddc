package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/transfer"
)

// addRecipients handles POST /transfers/{uid}/recipients.
func (h *Handler) addRecipients(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Transfer](r, "uid")
	if err != nil {
		return err
	}
	var in struct {
		Recipients []recipientRequest `json:"recipients"`
	}
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	added, err := reservationRequest{Recipients: in.Recipients}.domain()
	if err != nil {
		return err
	}
	if err := h.service.AddRecipients(r.Context(), caller(r), uid, added.Recipients); err != nil {
		return err
	}
	return h.respondTransfer(w, r, uid)
}

// recipientParams parses the uids of a transfer and of one of its recipients.
// Errors: transfer.ErrNotFound.
func recipientParams(r *http.Request) (id.Transfer, id.Delivery, error) {
	uid, err := uidParam[id.Transfer](r, "uid")
	if err != nil {
		return id.Transfer{}, id.Delivery{}, err
	}
	recipient, err := uidParam[id.Delivery](r, "deliveryUid")
	if err != nil {
		return id.Transfer{}, id.Delivery{}, transfer.ErrNotFound
	}
	return uid, recipient, nil
}

// deleteRecipient handles DELETE /transfers/{uid}/recipients/{deliveryUid}.
func (h *Handler) deleteRecipient(w http.ResponseWriter, r *http.Request) error {
	uid, recipient, err := recipientParams(r)
	if err != nil {
		return err
	}
	if err := h.service.RemoveRecipient(r.Context(), caller(r), uid, recipient); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// resendTransfer handles POST /transfers/{uid}/recipients/{deliveryUid}/resend.
func (h *Handler) resendTransfer(w http.ResponseWriter, r *http.Request) error {
	uid, recipient, err := recipientParams(r)
	if err != nil {
		return err
	}
	var in struct {
		NewLink bool `json:"newLink"`
	}
	if err := strictjson.DecodeOptional(r, &in); err != nil {
		return err
	}
	if err := h.service.Resend(r.Context(), caller(r), uid, recipient, in.NewLink); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// remindRecipients handles POST /transfers/{uid}/remind.
func (h *Handler) remindRecipients(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Transfer](r, "uid")
	if err != nil {
		return err
	}
	n, err := h.service.Remind(r.Context(), caller(r), uid)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, struct {
		Reminded int `json:"reminded"`
	}{n})
}
