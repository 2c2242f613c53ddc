// Reservations and uploads of the older API.

package legacy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
	"github.com/consign-dev/consign/internal/transfer/handler"
	"github.com/consign-dev/consign/internal/transfer/service"
)

type reservationRequest struct {
	Receivers   []receiver `json:"receivers"`
	Subject     *string    `json:"subject"`
	Description *string    `json:"description"`
	TTL         *int64     `json:"ttl"`
	Protection  *struct {
		Enabled bool    `json:"enabled"`
		Key     *string `json:"key"`
	} `json:"protection"`
	Files []file `json:"files"`
}

type receiver struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email"`
	UID   string `json:"uid,omitempty"`
	Type  string `json:"type,omitempty"`
}

type file struct {
	Name     string `json:"name"`
	Size     int64  `json:"size"`
	ID       string `json:"id"`
	ObjectID string `json:"objectId"`
}

func (in reservationRequest) domain() transfer.Metadata {
	m := transfer.Metadata{BasicMetadata: transfer.BasicMetadata{Subject: in.Subject, Message: in.Description}, TTL: in.TTL}
	for _, to := range in.Receivers {
		m.Recipients = append(m.Recipients, transfer.Recipient{Name: to.Name, Email: to.Email, Destination: transfer.Destination(to.Type)})
	}
	if in.Protection != nil && in.Protection.Enabled {
		password := string(transfer.ProtectPassword)
		m.Protection, m.Password = &password, in.Protection.Key
	}
	return m
}

// reserve handles POST /reservations: it makes a reservation with its files. When a file is refused, there is no reservation.
func (h *Handler) reserve(w http.ResponseWriter, r *http.Request) error {
	var in reservationRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	if len(in.Files) == 0 {
		return fault.ErrInvalid.With("files: is required: at least one file")
	}
	made, err := h.service.CreateReservation(r.Context(), caller(r), in.domain())
	if err != nil {
		return err
	}
	uid := made.Reservation.UID
	files := make([]service.Attachment, len(in.Files))
	for i, f := range in.Files {
		files[i] = service.Attachment{ClientID: f.ID, Name: f.Name, IntendedSize: f.Size}
	}
	list, _, err := h.service.Attach(r.Context(), caller(r), uid, files)
	if err != nil {
		return errors.Join(err, h.service.CancelReservation(r.Context(), caller(r), uid))
	}
	out := struct {
		Token     string `json:"token"`
		Files     []file `json:"files"`
		TotalSize int64  `json:"totalSize"`
	}{Token: uid.String()}
	for _, o := range list {
		out.Files = append(out.Files, file{o.Name, o.IntendedSize, o.ClientID, o.ClientID})
		out.TotalSize += o.IntendedSize
	}
	return httpapi.JSON(w, http.StatusOK, out)
}

// fieldBytes is the size of a part of a form that holds a text.
const fieldBytes = 1024

// receive handles POST /upload: a form with the parts objectId, authToken (the reservation) and f (the bytes), in this order.
func (h *Handler) receive(w http.ResponseWriter, r *http.Request) error {
	chunk, err := rangeOf(r)
	if err != nil {
		return err
	}
	q := h.handler.Incoming(w, r)
	uid, clientID, file, err := openForm(r, q.Body)
	if err != nil {
		q.End()
		return err
	}
	in := content.WholeObject(-1, file)
	if chunk != nil {
		in = content.RangeOfObject(*chunk, -1, file)
	}
	o, err := q.Write(uid, clientID, in)
	if err != nil {
		return handler.RangeAnswer(w, err, false)
	}
	out := map[string]int64{"size": o.Held, "chunkStart": 0, "chunkEnd": o.Held, "totalSize": o.IntendedSize}
	if chunk != nil {
		out["chunkStart"], out["chunkEnd"] = chunk.First, chunk.Last
	}
	return httpapi.JSON(w, http.StatusOK, out)
}

// openForm reads the form of a request up to the bytes of the file.
// Errors: fault.ErrUnsupported, fault.ErrInvalid, transfer.ErrNotFound.
func openForm(r *http.Request, body content.Body) (uid id.Reservation, clientID string, file *formBody, err error) {
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, r.Body}
	form, err := r.MultipartReader()
	if err != nil {
		return uid, "", nil, fault.ErrUnsupported.With("the body must be multipart/form-data with objectId, authToken and f")
	}
	if clientID, err = text(form, "objectId"); err != nil {
		return uid, "", nil, err
	}
	reservation, err := text(form, "authToken")
	if err != nil {
		return uid, "", nil, err
	}
	if uid, err = reservationOf(reservation); err != nil {
		return uid, "", nil, err
	}
	bytes, err := part(form, "f")
	if err == nil && !transfer.ValidClientID(clientID) {
		err = transfer.ErrNotFound
	}
	return uid, clientID, &formBody{Reader: bytes, Body: body, form: form}, err
}

// formBody is the bytes of a file in a form. It reads the form to its end after them, so that the connection can be used again.
type formBody struct {
	io.Reader
	content.Body
	form *multipart.Reader
}

// Read implements io.Reader.
func (b *formBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		_, _ = b.form.NextPart() // another part is left unread, and the connection is closed
	}
	return n, err
}

func rangeOf(r *http.Request) (*transfer.ContentRange, error) {
	header := r.Header.Get("Content-Range")
	if header == "" {
		return nil, nil //nolint:nilnil // no range: the whole file
	}
	c, ok := transfer.ParseContentRange(header)
	if !ok {
		return nil, fault.ErrInvalid.With("Content-Range: must be bytes FIRST-LAST/TOTAL")
	}
	return &c, nil
}

// part returns the next part of a form, which must have the name.
func part(form *multipart.Reader, name string) (*multipart.Part, error) {
	p, err := form.NextPart()
	if err != nil || p.FormName() != name {
		return nil, fault.ErrInvalid.With(fmt.Sprintf("the form must have the parts objectId, authToken and f, in this order; %s is missing",
			name))
	}
	return p, nil
}

// text returns the value of the next part of a form.
func text(form *multipart.Reader, name string) (string, error) {
	p, err := part(form, name)
	if err != nil {
		return "", err
	}
	value, err := io.ReadAll(io.LimitReader(p, fieldBytes+1))
	if err != nil || len(value) > fieldBytes {
		return "", fault.ErrInvalid.With(name + ": cannot be read, or is too long")
	}
	return string(bytes.TrimSpace(value)), nil
}

// held handles HEAD /upload/{objectId}. Content-Length is the number of bytes held.
func (h *Handler) held(w http.ResponseWriter, r *http.Request) error {
	uid, err := reservationOf(r.Header.Get("X-Skp-Auth"))
	if err != nil {
		return err
	}
	clientID := httpapi.Param(r, "objectId")
	if !transfer.ValidClientID(clientID) {
		return transfer.ErrNotFound
	}
	o, err := h.service.Object(r.Context(), caller(r), uid, clientID)
	if err != nil {
		return err
	}
	return handler.AnswerHeld(w, o)
}

// confirm handles POST /reservations/{token}/confirm.
func (h *Handler) confirm(w http.ResponseWriter, r *http.Request) error {
	uid, err := reservationOf(httpapi.Param(r, "token"))
	if err != nil {
		return err
	}
	t, _, err := h.service.Confirm(r.Context(), caller(r), uid)
	if err != nil {
		return err
	}
	type result struct {
		RecipientID string `json:"recipientId"`
	}
	return httpapi.JSON(w, http.StatusOK, map[string][]result{"result": {{t.UID.String()}}})
}
