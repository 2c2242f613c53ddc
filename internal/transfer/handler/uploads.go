// PUT and HEAD of the content of an object, with Content-Range and digests.

package handler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
)

// headContent handles HEAD /reservations/{uid}/objects/{clientId}/content. Content-Length is the number of bytes held,
// which is the offset where an upload continues.
func (h *Handler) headContent(w http.ResponseWriter, r *http.Request) error {
	o, err := h.object(r)
	if err != nil {
		return err
	}
	return AnswerHeld(w, o)
}

// AnswerHeld answers a HEAD request with the number of bytes held as Content-Length.
func AnswerHeld(w http.ResponseWriter, o transfer.Object) error {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(o.Held, 10))
	w.WriteHeader(http.StatusOK)
	return nil
}

// either chooses the dialect of PUT of content: a resumable upload of the IETF, or a plain one.
func either(resumable, plain httpapi.HandlerFunc) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if isResumable(r) {
			return resumable(w, r)
		}
		return plain(w, r)
	}
}

// putContent handles PUT /reservations/{uid}/objects/{clientId}/content.
func (h *Handler) putContent(w http.ResponseWriter, r *http.Request) error {
	uid, clientID, err := objectParams(r)
	if err != nil {
		return err
	}
	in, err := writeFrom(r)
	if err != nil {
		return err
	}
	st, err := h.Incoming(w, r).Write(uid, clientID, in)
	if err != nil {
		return RangeAnswer(w, err, in.Offset == malformedRange)
	}
	return httpapi.JSON(w, http.StatusOK, objectFrom(st.Object))
}

// Incoming is a request whose body brings bytes, in any dialect.
type Incoming struct {
	h    *Handler
	r    *http.Request
	Body content.Body
	body *streamedBody
}

// Incoming returns a request whose body the caller has not read. The caller calls Write, or End.
func (h *Handler) Incoming(w http.ResponseWriter, r *http.Request) *Incoming {
	body := &streamedBody{r: r, w: w, bytes: r.Body}
	return &Incoming{h: h, r: r, Body: body, body: body}
}

// Write stores bytes of an object: those of in.Body, or without it those of the body.
// Errors: those of service.Upload.
func (q *Incoming) Write(uid id.Reservation, clientID string, in content.Write) (content.State, error) {
	defer q.End()
	if in.Body == nil {
		in.Body = q.Body
	}
	ctx, forget := q.h.service.WatchUpload(q.r.Context(), caller(q.r))
	defer forget()
	st, err := q.h.service.Upload(ctx, caller(q.r), uid, clientID, in)
	if err != nil && errors.Is(context.Cause(ctx), token.ErrEnded) {
		err = token.ErrEnded
	}
	if errors.Is(err, token.ErrEnded) { // a suspension is the cause of transfer.ErrNotFound here
		q.body.Interrupt()
		_, _ = io.Copy(io.Discard, q.r.Body) // fails at once; the pipeline does not wait for the rest of a body that failed
	}
	return st, err
}

// End says in the answer whether the connection can serve another request: what is left of the body would be read as the next one.
func (q *Incoming) End() {
	if unread := q.body.end(); unread && q.r.ProtoMajor == 1 {
		q.body.w.Header().Set("Connection", "close")
	}
}

// uploadLocation returns the URL of an object's upload by a protocol, which is the last segment of its path.
func (h *Handler) uploadLocation(r *http.Request, uid id.Reservation, clientID, protocol string) string {
	return h.location(r, "/reservations/"+uid.String()+"/objects/"+url.PathEscape(clientID)+"/"+protocol)
}

// RangeAnswer returns the error of an upload in the words of Content-Range, and sets the header of the answer. malformed says that the
// header of the request could not be parsed.
func RangeAnswer(w http.ResponseWriter, err error, malformed bool) error {
	var bad *transfer.OffsetError
	if !errors.As(err, &bad) {
		return err
	}
	w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", bad.Held))
	reason := fmt.Sprintf("Content-Range: must go on at byte %d", bad.Held)
	switch {
	case malformed:
		reason = "Content-Range: must be bytes first-last/total"
	case bad.Problem == transfer.OffsetLost:
		reason = "Content-Range: what was sent before is not held any more; send the object again from byte 0"
	case bad.Problem == transfer.SizeMismatch, bad.Problem == transfer.SizeExceeded:
		reason = fmt.Sprintf("Content-Range: the total must be the object's intendedSize, %d", bad.Size)
	}
	return transfer.ErrRange.With(reason)
}

// malformedRange is the offset of a Content-Range that cannot be parsed. No object has it: the answer tells how many bytes are held.
const malformedRange = -1

// writeFrom returns the headers that describe the body of an upload.
func writeFrom(r *http.Request) (content.Write, error) {
	in := content.WholeObject(r.ContentLength, nil)
	if headers := r.Header.Values("Content-Range"); len(headers) > 0 {
		c, ok := transfer.ParseContentRange(headers[0])
		if ok && len(headers) == 1 {
			in = content.RangeOfObject(c, r.ContentLength, nil)
		} else {
			in = content.Write{Offset: malformedRange, Length: -1, Size: -1, BodyLength: r.ContentLength}
		}
	}
	err := describe(r, &in)
	return in, err
}

// describe adds the digests of a request.
// Errors: fault.ErrUnsupported, fault.ErrInvalid.
func describe(r *http.Request, in *content.Write) error {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return fault.ErrUnsupported.With("Content-Encoding: must be identity; send the bytes uncompressed")
	}
	var problems fault.Problems
	in.ContentDigest = digest(&problems, r, "Content-Digest")
	in.ReprDigest = digest(&problems, r, "Repr-Digest")
	return problems.Err()
}

// digest returns the SHA-256 of a digest header (RFC 9530), nil when absent.
func digest(problems *fault.Problems, r *http.Request, header string) []byte {
	values := r.Header.Values(header)
	if len(values) == 0 {
		return nil
	}
	sum, ok := transfer.ParseDigest(strings.Join(values, ","))
	if !ok {
		problems.Add(header, "must be of the form sha-256=:BASE64:, with the base64 of the 32 bytes")
	}
	return sum
}

// streamedBody is a request body whose blocked Read can be interrupted.
type streamedBody struct {
	r     *http.Request
	w     http.ResponseWriter
	bytes io.Reader // the body as the server gave it

	read  int64 // bytes; by the one goroutine that reads
	eof   bool
	mu    sync.Mutex
	cut   bool // a Read was interrupted: nothing can be read from the connection any more
	ended bool
}

// Read implements io.Reader.
func (b *streamedBody) Read(p []byte) (int, error) {
	n, err := b.bytes.Read(p)
	b.read += int64(n)
	b.eof = b.eof || errors.Is(err, io.EOF)
	return n, err
}

// Interrupt makes a blocked Read fail.
func (b *streamedBody) Interrupt() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	b.cut = true
	_ = http.NewResponseController(b.w).SetReadDeadline(time.Unix(1, 0)) // a writer without deadlines has no blocked Read
}

// end makes Interrupt do nothing from now on. It reports whether the connection can serve no further request: a Read was
// interrupted, or bytes of the body were not read.
func (b *streamedBody) end() (unread bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	complete := b.eof || b.r.ContentLength >= 0 && b.read >= b.r.ContentLength
	return b.cut || !complete
}
