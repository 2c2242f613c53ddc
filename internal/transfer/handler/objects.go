package handler

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
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

// objectRequest is an Object as a client sends it; contentLength is read-only and ignored.
type objectRequest struct {
	ClientID      *string `json:"clientId"`
	Name          *string `json:"name"`
	ContentLength *int64  `json:"contentLength"`
	IntendedSize  *int64  `json:"intendedSize"`
}

// StrictMembers refuses members that an Object does not have.
func (*objectRequest) StrictMembers() {}

// objectsRequest is one Object, or a list of them.
type objectsRequest struct {
	ClientID      *string         `json:"clientId"`
	Name          *string         `json:"name"`
	ContentLength *int64          `json:"contentLength"`
	IntendedSize  *int64          `json:"intendedSize"`
	Objects       []objectRequest `json:"objects"`
}

// StrictMembers refuses members that neither form has.
func (*objectsRequest) StrictMembers() {}

func (in objectsRequest) files() ([]service.Attachment, error) {
	list := in.Objects
	if in.Objects == nil {
		list = []objectRequest{{ClientID: in.ClientID, Name: in.Name, IntendedSize: in.IntendedSize}}
	} else if in.ClientID != nil || in.Name != nil || in.IntendedSize != nil {
		return nil, fault.ErrInvalid.With("objects: either one object or a list of objects")
	}
	var p fault.Problems
	files := make([]service.Attachment, len(list))
	for i, o := range list {
		at := ""
		if in.Objects != nil {
			at = fmt.Sprintf("objects[%d].", i)
		}
		if o.ClientID == nil {
			p.Add(at+"clientId", "is required")
		}
		if o.Name == nil {
			p.Add(at+"name", "is required")
		}
		if o.IntendedSize == nil {
			p.Add(at+"intendedSize", "is required")
		}
		if len(p) > 20 {
			break
		}
		if len(p) == 0 {
			files[i] = service.Attachment{ClientID: *o.ClientID, Name: *o.Name, IntendedSize: *o.IntendedSize}
		}
	}
	return files, p.Err()
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
	files, err := in.files()
	if err != nil {
		return err
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
	w.Header().Set("Location", h.url(caller(r), "/reservations/"+uid.String()+"/objects/"+url.PathEscape(list[0].ClientID)))
	return httpapi.JSON(w, status, objectFrom(list[0]))
}

// getObject handles GET /reservations/{uid}/objects/{clientId}.
func (h *Handler) getObject(w http.ResponseWriter, r *http.Request) error {
	o, err := h.object(r)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, objectFrom(o))
}

func (h *Handler) object(r *http.Request) (transfer.Object, error) {
	uid, clientID, err := objectParams(r)
	if err != nil {
		return transfer.Object{}, err
	}
	return h.service.Object(r.Context(), caller(r), uid, clientID)
}

// objectParams reads the path of an object; what is no clientId names none.
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
	if err := h.service.RemoveObject(r.Context(), caller(r), uid, clientID); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// headContent handles HEAD /reservations/{uid}/objects/{clientId}/content: how many bytes are held is where to go on.
func (h *Handler) headContent(w http.ResponseWriter, r *http.Request) error {
	o, err := h.object(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(o.Held, 10))
	w.WriteHeader(http.StatusOK)
	return nil
}

// putContent handles PUT /reservations/{uid}/objects/{clientId}/content.
func (h *Handler) putContent(w http.ResponseWriter, r *http.Request) error {
	uid, clientID, err := objectParams(r)
	if err != nil {
		return err
	}
	in, err := contentOf(w, r)
	if err != nil {
		return err
	}
	o, err := h.service.Upload(r.Context(), caller(r), uid, clientID, in)
	var bad *transfer.RangeError
	if errors.As(err, &bad) {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", bad.Held))
	}
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, objectFrom(o))
}

// contentOf reads the headers that say what an upload's body is.
func contentOf(w http.ResponseWriter, r *http.Request) (content.Part, error) {
	in := content.Part{Length: r.ContentLength, Body: streamedBody{r: r, w: w}}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return in, fault.ErrUnsupported.With("Content-Encoding: send the bytes as they are")
	}
	if headers := r.Header.Values("Content-Range"); len(headers) > 0 {
		c, ok := transfer.ParseContentRange(headers[0])
		if ok && len(headers) == 1 {
			in.Range = &c
		} else {
			in.MalformedRange = true
		}
	}
	var p fault.Problems
	in.ContentDigest = digest(&p, r, "Content-Digest")
	in.ReprDigest = digest(&p, r, "Repr-Digest")
	return in, p.Err()
}

func digest(p *fault.Problems, r *http.Request, header string) []byte {
	values := r.Header.Values(header)
	if len(values) == 0 {
		return nil
	}
	sum, ok := transfer.ParseDigest(strings.Join(values, ","))
	if !ok {
		p.Add(header, "must be like sha-256=:base64 of the 32 bytes:")
	}
	return sum
}

// streamedBody is a request's body that can be cut off while a Read waits for the client.
type streamedBody struct {
	r *http.Request
	w http.ResponseWriter
}

func (b streamedBody) Read(p []byte) (int, error) { return b.r.Body.Read(p) }

func (b streamedBody) Interrupt() {
	_ = http.NewResponseController(b.w).SetReadDeadline(time.Unix(1, 0)) // without deadlines there is no waiting Read either
}
