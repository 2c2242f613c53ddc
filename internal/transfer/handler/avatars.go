// Pictures and QR codes of mailboxes: the avatar of the owner, the picture behind the page, the code of a link.

package handler

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/imaging"
)

const typeJPEG = "image/jpeg"

// getMailboxAvatar handles GET /public/mailbox/{key}/avatar.
func (h *Handler) getMailboxAvatar(w http.ResponseWriter, r *http.Request) error {
	height, err := httpapi.Height(r)
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
	query, err := prefill(r)
	if err != nil {
		return err
	}
	m, err := h.service.PublicMailbox(r.Context(), caller(r), httpapi.Param(r, "key"))
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "public, max-age=600")
	return sendQRCode(w, r, h.hosts.URL(caller(r).Client.Host.Name, "/m/"+cmp.Or(m.VanityLink, m.Person.String()))+query)
}

// longestPrefill bounds what prefill returns, in bytes, so that a QR code of it exists and can be read.
const longestPrefill = 1000

// prefill returns the query that the parameter prefill gives a mailbox's link, with its question mark: only what the page takes.
func prefill(r *http.Request) (string, error) {
	q := httpapi.QueryOf(r)
	given := q.One("prefill")
	if err := q.Err(); err != nil || given == "" {
		return "", err
	}
	values, err := url.ParseQuery(given)
	for name := range values {
		if name != "subject" && name != "shared" && !strings.HasPrefix(name, "field.") {
			return "", fault.ErrInvalid.With("prefill: may have subject, shared and field.NAME")
		}
	}
	query := "?" + values.Encode()
	if err != nil || len(query) > longestPrefill {
		return "", fault.ErrInvalid.With("prefill: must be the query of a URL of at most 1,000 bytes")
	}
	return query, nil
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
