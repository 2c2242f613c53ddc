// One-time keys of downloads over HTTP, and the cookie that binds one to a browser.

package handler

import (
	"io"
	"net/http"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/seal"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/transfer/service"
)

type oneTimeKeyRequest struct {
	TransferUID *string `json:"transferUid"`
	ObjectUID   *string `json:"objectUid"`
}

// object returns the object that the key is for, zero for the archive. A malformed uid is added to p.
func (in oneTimeKeyRequest) object(problems *fault.Problems) id.Object {
	if in.ObjectUID == nil {
		return id.Object{}
	}
	uid, err := id.Parse[id.Object](*in.ObjectUID)
	if err != nil {
		problems.Add("objectUid", err.Error())
	}
	return uid
}

type oneTimeKeyResponse struct {
	Key       string       `json:"key"`
	ExpiresAt httpapi.Time `json:"expiresAt"`
}

func oneTimeKeyFrom(k service.OneTimeKey) oneTimeKeyResponse {
	return oneTimeKeyResponse{Key: k.Key, ExpiresAt: httpapi.Time(k.ExpiresAt)}
}

// createOneTimeKey handles POST /auth/otk.
func (h *Handler) createOneTimeKey(w http.ResponseWriter, r *http.Request) error {
	c := caller(r)
	if err := h.buckets.Take(w, r.Context(), oneTimeKeyBucket, c.Person.String(), httpapi.Transfer); err != nil {
		return err
	}
	var in oneTimeKeyRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	var problems fault.Problems
	var uid id.Transfer
	if in.TransferUID == nil {
		problems.Add("transferUid", "is required")
	} else {
		var err error
		if uid, err = id.Parse[id.Transfer](*in.TransferUID); err != nil {
			problems.Add("transferUid", err.Error())
		}
	}
	object := in.object(&problems)
	if err := problems.Err(); err != nil {
		return err
	}
	k, err := h.service.NewOneTimeKey(r.Context(), c, uid, object)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, oneTimeKeyFrom(k))
}

// createLinkedOneTimeKey handles POST /public/transfers/{key}/otk.
func (h *Handler) createLinkedOneTimeKey(w http.ResponseWriter, r *http.Request) error {
	c := caller(r)
	if err := h.buckets.Take(w, r.Context(), oneTimeKeyBucket, c.Delivery.String(), httpapi.Transfer); err != nil {
		return err
	}
	var in oneTimeKeyRequest
	if err := strictjson.DecodeOptional(r, &in); err != nil {
		return err
	}
	var problems fault.Problems
	object := in.object(&problems)
	if err := problems.Err(); err != nil {
		return err
	}
	k, err := h.service.NewLinkedOneTimeKey(r.Context(), c, httpapi.Param(r, "key"), object)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, oneTimeKeyFrom(k))
}

// createRequestOneTimeKey handles POST /requests/{uid}/otk.
func (h *Handler) createRequestOneTimeKey(w http.ResponseWriter, r *http.Request) error {
	c := caller(r)
	if err := h.buckets.Take(w, r.Context(), oneTimeKeyBucket, c.Person.String(), httpapi.Transfer); err != nil {
		return err
	}
	uid, err := uidParam[id.Request](r, "uid")
	if err != nil {
		return err
	}
	k, err := h.service.NewRequestOneTimeKey(r.Context(), c, uid)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, oneTimeKeyFrom(k))
}

// downloadCookie is the name of the cookie that binds a download with a one-time key to its browser (contract 4.17).
const downloadCookie = "download"

// newDownloadCookie returns the cookie of a browser. All its downloads share the value, so that parallel ones can each continue.
// SameSite=Lax lets a page of another site open a download.
func (h *Handler) newDownloadCookie(value string) *http.Cookie {
	c := httpapi.HostCookie(downloadCookie, value, h.secure, http.SameSiteLaxMode)
	c.MaxAge = int(h.resume / time.Second)
	return c
}

// downloadAuth returns what authorizes a download request: its token, its one-time key, and the browser's cookie or a new one.
func (h *Handler) downloadAuth(r *http.Request) service.DownloadAuth {
	auth := service.DownloadAuth{Caller: caller(r), OneTimeKey: r.URL.Query().Get("otk"), KeepsCookies: len(r.Header["Cookie"]) > 0,
		Preview: r.URL.Query().Get("preview") == "true", Anyway: r.URL.Query().Get("anyway") == "true"}
	if c, err := r.Cookie(httpapi.HostCookieName(downloadCookie, h.secure)); err == nil && seal.IsKey(c.Value) {
		auth.Cookie = c.Value
	} else if auth.OneTimeKey != "" {
		auth.Cookie = seal.NewKey()
	}
	return auth
}

// countedWriter counts the bytes of an answer's body. ReadFrom keeps sendfile.
type countedWriter struct {
	http.ResponseWriter
	bytes int64
}

// Write implements http.ResponseWriter.
func (w *countedWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// sender sends bytes of the files that it consists of, each by itself.
type sender interface {
	SendTo(w io.Writer, n int64) (int64, error)
}

// ReadFrom implements io.ReaderFrom.
func (w *countedWriter) ReadFrom(src io.Reader) (int64, error) {
	if l, ok := src.(*io.LimitedReader); ok {
		if segments, ok := l.R.(sender); ok {
			n, err := segments.SendTo(w.ResponseWriter, l.N)
			l.N -= n
			w.bytes += n
			return n, err
		}
	}
	n, err := io.Copy(w.ResponseWriter, src)
	w.bytes += n
	return n, err
}
