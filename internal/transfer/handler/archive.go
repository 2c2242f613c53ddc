// Downloads of a zip over HTTP, for accounts and links.

package handler

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/consign-dev/consign/internal/archive"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/transfer/service"
)

const typeZip = "application/zip"

// downloadArchive handles GET and HEAD /transfers/{uid}/archive.
func (h *Handler) downloadArchive(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Transfer](r, "uid")
	if err != nil {
		return presented(r, err)
	}
	only, err := selectedObjects(r)
	if err != nil {
		return presented(r, err)
	}
	a, err := h.service.OpenArchive(r.Context(), h.downloadAuth(r), uid, only)
	if err != nil {
		return err
	}
	return h.serveArchive(w, r, a)
}

// downloadLinkedArchive handles GET and HEAD /public/transfers/{key}/archive.
func (h *Handler) downloadLinkedArchive(w http.ResponseWriter, r *http.Request) error {
	only, err := selectedObjects(r)
	if err != nil {
		return presented(r, err)
	}
	a, err := h.service.OpenLinkedArchive(r.Context(), h.downloadAuth(r), httpapi.Param(r, "key"), only)
	if err != nil {
		return err
	}
	return h.serveArchive(w, r, a)
}

// downloadRequestArchive handles GET /requests/{uid}/archive.
func (h *Handler) downloadRequestArchive(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Request](r, "uid")
	if err != nil {
		return presented(r, err)
	}
	d, a, err := h.service.OpenRequestArchive(r.Context(), h.downloadAuth(r), uid)
	if err != nil {
		return err
	}
	return h.serve(w, r, d, representation{name: archive.FileName(a.Title) + ".zip", mimeType: typeZip,
		etag: `"` + hex.EncodeToString(a.Sum) + `"`, size: a.Size})
}

// maxSelected is how many objects the query of an archive may name. The URL has less than 8 KB then.
const maxSelected = 200

// selectedObjects returns the objects that the query parameter objects names, in order and once each; nil: all.
// Errors: fault.ErrInvalid.
func selectedObjects(r *http.Request) ([]id.Object, error) {
	query := r.URL.Query()
	if !query.Has("objects") {
		return nil, nil
	}
	var problems fault.Problems
	var list []id.Object
	texts := strings.Split(query.Get("objects"), ",")
	if len(texts) > maxSelected {
		problems.Add("objects", fmt.Sprintf("may name %d objects at most", maxSelected))
		texts = nil
	}
	for _, text := range texts {
		uid, err := id.Parse[id.Object](text)
		if err != nil {
			problems.Add("objects", "must be uids of objects, separated by commas")
			break
		}
		list = append(list, uid)
	}
	slices.SortFunc(list, func(a, b id.Object) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(list), problems.Err()
}

func (h *Handler) serveArchive(w http.ResponseWriter, r *http.Request, a service.Archive) error {
	selected := ""
	if len(a.Only) > 0 {
		selected = "-" + hex.EncodeToString(seal.Hash(fmt.Sprint(a.Only)))
	}
	return h.serve(w, r, a.Download, representation{
		// The objects of a transfer never change, so its archive always has the same bytes in one layout.
		name: "transfer-" + a.CreatedAt.UTC().Format("2006-01-02") + ".zip", mimeType: typeZip,
		etag: `"` + archive.Layout + `-` + a.Transfer.String() + selected + `"`, size: a.Size,
	})
}
