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
	d, err := h.service.OpenDownload(r.Context(), downloadAuth(r), uid, object)
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
	d, err := h.service.OpenLinkedDownload(r.Context(), downloadAuth(r), httpapi.Param(r, "key"), object)
	if err != nil {
		return err
	}
	return h.serveObject(w, r, d)
}

// way is what the request presents for a download: its token or, without one, its one-time key.
func downloadAuth(r *http.Request) service.DownloadAuth {
	return service.DownloadAuth{Caller: caller(r), OneTimeKey: r.URL.Query().Get("otk")}
}

// presented is err for a request that presents anything at all.
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

// maxRanges is how many parts one request may ask for: each is a request to a bucket. Who asks for more gets the whole (RFC 9110, 14.2).
const maxRanges = 100

// representation is how a download presents itself.
type representation struct {
	name, mimeType, etag string
	size                 int64
}

// serve sends a download, or the part of it that is asked for, and closes it.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, d service.Download, c representation) error {
	defer d.Content.Close()
	if err := httpapi.IfMatch(r, c.etag); err != nil {
		return err
	}
	if hasAlready(r, c.etag) {
		w.Header().Set("ETag", c.etag)
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	r.Header.Del("If-None-Match") // decided here: http.ServeContent reads what is half a list otherwise
	if strings.Count(r.Header.Get("Range"), ",") >= maxRanges {
		r.Header.Del("Range")
	}
	first, ok := firstByte(r, c.etag, c.size)
	if !ok {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", c.size))
		return transfer.ErrRange.With(fmt.Sprintf("Range: must lie within the %d bytes there are", c.size))
	}
	if c.size == 0 {
		r.Header.Del("Range") // of nothing there is no part
	}
	if r.Method == http.MethodGet {
		if err := h.service.Begin(r.Context(), d, first); err != nil {
			return err
		}
	}
	ctx, cancel := h.service.Watch(r.Context(), d)
	defer cancel()
	defer httpapi.CutWhenDone(ctx, w)()

	header := w.Header()
	header.Set("Content-Type", c.mimeType)
	header.Set("ETag", c.etag)
	header.Set("Content-Disposition", attachment(c.name))
	header.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	// Without a time, If-Range takes the ETag only, which is exact.
	http.ServeContent(w, r, "", time.Time{}, d.Content)
	return nil
}

// hasAlready reports whether the request's If-None-Match has it answered with 304.
func hasAlready(r *http.Request, etag string) bool {
	for one := range strings.SplitSeq(strings.Join(r.Header.Values("If-None-Match"), ","), ",") {
		if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == etag {
			return true
		}
	}
	return false
}

// firstByte returns where in a content of size bytes the request wants to begin. ok is false when it names no part of it
// (RFC 9110, 14.2); of a content without bytes any Range is as good as none. A Range whose If-Range names another version does not count.
func firstByte(r *http.Request, etag string, size int64) (first int64, ok bool) {
	header := r.Header.Get("Range")
	if header == "" {
		return 0, true
	}
	if condition := r.Header.Get("If-Range"); condition != "" && condition != etag {
		return 0, true
	}
	ranges, isBytes := strings.CutPrefix(header, "bytes=")
	if !isBytes {
		return 0, false
	}
	first, sum, overlaps := size, int64(0), false
	for part := range strings.SplitSeq(ranges, ",") {
		part = strings.Trim(part, " \t")
		if part == "" {
			continue
		}
		from, length, valid := partOf(part, size)
		if !valid {
			return 0, false
		}
		if from < size {
			first, overlaps = min(first, from), true
			sum += length
		}
	}
	if sum > size { // not worth the pieces: http.ServeContent sends the whole
		first = 0
	}
	return first, overlaps || size == 0
}

// partOf reads one range of a Range header: first-last, first- or -length. It is the part of size bytes from from on, which is size
// where there is none.
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

// attachment makes a Content-Disposition that saves under name: in ASCII for old clients, and in full (RFC 6266, RFC 8187).
func attachment(name string) string {
	var plain, full strings.Builder
	for _, c := range name {
		if c < 0x20 || c >= 0x7f || strings.ContainsRune(`"\%;`, c) {
			c = '_'
		}
		plain.WriteRune(c)
	}
	const hexDigits = "0123456789ABCDEF"
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$&+-.^_`|~", c) >= 0 {
			full.WriteByte(c)
			continue
		}
		full.WriteByte('%')
		full.WriteByte(hexDigits[c>>4])
		full.WriteByte(hexDigits[c&15])
	}
	return `attachment; filename="` + plain.String() + `"; filename*=UTF-8''` + full.String()
}
