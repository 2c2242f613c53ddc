// Receipts over HTTP, as a file or PDF, for accounts, reservations and links.

package handler

import (
	"net/http"
	"slices"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/proof"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// statements are the values of the query parameter of.
var statements = []string{
	transfer.StatedDelivered, transfer.StatedOpened, transfer.StatedDownloaded, transfer.StatedRevoked, transfer.StatedExpired,
	transfer.StatedErased,
}

// receiptTypes are the media types of a receipt.
var receiptTypes = []string{proof.MediaType, httpapi.TypePDF}

// getReceipt handles GET /transfers/{uid}/receipt.
func (h *Handler) getReceipt(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Transfer](r, "uid")
	if err != nil {
		return err
	}
	return h.receipt(w, r, func(kind string) (service.ReceiptFile, error) {
		return h.service.Receipt(r.Context(), caller(r), uid, kind)
	})
}

// getReservationReceipt handles GET /reservations/{uid}/receipt.
func (h *Handler) getReservationReceipt(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Reservation](r, "uid")
	if err != nil {
		return err
	}
	return h.receipt(w, r, func(kind string) (service.ReceiptFile, error) {
		return h.service.ReservationReceipt(r.Context(), caller(r), uid, kind)
	})
}

// getLinkedReceipt handles GET /public/transfers/{key}/receipt.
func (h *Handler) getLinkedReceipt(w http.ResponseWriter, r *http.Request) error {
	key := httpapi.Param(r, "key")
	return h.receipt(w, r, func(kind string) (service.ReceiptFile, error) {
		return h.service.LinkedReceipt(r.Context(), caller(r), key, kind)
	})
}

// getPartyReceipt handles GET /public/requests/{key}/receipt.
func (h *Handler) getPartyReceipt(w http.ResponseWriter, r *http.Request) error {
	key := httpapi.Param(r, "key")
	return h.receipt(w, r, func(kind string) (service.ReceiptFile, error) {
		return h.service.PartyReceipt(r.Context(), caller(r), key, kind)
	})
}

// receipt answers with the statement that the query names, or with 202 until it is signed.
func (h *Handler) receipt(w http.ResponseWriter, r *http.Request, find func(kind string) (service.ReceiptFile, error)) error {
	kind := transfer.StatedDelivered
	if values := r.URL.Query(); values.Has("of") {
		kind = values.Get("of")
	}
	if !slices.Contains(statements, kind) {
		var problems fault.Problems
		problems.Add("of", "must be delivered, opened, downloaded, revoked, expired or erased")
		return problems.Err()
	}
	f, err := find(kind)
	if service.ReceiptPending(err) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	if err != nil {
		return err
	}
	if kind, _ := httpapi.Negotiate(r, receiptTypes...); kind == httpapi.TypePDF {
		return h.receiptPDF(w, r, f)
	}
	w.Header().Set("Content-Type", proof.MediaType)
	w.Header().Set("Content-Disposition", `attachment; filename="`+proof.FileName+`"`)
	return h.service.WriteReceipt(r.Context(), w, f)
}

// receiptPDF answers with the receipt as a document for people, in the language of the request.
func (h *Handler) receiptPDF(w http.ResponseWriter, r *http.Request, f service.ReceiptFile) error {
	file, err := h.service.ReceiptPDF(r.Context(), f, h.catalog.Printer(h.catalog.Match(r.Header.Get("Accept-Language"))))
	if err != nil {
		return err
	}
	return httpapi.PDF(w, "receipt.pdf", file)
}
