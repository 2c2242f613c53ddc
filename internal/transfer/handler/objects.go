// The objects of a reservation over HTTP: announce, read, delete.

package handler

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

type objectResponse struct {
	ClientID      string `json:"clientId"`
	Name          string `json:"name"`
	ContentLength int64  `json:"contentLength"`
	IntendedSize  int64  `json:"intendedSize"`
}

func objectFrom(o transfer.Object) objectResponse {
	return objectResponse{ClientID: o.ClientID, Name: o.Name, ContentLength: o.Held, IntendedSize: o.IntendedSize}
}

func objectsFrom(list []transfer.Object) []objectResponse {
	out := make([]objectResponse, len(list))
	for i, o := range list {
		out[i] = objectFrom(o)
	}
	return out
}

// objectRequest is an Object in a request. The read-only contentLength is ignored.
type objectRequest struct {
	ClientID      *string `json:"clientId"`
	Name          *string `json:"name"`
	ContentLength *int64  `json:"contentLength"`
	IntendedSize  *int64  `json:"intendedSize"`
}

// StrictMembers makes the decoder refuse unknown members.
func (*objectRequest) StrictMembers() {}

// objectsRequest is one Object or a list of Objects.
type objectsRequest struct {
	ClientID      *string         `json:"clientId"`
	Name          *string         `json:"name"`
	ContentLength *int64          `json:"contentLength"`
	IntendedSize  *int64          `json:"intendedSize"`
	Objects       []objectRequest `json:"objects"`
}

// StrictMembers makes the decoder refuse unknown members.
func (*objectsRequest) StrictMembers() {}

func (in objectsRequest) domain() ([]service.Attachment, error) {
	list := in.Objects
	if in.Objects == nil {
		list = []objectRequest{{ClientID: in.ClientID, Name: in.Name, IntendedSize: in.IntendedSize}}
	} else if in.ClientID != nil || in.Name != nil || in.IntendedSize != nil {
		return nil, fault.ErrInvalid.With("objects: must be one object or a list of objects, not both")
	}
	var problems fault.Problems
	files := make([]service.Attachment, len(list))
	for i, o := range list {
		at := ""
		if in.Objects != nil {
			at = fmt.Sprintf("objects[%d].", i)
		}
		if o.ClientID == nil {
			problems.Add(at+"clientId", "is required")
		}
		if o.Name == nil {
			problems.Add(at+"name", "is required")
		}
		if o.IntendedSize == nil {
			problems.Add(at+"intendedSize", "is required")
		}
		if len(problems) == fault.MaxProblems {
			break
		}
		if len(problems) == 0 {
			files[i] = service.Attachment{ClientID: *o.ClientID, Name: *o.Name, IntendedSize: *o.IntendedSize}
		}
	}
	return files, problems.Err()
}

// attachObjects handles POST /reservations/{uid}/objects.
func (h *Handler) attachObjects(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Reservation](r, "uid")
	if err != nil {
		return err
	}
	var in objectsRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	files, err := in.domain()
	if err != nil {
		return err
	}
	item, err := itemOf(r)
	if err != nil {
		return err
	}
	for i := range files {
		files[i].Item = item
	}
	list, created, err := h.service.Attach(r.Context(), caller(r), uid, files)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	if in.Objects != nil {
		return httpapi.JSON(w, status, map[string][]objectResponse{"objects": objectsFrom(list)})
	}
	w.Header().Set("Location", h.location(r, "/reservations/"+uid.String()+"/objects/"+url.PathEscape(list[0].ClientID)))
	return httpapi.JSON(w, status, objectFrom(list[0]))
}

// itemOf returns the item of a request that the announced files are for: the query parameter item, which all protocols have.
// Errors: fault.ErrInvalid.
func itemOf(r *http.Request) (id.Item, error) {
	q := httpapi.QueryOf(r)
	item := httpapi.QueryUID[id.Item](q, "item")
	return item, q.Err()
}

// getObject handles GET /reservations/{uid}/objects/{clientId}.
func (h *Handler) getObject(w http.ResponseWriter, r *http.Request) error {
	o, err := h.object(r)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, objectFrom(o))
}

// object returns the object of the path.
func (h *Handler) object(r *http.Request) (transfer.Object, error) {
	uid, clientID, err := objectParams(r)
	if err != nil {
		return transfer.Object{}, err
	}
	return h.service.Object(r.Context(), caller(r), uid, clientID)
}

// objectParams parses the reservation and the clientId of the path.
// Errors: transfer.ErrNotFound when one is malformed.
func objectParams(r *http.Request) (uid id.Reservation, clientID string, err error) {
	if uid, err = uidParam[id.Reservation](r, "uid"); err != nil {
		return uid, "", err
	}
	if clientID = httpapi.Param(r, "clientId"); !transfer.ValidClientID(clientID) {
		return uid, "", transfer.ErrNotFound
	}
	return uid, clientID, nil
}

// deleteObject handles DELETE /reservations/{uid}/objects/{clientId}.
func (h *Handler) deleteObject(w http.ResponseWriter, r *http.Request) error {
	uid, clientID, err := objectParams(r)
	if err != nil {
		return err
	}
	if err := h.service.DeleteObject(r.Context(), caller(r), uid, clientID); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}
