package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/transfer"
)

// getMailboxPicture handles GET /public/mailbox/{key}/picture.
func (h *Handler) getMailboxPicture(w http.ResponseWriter, r *http.Request) error {
	picture, err := h.service.MailboxPicture(r.Context(), caller(r), httpapi.Param(r, "key"))
	if err != nil {
		return err
	}
	return servePicture(w, r, picture, "public, max-age=600")
}

// putMailboxPicture handles PUT /mailbox/picture.
func (h *Handler) putMailboxPicture(w http.ResponseWriter, r *http.Request) error {
	file, done, err := httpapi.ReceivePicture(r)
	if err != nil {
		return err
	}
	defer done()
	picture, err := h.service.PutMailboxPicture(r.Context(), caller(r), file)
	if err != nil {
		return err
	}
	return servePicture(w, r, picture, "no-store")
}

// deleteMailboxPicture handles DELETE /mailbox/picture.
func (h *Handler) deleteMailboxPicture(w http.ResponseWriter, r *http.Request) error {
	if err := h.service.DeleteMailboxPicture(r.Context(), caller(r)); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// servePicture answers with a JPEG, or with 304 when If-None-Match has its ETag.
func servePicture(w http.ResponseWriter, r *http.Request, picture transfer.Avatar, cache string) error {
	w.Header().Set("Content-Type", typeJPEG)
	w.Header().Set("ETag", picture.ETag)
	w.Header().Set("Cache-Control", cache)
	return httpapi.Document(w, r, picture.Image)
}
