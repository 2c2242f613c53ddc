// Resumable uploads of the IETF over HTTP.

package handler

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// Resumable uploads of the IETF (draft-ietf-httpbis-resumable-upload-12, and the interop versions 3 to 8 of its predecessors) over the same
// objects as PUT of content.
const (
	typePartial = "application/partial-upload"

	interopIncomplete = 3 // the last version with Upload-Incomplete instead of Upload-Complete
	interopAnyType    = 5 // the last version whose PATCH has any Content-Type and whose answer to it is 201; it has no Upload-Limit
	interopExpires    = 6 // the last version with the limit expires, which is max-age now
	interopCurrent    = 8

	statusResumable = 104 // Upload Resumption Supported
)

// problemTypes is where the types of problems of the draft are registered.
const problemTypes = "https://iana.org/assignments/http-problem-types#"

// resumableRoutes holds the uploads of the IETF. PUT of content begins one, too, when it has Upload-Complete.
func (h *Handler) resumableRoutes(uploader token.Auth) []httpapi.Route {
	const creation, upload = "/reservations/{uid}/uploads", "/reservations/{uid}/objects/{clientId}/upload"
	options := func(pattern string) httpapi.Route {
		return httpapi.Route{Method: http.MethodOptions, Pattern: pattern, Auth: token.None, Bucket: httpapi.NoBucket, Handler: resumableOptions}
	}
	return []httpapi.Route{
		options(creation), {Method: http.MethodPost, Pattern: creation, Auth: uploader, Bucket: h.upload, Body: httpapi.StreamBody,
			Handler: h.createUpload, Grows: true},
		options(upload), {Method: http.MethodHead, Pattern: upload, Auth: uploader, Bucket: h.upload, Handler: h.headUpload},
		{Method: http.MethodGet, Pattern: upload, Auth: uploader, Bucket: h.upload, Handler: h.headUpload},
		{Method: http.MethodPatch, Pattern: upload, Auth: uploader, Bucket: h.upload, Body: httpapi.StreamBody, Handler: h.patchUpload},
		{Method: http.MethodDelete, Pattern: upload, Auth: uploader, Bucket: h.upload, Handler: h.deleteObject},
	}
}

// resumableOptions handles OPTIONS. Most limits depend on the reservation: they come with the upload.
func resumableOptions(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Accept-Patch", typePartial)
	w.Header().Set("Upload-Limit", "min-size=0")
	return httpapi.NoContent(w)
}

// resumable is what the headers of a request say in one of the versions of the draft.
type resumable struct {
	version  int // of interoperation; 0: none stated, which is the draft without 104
	complete bool
	length   int64 // Upload-Length; -1: not stated
}

// isResumable reports whether a request begins a resumable upload.
func isResumable(r *http.Request) bool {
	return r.Header.Get("Upload-Complete") != "" || r.Header.Get("Upload-Incomplete") != ""
}

// resumableFrom reads the headers of a request with content.
// Errors: fault.ErrInvalid.
func resumableFrom(w http.ResponseWriter, r *http.Request) (in resumable, err error) {
	in = resumable{version: interopVersion(w, r), length: -1}
	var known bool
	if in.version == interopIncomplete {
		var incomplete bool
		incomplete, known = transfer.ParseBooleanField(r.Header.Values("Upload-Incomplete"))
		in.complete = !incomplete
	} else {
		in.complete, known = transfer.ParseBooleanField(r.Header.Values("Upload-Complete"))
	}
	if !known {
		return in, fault.ErrInvalid.With("Upload-Complete: is required, ?1 or ?0; in interop version 3 Upload-Incomplete")
	}
	if n, ok := transfer.ParseIntegerField(r.Header.Values("Upload-Length")); ok { // others are ignored
		in.length = n
	}
	return in, nil
}

// interopVersion returns the version of a request, 0 for none or an unknown one, and names it in the answer.
func interopVersion(w http.ResponseWriter, r *http.Request) int {
	n, ok := transfer.ParseIntegerField(r.Header.Values("Upload-Draft-Interop-Version"))
	if !ok || n < interopIncomplete || n > interopCurrent {
		return 0
	}
	w.Header().Set("Upload-Draft-Interop-Version", strconv.FormatInt(n, 10))
	return int(n)
}

// write returns the bytes of a request at an offset.
func (in resumable) write(w http.ResponseWriter, r *http.Request, offset int64) (content.Write, error) {
	p := content.Write{Offset: offset, Length: r.ContentLength, Size: in.length, Last: in.complete, BodyLength: r.ContentLength,
		Progressive: true}
	if in.complete && in.length >= 0 && r.ContentLength >= 0 && in.length != offset+r.ContentLength {
		setCompleteness(w, in.version, false)
		return p, errInconsistent
	}
	err := describe(r, &p)
	return p, err
}

var errInconsistent = fault.ErrInvalid.With("Upload-Length: differs from the bytes of the upload, or from a length stated before").
	WithProblem(fault.Problem{Type: problemTypes + "inconsistent-upload-length", Title: "inconsistent length values for upload"})

// createUpload handles POST /reservations/{uid}/uploads: a new object and its first bytes, or all.
func (h *Handler) createUpload(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Reservation](r, "uid")
	if err != nil {
		return err
	}
	in, err := resumableFrom(w, r)
	if err != nil {
		return err
	}
	p, err := in.write(w, r, 0)
	if err != nil {
		return err
	}
	file := service.Attachment{ClientID: id.New[id.Object]().String(), Name: fileName(r), IntendedSize: p.Size}
	if file.Item, err = itemOf(r); err != nil {
		return err
	}
	if in.complete && r.ContentLength >= 0 {
		file.IntendedSize = r.ContentLength
	}
	if file.IntendedSize < 0 {
		file.IntendedSize, file.Deferred = 0, true
	}
	o, _, err := h.service.BeginUpload(r.Context(), caller(r), uid, file)
	if err != nil {
		return h.resumableAnswer(w, r, in, p, err)
	}
	p.Size = -1 // it is that of the object now
	known := h.announce(w, r, uid, o, in)
	done, err := h.Incoming(w, r).Write(uid, o.ClientID, p)
	if err != nil {
		var bad *transfer.OffsetError
		if !known || errors.As(err, &bad) || errors.Is(err, transfer.ErrDigest) { // the client can neither go on nor end it
			_ = h.service.DeleteObject(context.WithoutCancel(r.Context()), caller(r), uid, o.ClientID)
		}
		return h.resumableAnswer(w, r, in, p, err)
	}
	done.ExpiresAt = o.ExpiresAt
	return h.uploaded(w, r, uid, done.Object, in, http.StatusCreated, http.StatusCreated)
}

// putResumable handles PUT of content with Upload-Complete: the object starts over as a resumable upload.
func (h *Handler) putResumable(w http.ResponseWriter, r *http.Request) error {
	uid, clientID, err := objectParams(r)
	if err != nil {
		return err
	}
	in, err := resumableFrom(w, r)
	if err != nil {
		return err
	}
	if r.Header.Get("Content-Range") != "" {
		return fault.ErrInvalid.With("Content-Range: must not be beside Upload-Complete")
	}
	p, err := in.write(w, r, 0)
	if err != nil {
		return err
	}
	p.Restart = true
	o, err := h.service.Object(r.Context(), caller(r), uid, clientID)
	if err != nil {
		return err
	}
	h.announce(w, r, uid, o, in)
	done, err := h.Incoming(w, r).Write(uid, clientID, p)
	if err != nil {
		return h.resumableAnswer(w, r, in, p, err)
	}
	done.ExpiresAt = o.ExpiresAt
	return h.uploaded(w, r, uid, done.Object, in, http.StatusOK, http.StatusCreated)
}

// fileName returns the name of the header Content-Disposition.
func fileName(r *http.Request) string {
	_, values, err := mime.ParseMediaType(r.Header.Get("Content-Disposition"))
	if err != nil || values["filename"] == "" {
		return unnamed
	}
	return values["filename"]
}

// announce sends 104 with the place of an upload, so that the client can go on after a break. Clients of no stated version get none: their
// software may not expect it. It reports whether it was sent.
func (h *Handler) announce(w http.ResponseWriter, r *http.Request, uid id.Reservation, o transfer.Object, in resumable) bool {
	w.Header().Set("Location", h.uploadLocation(r, uid, o.ClientID, "upload"))
	h.limit(w, o, in.version)
	if in.version == 0 || !r.ProtoAtLeast(1, 1) {
		return false
	}
	w.WriteHeader(statusResumable)
	return true
}

// limit sets Upload-Limit: the size that the upload may have, and how long it lives.
func (h *Handler) limit(w http.ResponseWriter, o transfer.Object, version int) {
	if version > 0 && version <= interopAnyType {
		return
	}
	age := "max-age"
	if version > 0 && version <= interopExpires {
		age = "expires"
	}
	left := int64(h.service.LifeLeft(o) / time.Second)
	w.Header().Set("Upload-Limit", fmt.Sprintf("max-size=%d, %s=%d", o.IntendedSize, age, left))
}

// uploaded answers a request with content whose bytes are held: with the status complete when they were the last ones.
func (h *Handler) uploaded(w http.ResponseWriter, r *http.Request, uid id.Reservation, o transfer.Object, in resumable, complete,
	partial int) error {
	setCompleteness(w, in.version, in.complete || o.Complete()) // as the next HEAD says
	w.Header().Set("Upload-Offset", strconv.FormatInt(o.Held, 10))
	if in.complete {
		setDigest(w, o)
		return httpapi.JSON(w, complete, objectFrom(o))
	}
	if partial == http.StatusCreated {
		w.Header().Set("Location", h.uploadLocation(r, uid, o.ClientID, "upload"))
	}
	w.WriteHeader(partial)
	return nil
}

func setCompleteness(w http.ResponseWriter, version int, complete bool) {
	name, value := "Upload-Complete", "?0"
	if version == interopIncomplete {
		name, complete = "Upload-Incomplete", !complete
	}
	if complete {
		value = "?1"
	}
	w.Header().Set(name, value)
}

// setDigest sets Repr-Digest of a complete object.
func setDigest(w http.ResponseWriter, o transfer.Object) {
	if o.Complete() && o.SHA256 != nil {
		w.Header().Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(o.SHA256)+":")
	}
}

// limitOf sets Upload-Limit of a refused creation: the size that the reservation takes.
func (h *Handler) limitOf(w http.ResponseWriter, r *http.Request) {
	uid, err := uidParam[id.Reservation](r, "uid")
	if err != nil {
		return
	}
	if found, _, err := h.service.Reservation(r.Context(), caller(r), uid); err == nil {
		w.Header().Set("Upload-Limit", fmt.Sprintf("max-size=%d", found.MaxFileSizeMB*transfer.MB))
	}
}

// headUpload handles HEAD and GET of an upload. It ends a request that still writes: its client asks because it has lost that.
func (h *Handler) headUpload(w http.ResponseWriter, r *http.Request) error {
	uid, clientID, err := objectParams(r)
	if err != nil {
		return err
	}
	version := interopVersion(w, r)
	o, err := h.service.SettledObject(r.Context(), caller(r), uid, clientID)
	if err != nil {
		return err
	}
	setCompleteness(w, version, o.Complete())
	w.Header().Set("Upload-Offset", strconv.FormatInt(o.Held, 10))
	if !o.Deferred {
		w.Header().Set("Upload-Length", strconv.FormatInt(o.IntendedSize, 10))
	}
	h.limit(w, o, version)
	setDigest(w, o)
	return httpapi.NoContent(w)
}

// patchUpload handles PATCH of an upload: bytes at an offset.
func (h *Handler) patchUpload(w http.ResponseWriter, r *http.Request) error {
	uid, clientID, err := objectParams(r)
	if err != nil {
		return err
	}
	in, err := resumableFrom(w, r)
	if err != nil {
		return err
	}
	if (in.version == 0 || in.version > interopAnyType) && contentType(r) != typePartial {
		w.Header().Set("Accept-Patch", typePartial)
		return fault.ErrUnsupported.With("Content-Type: must be " + typePartial)
	}
	offset, ok := transfer.ParseIntegerField(r.Header.Values("Upload-Offset"))
	if !ok {
		return fault.ErrInvalid.With("Upload-Offset: is required, a number of bytes")
	}
	p, err := in.write(w, r, offset)
	if err != nil {
		return err
	}
	st, err := h.Incoming(w, r).Write(uid, clientID, p)
	if err != nil {
		return h.resumableAnswer(w, r, in, p, err)
	}
	if st.Complete() && r.ContentLength == 0 && !in.complete {
		return fault.ErrInvalid.With("Upload-Complete: the upload is complete already").
			WithProblem(fault.Problem{Type: problemTypes + "completed-upload", Title: "upload is already completed"})
	}
	partial := http.StatusNoContent
	if in.version > 0 && in.version <= interopAnyType {
		partial = http.StatusCreated
	}
	return h.uploaded(w, r, uid, st.Object, in, http.StatusOK, partial)
}

// resumableAnswer returns the error of an upload with the status and the problem type of the draft. An upload that is to have more bytes
// than its length is invalid from then on: it is deleted, unless it is complete.
func (h *Handler) resumableAnswer(w http.ResponseWriter, r *http.Request, in resumable, p content.Write, err error) error {
	var bad *transfer.OffsetError
	switch {
	case errors.Is(err, transfer.ErrFileTooLarge):
		h.limitOf(w, r)
		return fault.ErrTooLarge.With("Upload-Length: is more than maxFileSizeMb of the reservation").Because(err)
	case !errors.As(err, &bad):
		return err
	case bad.Problem == transfer.SizeMismatch, bad.Problem == transfer.SizeExceeded:
		complete := !bad.Deferred && p.Offset >= bad.Size && bad.Held == bad.Size // before the request
		exceeds := bad.Problem == transfer.SizeExceeded && (p.Length < 0 || !bad.Deferred) || !bad.Deferred && p.Offset+p.Length > bad.Size
		if uid, clientID, failed := objectParams(r); failed == nil && exceeds && !complete {
			_ = h.service.DeleteObject(context.WithoutCancel(r.Context()), caller(r), uid, clientID)
		}
		setCompleteness(w, in.version, complete)
		if bad.Problem == transfer.SizeMismatch || !bad.Deferred {
			return errInconsistent.Because(err)
		}
		if in.version == 0 || in.version > interopAnyType {
			w.Header().Set("Upload-Limit", fmt.Sprintf("max-size=%d", bad.Size))
		}
		return fault.ErrTooLarge.With(fmt.Sprintf("the upload is at most %d bytes", bad.Size))
	}
	setCompleteness(w, in.version, bad.Held == bad.Size && !bad.Deferred)
	w.Header().Set("Upload-Offset", strconv.FormatInt(bad.Held, 10))
	return fault.ErrOffset.With(fmt.Sprintf("Upload-Offset: must be %d, the number of bytes held", bad.Held)).WithProblem(fault.Problem{
		Type: problemTypes + "mismatching-upload-offset", Title: "offset from request does not match offset of resource",
		Members: map[string]int64{"expected-offset": bad.Held, "provided-offset": p.Offset},
	})
}
