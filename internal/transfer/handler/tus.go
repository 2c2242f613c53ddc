// Uploads with tus 1.0 over HTTP.

package handler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// The protocol tus 1.0 (https://tus.io) over the same objects as PUT of content.
const (
	tusVersion    = "1.0.0"
	tusExtensions = "creation,creation-with-upload,creation-defer-length,checksum,termination,expiration,concatenation"
	tusAlgorithms = "sha256,sha1"
	typeTus       = "application/offset+octet-stream"
)

// unnamed is the name of a file whose client tells none.
const unnamed = "unnamed"

// tusRoutes holds the uploads of tus. The path of an object is that of an upload.
func (h *Handler) tusRoutes(uploader token.Auth) []httpapi.Route {
	const creation, upload = "/reservations/{uid}/tus", "/reservations/{uid}/objects/{clientId}/tus"
	every := map[string]string{"Tus-Resumable": tusVersion}
	route := func(method, pattern string, handler httpapi.HandlerFunc) httpapi.Route {
		r := httpapi.Route{Method: method, Pattern: pattern, Auth: uploader, Bucket: h.upload, Headers: every, Handler: speaksTus(handler)}
		if method == http.MethodPost || method == http.MethodPatch {
			r.Body = httpapi.StreamBody
		}
		r.Grows = method == http.MethodPost
		return r
	}
	options := func(pattern string) httpapi.Route {
		return httpapi.Route{Method: http.MethodOptions, Pattern: pattern, Auth: token.None, Bucket: httpapi.NoBucket, Headers: every,
			Handler: tusOptions}
	}
	return []httpapi.Route{
		options(creation), route(http.MethodPost, creation, h.createTusUpload),
		options(upload), route(http.MethodHead, upload, h.headTusUpload), route(http.MethodPatch, upload, h.patchTusUpload),
		route(http.MethodDelete, upload, h.deleteObject), route(http.MethodPost, upload, h.postTusUpload),
	}
}

// speaksTus refuses requests of another version of tus, or of none.
func speaksTus(next httpapi.HandlerFunc) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Header.Get("Tus-Resumable") != tusVersion {
			w.Header().Set("Tus-Version", tusVersion)
			return fault.ErrPrecondition.With("Tus-Resumable: must be " + tusVersion)
		}
		return next(w, r)
	}
}

// tusOptions handles OPTIONS: what of tus there is.
func tusOptions(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Tus-Version", tusVersion)
	w.Header().Set("Tus-Extension", tusExtensions)
	w.Header().Set("Tus-Checksum-Algorithm", tusAlgorithms)
	w.WriteHeader(http.StatusOK) // tus allows 204, too, which a conformance suite of others does not
	return nil
}

// postTusUpload handles POST to an upload: another method, for clients behind proxies that know only GET and POST.
func (h *Handler) postTusUpload(w http.ResponseWriter, r *http.Request) error {
	switch strings.ToUpper(r.Header.Get("X-HTTP-Method-Override")) {
	case http.MethodHead:
		return h.headTusUpload(w, r)
	case http.MethodPatch:
		return h.patchTusUpload(w, r)
	case http.MethodDelete:
		return h.deleteObject(w, r)
	}
	return fault.ErrInvalid.With("X-HTTP-Method-Override: must be HEAD, PATCH or DELETE; a new upload is POST …/reservations/{uid}/tus")
}

// createTusUpload handles POST /reservations/{uid}/tus: a new object, and its first bytes if the request has any.
func (h *Handler) createTusUpload(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Reservation](r, "uid")
	if err != nil {
		return err
	}
	file, partials, named, err := tusFile(r, uid)
	if err != nil {
		return err
	}
	if file.Item, err = itemOf(r); err != nil {
		return err
	}
	if partials != nil {
		return h.concatenateTus(w, r, uid, file, named, partials)
	}
	in, err := tusWrite(r, 0)
	if err != nil {
		return err
	}
	o, created, err := h.service.BeginUpload(r.Context(), caller(r), uid, file)
	if err != nil {
		return tusAnswer(w, err)
	}
	if r.ContentLength != 0 {
		expires := o.ExpiresAt
		st, err := h.Incoming(w, r).Write(uid, file.ClientID, in)
		if err != nil {
			if created && !named { // the client does not know the upload and can neither go on nor end it
				_ = h.service.DeleteObject(context.WithoutCancel(r.Context()), caller(r), uid, file.ClientID)
			}
			return tusAnswer(w, err)
		}
		o = st.Object
		o.ExpiresAt = expires
	}
	w.Header().Set("Location", h.uploadLocation(r, uid, file.ClientID, "tus"))
	tusState(w, o)
	w.WriteHeader(http.StatusCreated)
	return nil
}

// concatenateTus handles the creation of a final upload: a file that is made of partial uploads.
func (h *Handler) concatenateTus(w http.ResponseWriter, r *http.Request, uid id.Reservation, file service.Attachment, named bool,
	partials []string) error {
	o, err := h.service.Concatenate(r.Context(), caller(r), uid, file, named, partials)
	if err != nil {
		return tusAnswer(w, err)
	}
	w.Header().Set("Location", h.uploadLocation(r, uid, o.ClientID, "tus"))
	tusState(w, o)
	w.WriteHeader(http.StatusCreated)
	return nil
}

// tusFile returns the file that a request to create announces. named says that the client chose its clientId. partials are the client ids
// of the partial uploads that a final upload is made of; nil: it is none.
func tusFile(r *http.Request, uid id.Reservation) (file service.Attachment, partials []string, named bool, err error) {
	var problems fault.Problems
	length, deferred := r.Header.Values("Upload-Length"), r.Header.Get("Upload-Defer-Length")
	if concat := r.Header.Values("Upload-Concat"); len(concat) > 0 {
		partials = tusPartials(&problems, r, uid, concat)
		file.Partial = partials == nil
	}
	switch {
	case partials != nil:
		if len(length) > 0 || deferred != "" {
			problems.Add("Upload-Length", "must be left out: a final upload has the sum of its partial uploads")
		}
		if r.ContentLength != 0 {
			problems.Add("body", "must be empty: a final upload has the bytes of its partial uploads")
		}
		file.Concat = r.Header.Get("Upload-Concat")
	case deferred != "" && (deferred != "1" || len(length) > 0):
		problems.Add("Upload-Defer-Length", "must be 1, without Upload-Length")
	case deferred == "1":
		file.Deferred = true
	case len(length) == 1:
		var ok bool
		if file.IntendedSize, ok = transfer.ParsePosition(length[0]); !ok {
			problems.Add("Upload-Length", "must be a number of bytes")
		}
	default:
		problems.Add("Upload-Length", "is required, or Upload-Defer-Length: 1")
	}
	described, ok := transfer.ParseUploadMetadata(strings.Join(r.Header.Values("Upload-Metadata"), ","))
	if !ok {
		problems.Add("Upload-Metadata", "must be pairs KEY BASE64, separated by commas, of up to 4096 bytes, each key once")
	}
	file.Metadata, file.Name, file.ClientID = described.Header, described.Name, described.ClientID
	if file.Name == "" {
		file.Name = unnamed
	}
	if file.ClientID == "" {
		file.ClientID = id.New[id.Object]().String()
		return file, partials, false, problems.Err()
	}
	return file, partials, true, problems.Err()
}

// tusPartials returns the client ids of the partial uploads that Upload-Concat names; nil: the upload is a partial one. A URL may be
// relative, or have the host that the client knows: what counts is the path behind the reservation.
func tusPartials(problems *fault.Problems, r *http.Request, uid id.Reservation, concat []string) []string {
	urls, ok := transfer.ParseUploadConcat(concat)
	if !ok {
		problems.Add("Upload-Concat", fmt.Sprintf("must be partial, or final; and the URLs of 1 to %d partial uploads, separated by spaces",
			transfer.MaxPartials))
		return nil
	}
	var clientIDs []string
	for i, raw := range urls {
		path := ""
		if u, err := r.URL.Parse(raw); err == nil {
			path = u.Path
		}
		_, rest, _ := strings.Cut(path, "/reservations/"+uid.String()+"/objects/")
		clientID, ours := strings.CutSuffix(rest, "/tus")
		if !ours || !transfer.ValidClientID(clientID) {
			problems.Add("Upload-Concat", fmt.Sprintf("URL %d is not that of an upload of this reservation", i+1))
		}
		clientIDs = append(clientIDs, clientID)
	}
	return clientIDs
}

// headTusUpload handles HEAD of an upload. It ends a request that still writes: its client asks because it has lost that.
func (h *Handler) headTusUpload(w http.ResponseWriter, r *http.Request) error {
	uid, clientID, err := objectParams(r)
	if err != nil {
		return err
	}
	o, err := h.service.SettledObject(r.Context(), caller(r), uid, clientID)
	if err != nil {
		return err
	}
	if o.Deferred {
		w.Header().Set("Upload-Defer-Length", "1")
	} else {
		w.Header().Set("Upload-Length", strconv.FormatInt(o.IntendedSize, 10))
	}
	if o.UploadMetadata != "" {
		w.Header().Set("Upload-Metadata", o.UploadMetadata)
	}
	tusState(w, o)
	w.WriteHeader(http.StatusOK)
	return nil
}

// patchTusUpload handles PATCH of an upload: bytes at an offset.
func (h *Handler) patchTusUpload(w http.ResponseWriter, r *http.Request) error {
	uid, clientID, err := objectParams(r)
	if err != nil {
		return err
	}
	offset, ok := transfer.ParsePosition(r.Header.Get("Upload-Offset"))
	if !ok || len(r.Header.Values("Upload-Offset")) != 1 {
		return fault.ErrInvalid.With("Upload-Offset: must be a number of bytes")
	}
	if contentType(r) != typeTus {
		return fault.ErrUnsupported.With("Content-Type: must be " + typeTus)
	}
	in, err := tusWrite(r, offset)
	if err != nil {
		return err
	}
	if length := r.Header.Get("Upload-Length"); length != "" {
		if in.Size, ok = transfer.ParsePosition(length); !ok {
			return fault.ErrInvalid.With("Upload-Length: must be a number of bytes")
		}
	}
	st, err := h.Incoming(w, r).Write(uid, clientID, in)
	if err != nil {
		return tusAnswer(w, err)
	}
	tusState(w, st.Object)
	return httpapi.NoContent(w)
}

// tusWrite returns the headers that describe the bytes of a request.
func tusWrite(r *http.Request, offset int64) (content.Write, error) {
	in := content.Write{Offset: offset, Length: r.ContentLength, Size: -1, BodyLength: r.ContentLength}
	if r.ContentLength != 0 && contentType(r) != typeTus {
		return in, fault.ErrUnsupported.With("Content-Type: must be " + typeTus)
	}
	if err := describe(r, &in); err != nil {
		return in, err
	}
	if sums := r.Header.Values("Upload-Checksum"); len(sums) > 0 {
		var ok bool
		if in.ContentDigest, ok = transfer.ParseUploadChecksum(sums[0]); !ok || len(sums) > 1 {
			return in, fault.ErrInvalid.With("Upload-Checksum: must be sha256 or sha1, and the base64 of the sum")
		}
	}
	return in, nil
}

// contentType returns the media type of a request, in lower case and without parameters.
func contentType(r *http.Request) string {
	name, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// tusState sets the headers that tell the state of an upload. A final upload has an offset once it has all bytes.
func tusState(w http.ResponseWriter, o transfer.Object) {
	if !o.Concatenated || o.Complete() {
		w.Header().Set("Upload-Offset", strconv.FormatInt(o.Held, 10))
	}
	switch {
	case o.Partial:
		w.Header().Set("Upload-Concat", "partial")
	case o.UploadConcat != "":
		w.Header().Set("Upload-Concat", o.UploadConcat)
	}
	if !o.ExpiresAt.IsZero() {
		w.Header().Set("Upload-Expires", o.ExpiresAt.UTC().Format(http.TimeFormat))
	}
}

// tusAnswer returns the error of an upload with the status that tus has for it.
func tusAnswer(w http.ResponseWriter, err error) error {
	var bad *transfer.OffsetError
	switch {
	case errors.Is(err, transfer.ErrDigest):
		return fault.ErrChecksum.Because(err)
	case errors.Is(err, transfer.ErrFileTooLarge):
		return fault.ErrTooLarge.With("Upload-Length: is more than maxFileSizeMb of the reservation").Because(err)
	case !errors.As(err, &bad):
		return err
	case bad.Problem == transfer.SizeMismatch:
		return fault.ErrInvalid.With("Upload-Length: must be the size of the object, and at least the bytes held")
	case bad.Problem == transfer.SizeExceeded:
		return fault.ErrTooLarge.With(fmt.Sprintf("the upload ends at byte %d", bad.Size))
	}
	w.Header().Set("Upload-Offset", strconv.FormatInt(bad.Held, 10))
	return fault.ErrOffset.With(fmt.Sprintf("Upload-Offset: must be %d, the number of bytes held", bad.Held))
}
