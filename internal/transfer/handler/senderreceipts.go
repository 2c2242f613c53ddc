// The receipt behind the link that the sender of a transfer to a mailbox is mailed, over HTTP.

package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/transfer/service"
)

type senderReceiptResponse struct {
	Account   bool                `json:"account,omitempty"`
	Mailbox   string              `json:"mailbox"`
	CreatedAt httpapi.Time        `json:"createdAt"`
	Checked   bool                `json:"checked"`
	CheckedAt *httpapi.Time       `json:"checkedAt,omitempty"`
	Since     []happeningResponse `json:"since,omitempty"`
}

type happeningResponse struct {
	Kind string       `json:"kind"`
	At   httpapi.Time `json:"at"`
}

func senderReceiptFrom(r service.SenderReceipt) senderReceiptResponse {
	out := senderReceiptResponse{
		Account: r.Account, Mailbox: r.Mailbox, CreatedAt: httpapi.Time(r.CreatedAt), Checked: !r.CheckedAt.IsZero(),
		CheckedAt: httpapi.TimeOrNil(&r.CheckedAt),
	}
	for _, h := range r.Since {
		out.Since = append(out.Since, happeningResponse{Kind: h.Kind, At: httpapi.Time(h.At)})
	}
	return out
}

// getSenderReceipt handles GET /public/receipts/{key}.
func (h *Handler) getSenderReceipt(w http.ResponseWriter, r *http.Request) error {
	found, err := h.service.SenderReceipt(r.Context(), httpapi.Param(r, "key"))
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, senderReceiptFrom(found))
}

// proveSender handles POST /public/receipts/{key}.
func (h *Handler) proveSender(w http.ResponseWriter, r *http.Request) error {
	proved, err := h.service.ProveSender(r.Context(), caller(r), httpapi.Param(r, "key"))
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, senderReceiptFrom(proved))
}

// getSentReceipt handles GET /public/receipts/{key}/receipt.
func (h *Handler) getSentReceipt(w http.ResponseWriter, r *http.Request) error {
	key := httpapi.Param(r, "key")
	return h.receipt(w, r, func(kind string) (service.ReceiptFile, error) { return h.service.SentReceipt(r.Context(), key, kind) })
}
