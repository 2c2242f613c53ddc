package handler

import (
	"net/http"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// transferChangeRequest is what the sender, and at the end what a recipient can change of a delivered transfer. Other members are ignored.
type transferChangeRequest struct {
	Subject              *string       `json:"subject"`
	TTL                  *int64        `json:"ttl"`
	ExpiresAt            *httpapi.Time `json:"expiresAt"`
	Protection           *string       `json:"protection"`
	Password             *string       `json:"password"`
	DeliveryNotification *bool         `json:"deliveryNotification"`
	RemindBefore         *int64        `json:"remindBefore"`
	Forwarding           *bool         `json:"forwarding"`
	limitChange

	// Of a recipient.
	Read   *bool   `json:"read"`
	Pinned *bool   `json:"pinned"`
	Notes  *string `json:"notes"`
}

// limitChange is a change of the limits of downloads.
type limitChange struct {
	MaxDownloads        *int64 `json:"maxDownloads"`
	MaxTotalDownloads   *int64 `json:"maxTotalDownloads"`
	DeleteAfterDownload *bool  `json:"deleteAfterDownload"`
}

// domain returns the change. Removed members are no limit.
func (in limitChange) domain(removed []string) service.LimitChange {
	c := service.LimitChange{MaxDownloads: in.MaxDownloads, MaxTotalDownloads: in.MaxTotalDownloads,
		DeleteAfterDownload: in.DeleteAfterDownload}
	for _, member := range removed {
		switch member {
		case "maxDownloads":
			c.MaxDownloads = new(int64)
		case "maxTotalDownloads":
			c.MaxTotalDownloads = new(int64)
		case "deleteAfterDownload":
			c.DeleteAfterDownload = new(bool)
		}
	}
	return c
}

func (in transferChangeRequest) domain() service.TransferChange {
	return service.TransferChange{ExpiresAt: (*time.Time)(in.ExpiresAt), RemindBefore: in.RemindBefore, Forwarding: in.Forwarding,
		Received: service.ReceivedChange{Read: in.Read, Pinned: in.Pinned, Notes: in.Notes}, Metadata: transfer.Metadata{
			BasicMetadata: transfer.BasicMetadata{Subject: in.Subject}, TTL: in.TTL, Protection: in.Protection, Password: in.Password,
			DeliveryNotification: in.DeliveryNotification,
		}}
}

// patchTransfer handles PATCH /transfers/{uid}.
func (h *Handler) patchTransfer(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Transfer](r, "uid")
	if err != nil {
		return err
	}
	var in transferChangeRequest
	_, removed, err := strictjson.DecodePatch(r, &in)
	if err != nil {
		return err
	}
	if slices.Contains(removed, "expiresAt") {
		return fault.ErrInvalid.With("expiresAt: cannot be removed; ttl can, which then is the default")
	}
	change := in.domain()
	change.LimitChange = in.limitChange.domain(removed)
	if slices.Contains(removed, "remindBefore") {
		change.RemindBefore = new(int64)
	}
	if slices.Contains(removed, "forwarding") {
		allowed := true
		change.Forwarding = &allowed
	}
	change.Received.Remove(removed)
	for _, member := range removed {
		change.Remove(member)
	}
	if err := h.service.PatchTransfer(r.Context(), caller(r), uid, change); err != nil {
		return err
	}
	return h.respondTransfer(w, r, uid)
}
