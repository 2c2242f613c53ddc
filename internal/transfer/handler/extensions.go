package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/strictjson"
)

type expiredTransferResponse struct {
	Type        string         `json:"type"`
	Sender      senderResponse `json:"sender"`
	CreatedAt   httpapi.Time   `json:"createdAt"`
	ExpiresAt   httpapi.Time   `json:"expiresAt"`
	ObjectCount *int32         `json:"objectCount,omitempty"`
	TotalBytes  *int64         `json:"totalBytes,omitempty"`
	Asked       bool           `json:"asked"`
}

// getExpiredTransfer handles GET /public/transfers/{key}/extension.
func (h *Handler) getExpiredTransfer(w http.ResponseWriter, r *http.Request) error {
	t, err := h.service.ExpiredTransfer(r.Context(), caller(r), httpapi.Param(r, "key"))
	if err != nil {
		return err
	}
	b := expiredTransferResponse{
		Type: string(t.Kind), Sender: senderFrom(t.Sender), CreatedAt: httpapi.Time(t.CreatedAt), ExpiresAt: httpapi.Time(t.ExpiresAt),
		Asked: t.Asked,
	}
	if !t.Hidden {
		b.ObjectCount, b.TotalBytes = &t.ObjectCount, &t.TotalBytes
	}
	return httpapi.JSON(w, http.StatusOK, b)
}

// askExtension handles POST /public/transfers/{key}/extension.
func (h *Handler) askExtension(w http.ResponseWriter, r *http.Request) error {
	key := httpapi.Param(r, "key")
	t, err := h.service.ExpiredTransfer(r.Context(), caller(r), key)
	if err != nil {
		return err
	}
	if err := h.buckets.Take(w, r.Context(), extensionBucket, t.Delivery.String(), httpapi.Transfer); err != nil {
		return err
	}
	var in struct {
		Message string `json:"message"`
	}
	if err := strictjson.DecodeOptional(r, &in); err != nil {
		return err
	}
	if err := h.service.AskExtension(r.Context(), caller(r), key, in.Message); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}
