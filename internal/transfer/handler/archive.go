package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer/service"
)

const typeZip = "application/zip"

// downloadArchive handles GET and HEAD /transfers/{uid}/archive.
func (h *Handler) downloadArchive(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Transfer](r, "uid")
	if err != nil {
		return presented(r, err)
	}
	a, err := h.service.OpenArchive(r.Context(), h.downloadAuth(r), uid)
	if err != nil {
		return err
	}
	return h.serveArchive(w, r, a)
}

// downloadLinkedArchive handles GET and HEAD /public/transfers/{key}/archive.
func (h *Handler) downloadLinkedArchive(w http.ResponseWriter, r *http.Request) error {
	a, err := h.service.OpenLinkedArchive(r.Context(), h.downloadAuth(r), httpapi.Param(r, "key"))
	if err != nil {
		return err
	}
	return h.serveArchive(w, r, a)
}

func (h *Handler) serveArchive(w http.ResponseWriter, r *http.Request, a service.Archive) error {
	return h.serve(w, r, a.Download, representation{
		// The objects of a transfer never change, so its archive always has the same bytes. A new layout needs a new ETag.
		name: "transfer-" + a.CreatedAt.UTC().Format("2006-01-02") + ".zip", mimeType: typeZip, etag: `"zip2-` + a.Transfer.String() + `"`, size: a.Size,
	})
}
