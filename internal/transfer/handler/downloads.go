// Downloads of a file over HTTP: ranges, conditions, ETag, and the headers of a download.

package handler

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/archive"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// downloadObject handles GET and HEAD /transfers/{uid}/objects/{objectUid}/content.
func (h *Handler) downloadObject(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Transfer](r, "uid")
	if err != nil {
		return presented(r, err)
	}
	object, err := uidParam[id.Object](r, "objectUid")
	if err != nil {
		return presented(r, err)
	}
	d, err := h.service.OpenDownload(r.Context(), h.downloadAuth(r), uid, object)
	if err != nil {
		return err
	}
	return h.serveObject(w, r, d)
}

// downloadLinkedObject handles GET and HEAD /public/transfers/{key}/objects/{objectUid}/content.
func (h *Handler) downloadLinkedObject(w http.ResponseWriter, r *http.Request) error {
	object, err := uidParam[id.Object](r, "objectUid")
	if err != nil {
		return presented(r, err)
	}
	d, err := h.service.OpenLinkedDownload(r.Context(), h.downloadAuth(r), httpapi.Param(r, "key"), object)
	if err != nil {
		return err
	}
	return h.serveObject(w, r, d)
}

// getThumbnail handles GET …/objects/{objectUid}/thumbnail of a transfer that the caller sent or received.
func (h *Handler) getThumbnail(w http.ResponseWriter, r *http.Request) error {
	t, err := uidParam[id.Transfer](r, "uid")
	if err != nil {
		return err
	}
	return h.serveThumbnail(w, r, func(o id.Object) (service.Download, error) {
		return h.service.OpenDownload(r.Context(), service.DownloadAuth{Caller: caller(r)}, t, o)
	})
}

// getLinkedThumbnail is getThumbnail for the holder of a delivery's link.
func (h *Handler) getLinkedThumbnail(w http.ResponseWriter, r *http.Request) error {
	return h.serveThumbnail(w, r, func(o id.Object) (service.Download, error) {
		return h.service.OpenLinkedDownload(r.Context(), service.DownloadAuth{Caller: caller(r)}, httpapi.Param(r, "key"), o)
	})
}

func (h *Handler) serveThumbnail(w http.ResponseWriter, r *http.Request, open func(id.Object) (service.Download, error)) error {
	object, err := uidParam[id.Object](r, "objectUid")
	if err != nil {
		return err
	}
	d, err := open(object)
	if err != nil {
		return err
	}
	defer d.Content.Close()
	image, err := h.service.Thumbnail(r.Context(), d)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", typeJPEG)
	w.Header().Set("Cache-Control", "private, no-store")
	return httpapi.Document(w, r, image)
}

// presented returns err for a request with a token or a one-time key.
// Errors: token.ErrMissing when it has neither.
func presented(r *http.Request, err error) error {
	if caller(r).Anonymous() && !r.URL.Query().Has("otk") {
		return token.ErrMissing
	}
	return err
}

func (h *Handler) serveObject(w http.ResponseWriter, r *http.Request, d service.Download) error {
	return h.serve(w, r, d, representation{
		name: archive.FileName(d.Name), mimeType: d.MIMEType, etag: `"` + hex.EncodeToString(d.SHA256) + `"`, size: d.Held,
	})
}

// A Range in another unit than bytes is ignored (RFC 9110, section 14.2): the answer is the whole content. So is one with
// more than maxRanges parts, because each part is a request to the object store.
const (
	bytesUnit = "bytes="
	maxRanges = 100
)

// representation holds what the headers of a download need.
type representation struct {
	name, mimeType, etag string
	size                 int64
}

// serve sends a download, or the requested range of it, and closes it.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, d service.Download, c representation) error {
	defer d.Content.Close()
	if err := httpapi.IfMatch(r, c.etag); err != nil {
		return err
	}
	if notModified(r, c.etag) {
		w.Header().Set("ETag", c.etag)
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	r.Header.Del("If-None-Match") // handled above: http.ServeContent accepts malformed lists
	if spec := r.Header.Get("Range"); !strings.HasPrefix(spec, bytesUnit) || strings.Count(spec, ",") >= maxRanges {
		r.Header.Del("Range")
	}
	extent, ok := extentOf(r, c.etag, c.size)
	if !ok {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", c.size))
		return transfer.ErrRange.With(fmt.Sprintf("Range: must lie within the %d bytes of the content", c.size))
	}
	if c.size == 0 {
		r.Header.Del("Range") // empty content has no range
	}
	body := &countedWriter{ResponseWriter: w}
	if r.Method == http.MethodGet {
		if err := h.service.BeginDownload(r.Context(), d, extent); err != nil {
			return err
		}
		defer func() { h.service.EndDownload(r.Context(), d, extent, body.bytes) }()
		if value := d.Cookie(); value != "" {
			http.SetCookie(w, h.newDownloadCookie(value))
		}
	}
	if redirected, err := h.redirect(w, r, d, c, extent); redirected || err != nil {
		return err
	}
	ctx, cancel := h.service.Watch(r.Context(), d)
	defer cancel()
	defer httpapi.CutWhenDone(ctx, w)()

	header := w.Header()
	header.Set("Content-Type", c.mimeType)
	header.Set("ETag", c.etag)
	header.Set("Content-Disposition", httpapi.AttachmentName(c.name))
	header.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	// Without a modification time, http.ServeContent compares If-Range with the ETag only.
	http.ServeContent(body, r, "", time.Time{}, d.Content)
	if read, ok := d.Content.(interface{ Trouble() error }); ok { // http.ServeContent does not tell
		return read.Trouble()
	}
	return nil
}

// redirect sends the client to the storage, if the storage may serve the download. Requests of scripts are not redirected, because
// the Content-Security-Policy of pages allows them this origin only.
func (h *Handler) redirect(w http.ResponseWriter, r *http.Request, d service.Download, c representation, e service.Extent) (bool, error) {
	if r.Method != http.MethodGet || e.Bytes != c.size || r.Header.Get("Range") != "" || r.Header.Get("Sec-Fetch-Mode") != "" {
		return false, nil
	}
	to, err := h.service.DirectLink(r.Context(), d, httpapi.AttachmentName(c.name))
	if err != nil || to == "" {
		return false, err
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusFound)
	return true, nil
}

// notModified reports whether If-None-Match contains etag or *, so that the answer is 304.
func notModified(r *http.Request, etag string) bool {
	for one := range strings.SplitSeq(strings.Join(r.Header.Values("If-None-Match"), ","), ",") {
		if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == etag {
			return true
		}
	}
	return false
}

// extentOf returns what the answer will send. ok is false when no range overlaps the content of size bytes (RFC 9110, section
// 14.2). Empty content ignores Range, and so does an If-Range with another ETag.
func extentOf(r *http.Request, etag string, size int64) (e service.Extent, ok bool) {
	whole := service.Extent{Bytes: size, Size: size}
	header := r.Header.Get("Range")
	if header == "" {
		return whole, true
	}
	if condition := r.Header.Get("If-Range"); condition != "" && condition != etag {
		return whole, true
	}
	ranges := strings.TrimPrefix(header, bytesUnit)
	first, sum, parts := size, int64(0), 0
	for part := range strings.SplitSeq(ranges, ",") {
		part = strings.Trim(part, " \t")
		if part == "" {
			continue
		}
		from, length, valid := partOf(part, size)
		if !valid {
			return whole, false
		}
		if from < size {
			first, sum = min(first, from), sum+length
			parts++
		}
	}
	if sum > size { // http.ServeContent then sends the whole content
		return whole, true
	}
	return service.Extent{First: first, Bytes: sum, Size: size, Split: parts > 1}, parts > 0 || size == 0
}

// partOf parses one range of a Range header: first-last, first- or -length. It returns the offset and the length of the
// part within size bytes. from is size when the range does not overlap the content.
func partOf(part string, size int64) (from, length int64, valid bool) {
	start, end, dash := strings.Cut(part, "-")
	if !dash {
		return 0, 0, false
	}
	start, end = strings.Trim(start, " \t"), strings.Trim(end, " \t")
	if start == "" {
		length, valid = transfer.ParsePosition(end)
		length = min(length, size)
		return size - length, length, valid
	}
	from, valid = transfer.ParsePosition(start)
	last := size - 1
	if valid && end != "" {
		last, valid = transfer.ParsePosition(end)
		valid = valid && last >= from
	}
	from = min(from, size)
	return from, min(last, size-1) + 1 - from, valid
}
