package handler

import (
	"encoding/json"
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

type recipientBody struct {
	UID             string `json:"uid,omitempty"`
	Name            string `json:"name,omitempty"`
	Email           string `json:"email"`
	DestinationType string `json:"destinationType"`
}

// StrictMembers refuses members that a Recipient does not have.
func (*recipientBody) StrictMembers() {}

type reservationBody struct {
	Subject              string          `json:"subject,omitempty"`
	Message              string          `json:"message,omitempty"`
	AnonSender           string          `json:"anonSender,omitempty"`
	AnonEmail            string          `json:"anonEmail,omitempty"`
	Recipients           []recipientBody `json:"recipients"`
	DeliveryNotification bool            `json:"deliveryNotification"`
	TTL                  int32           `json:"ttl"`
	Priority             int32           `json:"priority,omitempty"`
	Protection           string          `json:"protection"`
	Fields               json.RawMessage `json:"fields,omitempty"`
	UID                  string          `json:"uid"`
	Type                 string          `json:"type"`
	Objects              []objectBody    `json:"objects"`
	MaxFiles             int32           `json:"maxFiles"`
	MaxFileSizeMB        int64           `json:"maxFileSizeMb"`
	MaxRecipients        int32           `json:"maxRecipients"`
	VolumeLimitExceeded  bool            `json:"volumeLimitExceeded"`
}

func reservationFrom(r transfer.Reservation) reservationBody {
	return reservationBody{
		Subject: r.Subject, Message: r.Message, AnonSender: r.AnonSender, AnonEmail: r.AnonEmail, Recipients: recipientsFrom(r.Recipients),
		DeliveryNotification: r.DeliveryNotification, TTL: r.TTL, Priority: r.Priority, Protection: string(r.Protection), Fields: r.Fields,
		UID: r.UID.String(), Type: string(r.Kind), Objects: objectsFrom(r.Objects),
		MaxFiles: r.MaxFiles, MaxFileSizeMB: r.MaxFileSizeMB, MaxRecipients: r.MaxRecipients, VolumeLimitExceeded: r.VolumeLimitExceeded,
	}
}

func recipientsFrom(list []transfer.Recipient) []recipientBody {
	out := make([]recipientBody, len(list))
	for i, r := range list {
		out[i] = recipientBody{UID: uidText(r.Person), Name: r.Name, Email: r.Email, DestinationType: string(r.Destination)}
	}
	return out
}

// uidText is empty for no person, so that the member is left out.
func uidText(p id.Person) string {
	if p.IsZero() {
		return ""
	}
	return p.String()
}

type introductionRequest struct {
	Subject    *string `json:"subject"`
	Message    *string `json:"message"`
	AnonSender *string `json:"anonSender"`
	AnonEmail  *string `json:"anonEmail"`
}

func (in introductionRequest) domain(locale string) service.Introduction {
	return service.Introduction{
		Subject: in.Subject, Message: in.Message, AnonSender: in.AnonSender, AnonEmail: in.AnonEmail,
		Locale: locale,
	}
}

// reserveMailbox handles POST /public/mailbox/{key}.
func (h *Handler) reserveMailbox(w http.ResponseWriter, r *http.Request) error {
	var in introductionRequest
	if err := httpapi.DecodeOptional(r, &in); err != nil {
		return err
	}
	made, err := h.service.ReserveMailbox(r.Context(), caller(r), httpapi.Param(r, "key"), in.domain(h.catalog.Match(r.Header.Get("Accept-Language"))))
	if err != nil {
		return err
	}
	httpapi.Bearer(w, made.Token)
	return httpapi.Created(w, h.url(caller(r), "/reservations/"+made.Reservation.UID.String()), reservationFrom(made.Reservation))
}

// getReservation handles GET /reservations/{uid}.
func (h *Handler) getReservation(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Reservation](r, "uid")
	if err != nil {
		return err
	}
	found, err := h.service.Reservation(r.Context(), caller(r), uid)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, reservationFrom(found))
}

type patchReservationRequest struct {
	Subject              *string           `json:"subject"`
	Message              *string           `json:"message"`
	AnonSender           *string           `json:"anonSender"`
	AnonEmail            *string           `json:"anonEmail"`
	Recipients           []recipientBody   `json:"recipients"`
	DeliveryNotification *bool             `json:"deliveryNotification"`
	TTL                  *int64            `json:"ttl"`
	Priority             *int64            `json:"priority"`
	Protection           *string           `json:"protection"`
	Password             *string           `json:"password"`
	Fields               map[string]string `json:"fields"`
}

func (in patchReservationRequest) domain() (service.Metadata, error) {
	m := service.Metadata{
		Introduction:         introductionRequest{Subject: in.Subject, Message: in.Message, AnonSender: in.AnonSender, AnonEmail: in.AnonEmail}.domain(""),
		DeliveryNotification: in.DeliveryNotification, TTL: in.TTL, Priority: in.Priority, Protection: in.Protection, Password: in.Password, Fields: in.Fields,
	}
	if in.Recipients == nil {
		return m, nil
	}
	var p fault.Problems
	m.Recipients = make([]transfer.Recipient, len(in.Recipients))
	for i, b := range in.Recipients {
		to := transfer.Recipient{Name: b.Name, Email: b.Email, Destination: transfer.Destination(b.DestinationType)}
		if b.UID != "" {
			person, err := id.Parse[id.Person](b.UID)
			if err != nil {
				p.Add("recipients.uid", err.Error())
			}
			to.Person = person
		}
		m.Recipients[i] = to
	}
	return m, p.Err()
}

// patchReservation handles PATCH /reservations/{uid}.
func (h *Handler) patchReservation(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Reservation](r, "uid")
	if err != nil {
		return err
	}
	var in patchReservationRequest
	if err := httpapi.Decode(r, &in); err != nil {
		return err
	}
	change, err := in.domain()
	if err != nil {
		return err
	}
	changed, err := h.service.PatchReservation(r.Context(), caller(r), uid, change)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, reservationFrom(changed))
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
	t, err := h.service.Confirm(r.Context(), caller(r), uid)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, transferFrom(service.SeenTransfer{Transfer: t}))
}
