package handler

import (
	"cmp"
	"math"
	"net/http"
	"strconv"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/imaging"
)

const typeJPEG = "image/jpeg"

// getMailboxAvatar handles GET /public/mailbox/{key}/avatar.
func (h *Handler) getMailboxAvatar(w http.ResponseWriter, r *http.Request) error {
	height, err := avatarHeight(r)
	if err != nil {
		return err
	}
	a, err := h.service.MailboxAvatar(r.Context(), caller(r), httpapi.Param(r, "key"), height)
	if err != nil {
		return err
	}
	return servePicture(w, r, a, "public, max-age=600")
}

const typeSVG = "image/svg+xml"

// getMailboxQRCode handles GET /public/mailbox/{key}/qr: the link of the mailbox's page on this host as a QR code.
func (h *Handler) getMailboxQRCode(w http.ResponseWriter, r *http.Request) error {
	m, err := h.service.PublicMailbox(r.Context(), caller(r), httpapi.Param(r, "key"))
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "public, max-age=600")
	return sendQRCode(w, r, h.hosts.URL(caller(r).Client.Host.Name, "/m/"+cmp.Or(m.VanityLink, m.Person.String())))
}

// getTransferQRCode handles GET /transfers/{uid}/qr: the link that the sender has made as a QR code.
func (h *Handler) getTransferQRCode(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Transfer](r, "uid")
	if err != nil {
		return err
	}
	link, err := h.service.TransferLink(r.Context(), caller(r), uid)
	if err != nil {
		return err
	}
	return sendQRCode(w, r, link)
}

func sendQRCode(w http.ResponseWriter, r *http.Request, link string) error {
	image, err := imaging.QRCode(link)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", typeSVG)
	return httpapi.Document(w, r, image)
}

// avatarHeight returns the query parameter height in pixels, rounded up, 0 when absent.
func avatarHeight(r *http.Request) (int, error) {
	values := r.URL.Query()["height"]
	if len(values) == 0 {
		return 0, nil
	}
	pixels, err := strconv.ParseFloat(values[0], 64)
	if err != nil || len(values) > 1 || !(pixels > 0 && pixels <= 100_000) {
		return 0, fault.ErrInvalid.With("height: must be a number of pixels")
	}
	return int(math.Ceil(pixels)), nil
}
