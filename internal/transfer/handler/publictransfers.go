// The page behind a link over HTTP: what it shows while locked, mailed codes, and how it is opened.

package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer/service"
)

type publicTransferResponse struct {
	Type        string           `json:"type"`
	Subject     string           `json:"subject,omitempty"`
	Message     string           `json:"message,omitempty"`
	Answers     []answerResponse `json:"answers,omitempty"`
	Sender      senderResponse   `json:"sender"`
	Protection  string           `json:"protection"`
	Locked      bool             `json:"locked"`
	Forwarding  bool             `json:"forwarding"`
	CreatedAt   httpapi.Time     `json:"createdAt"`
	ExpiresAt   httpapi.Time     `json:"expiresAt"`
	ObjectCount *int32           `json:"objectCount,omitempty"`
	TotalBytes  *int64           `json:"totalBytes,omitempty"`

	MalwareStatus string `json:"malwareStatus,omitempty"`

	Mailbox *linkedMailboxResponse `json:"mailbox,omitempty"`

	limitsResponse
}

type linkedMailboxResponse struct {
	UID        string `json:"uid"`
	HasPicture bool   `json:"hasPicture"`
}

// publicTransferFrom returns the public view of a transfer without its objects, which httpapi.List streams.
func publicTransferFrom(t service.LinkedTransfer) publicTransferResponse {
	b := publicTransferResponse{
		Type: string(t.Kind), Subject: t.Subject, Message: t.Message, Answers: answersFrom(t.Answers), Sender: senderFrom(t.Sender),
		Protection: string(t.Protection),
		Locked:     t.Locked, Forwarding: t.Forwarding && !t.Limited(), CreatedAt: httpapi.Time(t.CreatedAt),
		ExpiresAt:      httpapi.Time(t.ExpiresAt),
		limitsResponse: limitsResponse(t.Limits),
	}
	if !t.Locked {
		b.ObjectCount, b.TotalBytes, b.MalwareStatus = &t.ObjectCount, &t.TotalBytes, string(t.MalwareStatus)
	}
	if t.Mailbox != nil {
		b.Mailbox = &linkedMailboxResponse{t.Mailbox.Person.String(), t.Mailbox.HasPicture}
	}
	return b
}

// getPublicTransfer handles GET /public/transfers/{key}.
func (h *Handler) getPublicTransfer(w http.ResponseWriter, r *http.Request) error {
	t, objects, err := h.service.LinkedTransfer(r.Context(), caller(r), httpapi.Param(r, "key"))
	if err != nil {
		return err
	}
	if t.Locked {
		return httpapi.JSON(w, http.StatusOK, publicTransferFrom(t))
	}
	return httpapi.List(w, publicTransferFrom(t), "objects", objects, deliveredObjectFrom)
}

// sendAccessCode handles POST /public/transfers/{key}/code.
func (h *Handler) sendAccessCode(w http.ResponseWriter, r *http.Request) error {
	link, err := h.service.Link(r.Context(), caller(r), httpapi.Param(r, "key"))
	if err != nil {
		return err
	}
	if err := h.buckets.Take(w, r.Context(), codeBucket, link.Delivery.String(), httpapi.Transfer); err != nil {
		return err
	}
	locale := ""
	if accepted := r.Header.Get("Accept-Language"); accepted != "" {
		locale = h.catalog.Match(accepted)
	}
	if err := h.service.SendCode(r.Context(), link, locale); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

type accessRequest struct {
	Password *string `json:"password"`
	Code     *string `json:"code"`
}

func (in accessRequest) domain() service.Credentials {
	return service.Credentials{Password: in.Password, Code: in.Code}
}

type tokenResponse struct {
	Token string     `json:"token"`
	Kind  token.Kind `json:"kind"`
}

// openPublicTransfer handles POST /public/transfers/{key}/access.
func (h *Handler) openPublicTransfer(w http.ResponseWriter, r *http.Request) error {
	link, err := h.service.Link(r.Context(), caller(r), httpapi.Param(r, "key"))
	if err != nil {
		return err
	}
	if err := h.buckets.Take(w, r.Context(), accessBucket, link.Delivery.String(), httpapi.Transfer); err != nil {
		return err
	}
	var in accessRequest
	if err := strictjson.DecodeOptional(r, &in); err != nil {
		return err
	}
	raw, err := h.service.OpenLink(r.Context(), caller(r), link, in.domain())
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, tokenResponse{raw, token.KindDownload})
}
