// The avatar of an organization and the logo over HTTP, with caching. Avatars of people use the same functions.

package handler

import (
	"net/http"
	"strconv"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/identity"
)

const typeJPEG = "image/jpeg"

// getOrganizationAvatar handles GET /organizations/{uid}/avatar.
func (h *Handler) getOrganizationAvatar(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	height, err := httpapi.Height(r)
	if err != nil {
		return err
	}
	a, err := h.service.OrganizationAvatar(r.Context(), caller(r), o, height)
	if err != nil {
		return err
	}
	return serveAvatar(w, r, a, "private, no-cache")
}

// getLogo handles GET /assets/logo.
func (h *Handler) getLogo(w http.ResponseWriter, r *http.Request) error {
	height, err := httpapi.Height(r)
	if err != nil {
		return err
	}
	a, err := h.service.Logo(r.Context(), httpapi.Client(r.Context()), height)
	if err != nil {
		return err
	}
	return serveAvatar(w, r, a, privateCache)
}

// putOrganizationAvatar handles PUT /organizations/{uid}/avatar.
func (h *Handler) putOrganizationAvatar(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	picture, done, err := httpapi.ReceivePicture(r)
	if err != nil {
		return err
	}
	defer done()
	a, err := h.service.PutOrganizationAvatar(r.Context(), caller(r), o, picture)
	if err != nil {
		return err
	}
	w.Header().Set("Location", h.location(r, "/organizations/"+o.String()+"/avatar"))
	return serveAvatar(w, r, a, "no-store")
}

// deleteOrganizationAvatar handles DELETE /organizations/{uid}/avatar.
func (h *Handler) deleteOrganizationAvatar(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	if err := h.service.DeleteOrganizationAvatar(r.Context(), caller(r), o); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// serveAvatar answers with a picture, or with 304 when If-None-Match has its ETag.
func serveAvatar(w http.ResponseWriter, r *http.Request, a identity.Avatar, cache string) error {
	header := w.Header()
	header.Set("Content-Type", typeJPEG)
	header.Set("ETag", a.ETag)
	header.Set("Cache-Control", cache)
	if r.Method == http.MethodPut {
		header.Set("Content-Length", strconv.Itoa(len(a.Image)))
		_, err := w.Write(a.Image)
		return err
	}
	return httpapi.Document(w, r, a.Image)
}
