// Reservations over HTTP: create, read, change, cancel and confirm.

package handler

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

type recipientResponse struct {
	UID             string `json:"uid,omitempty"`
	Name            string `json:"name,omitempty"`
	Email           string `json:"email"`
	DestinationType string `json:"destinationType"`
}

type reservationResponse struct {
	Subject              string              `json:"subject,omitempty"`
	Message              string              `json:"message,omitempty"`
	AnonSender           string              `json:"anonSender,omitempty"`
	AnonEmail            string              `json:"anonEmail,omitempty"`
	Recipients           []recipientResponse `json:"recipients"`
	DeliveryNotification bool                `json:"deliveryNotification"`
	TTL                  int32               `json:"ttl"`
	Priority             int32               `json:"priority,omitempty"`
	Protection           string              `json:"protection"`
	Fields               json.RawMessage     `json:"fields,omitempty"`
	UID                  string              `json:"uid"`
	Type                 string              `json:"type"`
	MaxFiles             int32               `json:"maxFiles"`
	MaxFileSizeMB        int64               `json:"maxFileSizeMb"`
	MaxRecipients        int32               `json:"maxRecipients"`
	VolumeLimitExceeded  bool                `json:"volumeLimitExceeded"`
	SenderVerified       *bool               `json:"senderVerified,omitempty"` // of transfers to mailboxes
}

// reservationFrom returns a reservation without its objects, which httpapi.List streams.
func reservationFrom(r transfer.Reservation) reservationResponse {
	out := reservationResponse{
		Subject: r.Subject, Message: r.Message, AnonSender: r.AnonSender, AnonEmail: r.AnonEmail, Recipients: recipientsFrom(r.Recipients),
		DeliveryNotification: r.DeliveryNotification, TTL: r.TTL, Priority: r.Priority, Protection: string(r.Protection), Fields: r.Fields,
		UID: r.UID.String(), Type: string(r.Kind),
		MaxFiles: r.MaxFiles, MaxFileSizeMB: r.MaxFileSizeMB, MaxRecipients: r.MaxRecipients, VolumeLimitExceeded: r.VolumeLimitExceeded,
	}
	if r.Kind == transfer.KindMailbox {
		verified := r.SenderVerified()
		out.SenderVerified = &verified
	}
	return out
}

func recipientsFrom(list []transfer.Recipient) []recipientResponse {
	out := make([]recipientResponse, len(list))
	for i, r := range list {
		out[i] = recipientResponse{UID: uidOrEmpty(r.Person), Name: r.Name, Email: r.Email, DestinationType: string(r.Destination)}
	}
	return out
}

// uidOrEmpty returns the uid as text, empty for the zero uid: the member is then left out.
func uidOrEmpty(p id.Person) string {
	if p.IsZero() {
		return ""
	}
	return p.String()
}

type basicMetadataRequest struct {
	Subject    *string `json:"subject"`
	Message    *string `json:"message"`
	AnonSender *string `json:"anonSender"`
	AnonEmail  *string `json:"anonEmail"`
}

func (in basicMetadataRequest) domain(locale string) transfer.BasicMetadata {
	return transfer.BasicMetadata{
		Subject: in.Subject, Message: in.Message, AnonSender: in.AnonSender, AnonEmail: in.AnonEmail,
		Locale: locale,
	}
}

// reserveMailbox handles POST /public/mailbox/{key}.
func (h *Handler) reserveMailbox(w http.ResponseWriter, r *http.Request) error {
	var in basicMetadataRequest
	if err := strictjson.DecodeOptional(r, &in); err != nil {
		return err
	}
	made, err := h.service.ReserveMailbox(r.Context(), caller(r), httpapi.Param(r, "key"),
		in.domain(h.catalog.Match(r.Header.Get("Accept-Language"))))
	if err != nil {
		return err
	}
	return h.respondReserved(w, r, made)
}

// respondReserved answers with a new reservation, which has no objects yet, and its token.
func (h *Handler) respondReserved(w http.ResponseWriter, r *http.Request, made service.Reserved) error {
	httpapi.Bearer(w, made.Token)
	return httpapi.Created(w, h.location(r, "/reservations/"+made.Reservation.UID.String()), struct {
		reservationResponse
		Objects [0]objectResponse `json:"objects"`
	}{reservationResponse: reservationFrom(made.Reservation)})
}

// getReservation handles GET /reservations/{uid}.
func (h *Handler) getReservation(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Reservation](r, "uid")
	if err != nil {
		return err
	}
	found, objects, err := h.service.Reservation(r.Context(), caller(r), uid)
	if err != nil {
		return err
	}
	return httpapi.List(w, reservationFrom(found), "objects", objects, objectFrom)
}

// reservationRequest is a Reservation in a request. The read-only members are ignored.
type reservationRequest struct {
	basicMetadataRequest
	Recipients           []recipientRequest `json:"recipients"`
	DeliveryNotification *bool              `json:"deliveryNotification"`
	TTL                  *int64             `json:"ttl"`
	Priority             *int64             `json:"priority"`
	Protection           *string            `json:"protection"`
	Password             *string            `json:"password"`
	Fields               map[string]*string `json:"fields"` // a nil value counts as absent; a merge patch removes it
}

// recipientRequest is a Recipient in a request. The server sets the uid by the email.
type recipientRequest struct {
	UID             *string `json:"uid"`
	Name            string  `json:"name"`
	Email           *string `json:"email"`
	DestinationType *string `json:"destinationType"`
}

// StrictMembers makes the decoder refuse unknown members.
func (*recipientRequest) StrictMembers() {}

func (in reservationRequest) domain() (transfer.Metadata, error) {
	m := transfer.Metadata{
		BasicMetadata:        in.basicMetadataRequest.domain(""),
		DeliveryNotification: in.DeliveryNotification, TTL: in.TTL, Priority: in.Priority, Protection: in.Protection, Password: in.Password,
		Fields: in.Fields,
	}
	if in.Recipients == nil {
		return m, nil
	}
	var problems fault.Problems
	m.Recipients = make([]transfer.Recipient, len(in.Recipients))
	for i, b := range in.Recipients {
		at := fmt.Sprintf("recipients[%d].", i)
		if b.Email == nil {
			problems.Add(at+"email", "is required")
		}
		if b.DestinationType == nil {
			problems.Add(at+"destinationType", "is required")
		}
		if len(problems) > 0 {
			continue
		}
		m.Recipients[i] = transfer.Recipient{Name: b.Name, Email: *b.Email, Destination: transfer.Destination(*b.DestinationType)}
		if b.UID != nil { // a mailbox's recipient is fixed: the service compares it; a malformed uid counts as absent
			m.Recipients[i].Person, _ = id.Parse[id.Person](*b.UID)
		}
	}
	return m, problems.Err()
}

// createReservation handles POST /reservations.
func (h *Handler) createReservation(w http.ResponseWriter, r *http.Request) error {
	var in reservationRequest
	if err := strictjson.DecodeOptional(r, &in); err != nil {
		return err
	}
	input, err := in.domain()
	if err != nil {
		return err
	}
	made, err := h.service.CreateReservation(r.Context(), caller(r), input)
	if err != nil {
		return err
	}
	return h.respondReserved(w, r, made)
}

// patchReservation handles PATCH /reservations/{uid}.
func (h *Handler) patchReservation(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Reservation](r, "uid")
	if err != nil {
		return err
	}
	var in reservationRequest
	merge, removed, err := strictjson.DecodePatch(r, &in)
	if err != nil {
		return err
	}
	change, err := in.domain()
	if err != nil {
		return err
	}
	change.MergeFields = merge
	for _, member := range removed {
		change.Remove(member)
	}
	changed, objects, err := h.service.PatchReservation(r.Context(), caller(r), uid, change)
	if err != nil {
		return err
	}
	return httpapi.List(w, reservationFrom(changed), "objects", objects, objectFrom)
}

// cancelReservation handles DELETE /reservations/{uid}.
func (h *Handler) cancelReservation(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Reservation](r, "uid")
	if err != nil {
		return err
	}
	if err := h.service.CancelReservation(r.Context(), caller(r), uid); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// confirmReservation handles POST /reservations/{uid}/confirm.
func (h *Handler) confirmReservation(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Reservation](r, "uid")
	if err != nil {
		return err
	}
	t, objects, err := h.service.Confirm(r.Context(), caller(r), uid)
	if err != nil {
		return err
	}
	return httpapi.List(w, transferFrom(service.SeenTransfer{Transfer: t, Brief: true}), "objects", objects, deliveredObjectFrom)
}

type openReservationResponse struct {
	UID       string       `json:"uid"`
	CreatedAt httpapi.Time `json:"createdAt"`
	Bytes     int64        `json:"bytes"`
	AnonEmail *string      `json:"anonEmail,omitempty"`
}

// listOpenReservations handles GET /mailbox/reservations.
func (h *Handler) listOpenReservations(w http.ResponseWriter, r *http.Request) error {
	list, err := h.service.OpenReservations(r.Context(), caller(r))
	if err != nil {
		return err
	}
	body := struct {
		Reservations []openReservationResponse `json:"reservations"`
	}{make([]openReservationResponse, len(list))}
	for i, o := range list {
		body.Reservations[i] = openReservationResponse{UID: o.UID.String(), CreatedAt: httpapi.Time(o.CreatedAt), Bytes: o.Bytes,
			AnonEmail: o.AnonEmail}
	}
	return httpapi.JSON(w, http.StatusOK, body)
}

// cancelOpenReservation handles DELETE /mailbox/reservations/{uid}.
func (h *Handler) cancelOpenReservation(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Reservation](r, "uid")
	if err != nil {
		return err
	}
	if err := h.service.CancelMailboxReservation(r.Context(), caller(r), uid); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}
