package handler

import (
	"context"
	"net/http"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/service"
)

// operatorMailboxRoutes holds mailboxes and groups in the console.
func (h *Handler) operatorMailboxRoutes() []httpapi.Route {
	reads, changes := operators()
	const one = "/mailboxes/{mailbox}"
	return []httpapi.Route{
		{Method: "GET", Pattern: "/mailboxes", Auth: reads, Handler: h.findMailboxes},
		{Method: "GET", Pattern: one, Auth: reads, Handler: h.reportMailbox},
		{Method: "POST", Pattern: one + "/create", Auth: changes, Handler: h.createMailbox},
		{Method: "POST", Pattern: one + "/suspend", Auth: changes, Handler: h.changeMailbox(h.service.SuspendMailbox)},
		{Method: "POST", Pattern: one + "/reactivate", Auth: changes, Handler: h.changeMailbox(h.service.ReactivateMailbox)},
		{Method: "POST", Pattern: one + "/end-reservations", Auth: changes, Handler: h.endReservations},
	}
}

type listedMailboxResponse struct {
	Kind         string             `json:"kind"`
	UID          string             `json:"uid"`
	Link         *string            `json:"link"`
	Name         *string            `json:"name"`
	Email        *string            `json:"email"`
	Absent       bool               `json:"absent"`
	Secure       bool               `json:"secure"`
	Organization *organizationNamed `json:"organization"`
	Members      int                `json:"members"`
	Reservations int                `json:"reservations"`
	Bytes        int64              `json:"bytes"`
}

func listedMailboxFrom(m transfer.ListedMailbox) listedMailboxResponse {
	out := listedMailboxResponse{
		Kind: "mailbox", UID: m.Person.String(), Link: orNull(m.Link), Name: orNull(m.Name), Email: orNull(m.Email), Absent: m.Absent,
		Secure:  m.Secure,
		Members: m.Members, Reservations: m.Reservations, Bytes: m.Bytes,
	}
	if m.Person.IsZero() {
		out.Kind, out.UID = "group", m.MailboxGroup.String()
	}
	if !m.Organization.IsZero() {
		out.Organization = &organizationNamed{m.Organization, orNull(m.OrganizationName)}
	}
	return out
}

type mailboxesResponse struct {
	Mailboxes []listedMailboxResponse `json:"mailboxes"`
	Next      string                  `json:"next,omitempty"`
}

// findMailboxes handles GET /mailboxes of the console.
func (h *Handler) findMailboxes(w http.ResponseWriter, r *http.Request) error {
	q := httpapi.QueryOf(r)
	in := service.OperatorMailboxes{Link: q.One("link"), Person: q.One("person"), Organization: q.One("organization"), After: q.One("after")}
	if err := q.Err(); err != nil {
		return err
	}
	list, next, err := h.service.FindMailboxes(r.Context(), in)
	if err != nil {
		return err
	}
	out := mailboxesResponse{Mailboxes: make([]listedMailboxResponse, len(list)), Next: next}
	for i, m := range list {
		out.Mailboxes[i] = listedMailboxFrom(m)
	}
	return httpapi.JSON(w, http.StatusOK, out)
}

type mailboxReportResponse struct {
	UID               id.Person             `json:"uid"`
	Page              string                `json:"page"`
	Link              *string               `json:"link"`
	Name              string                `json:"name"`
	Email             string                `json:"email"`
	Absent            bool                  `json:"absent"`
	Suspended         bool                  `json:"suspended"`
	Secure            bool                  `json:"secure"`
	Organization      id.Organization       `json:"limitsOrganization"`
	VolumeExceeded    bool                  `json:"volumeExceeded"`
	UploadBytes       int64                 `json:"uploadBytes"`
	UploadLimitBytes  *int64                `json:"uploadLimitBytes"`
	Groups            []reportedGroup       `json:"groups"`
	Reservations      int                   `json:"reservations"`
	ReservationsBytes int64                 `json:"reservationsBytes"`
	Open              []reportedReservation `json:"open"`
}

type reportedGroup struct {
	UID  id.Group `json:"uid"`
	Name string   `json:"name"`
}

type reportedReservation struct {
	UID       id.Reservation `json:"uid"`
	CreatedAt httpapi.Time   `json:"createdAt"`
	Bytes     int64          `json:"bytes"`
}

// listedReservations is how many open reservations the report of a mailbox lists.
const listedReservations = 100

// reportMailbox handles GET /mailboxes/{mailbox} of the console.
func (h *Handler) reportMailbox(w http.ResponseWriter, r *http.Request) error {
	p, err := uidParam[id.Person](r, "mailbox")
	if err != nil {
		return err
	}
	m, err := h.service.ReportMailbox(r.Context(), p)
	if err != nil {
		return err
	}
	out := mailboxReportResponse{
		UID: m.Person, Page: m.Page, Link: orNull(m.VanityLink), Name: m.DisplayName(), Email: m.Address(), Absent: m.Absent,
		Suspended: m.Suspended, Secure: m.Secure, Organization: m.Owner.LimitsOrganization, VolumeExceeded: m.Owner.VolumeExceeded(),
		UploadBytes: m.Owner.UploadHeld,
		Groups:      []reportedGroup{}, Reservations: len(m.Reservations), Open: []reportedReservation{},
	}
	if m.Owner.UploadLimit >= 0 {
		out.UploadLimitBytes = &m.Owner.UploadLimit
	}
	for _, g := range m.Groups {
		out.Groups = append(out.Groups, reportedGroup{g.UID, g.Name})
	}
	for i, o := range m.Reservations {
		out.ReservationsBytes += o.Bytes
		if i < listedReservations {
			out.Open = append(out.Open, reportedReservation{o.UID, httpapi.Time(o.CreatedAt), o.Bytes})
		}
	}
	return httpapi.JSON(w, http.StatusOK, out)
}

type newMailboxRequest struct {
	httpapi.Change
	Link string `json:"link"`
}

// createMailbox handles POST /mailboxes/{mailbox}/create of the console.
func (h *Handler) createMailbox(w http.ResponseWriter, r *http.Request) error {
	p, err := uidParam[id.Person](r, "mailbox")
	if err != nil {
		return err
	}
	var in newMailboxRequest
	by, err := httpapi.DecodeChange(r, audit.Operator, &in)
	if err != nil {
		return err
	}
	if err := h.service.CreateMailbox(r.Context(), by, p, in.Link); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

type endReservationsRequest struct {
	httpapi.Change
	Reservation *id.Reservation `json:"reservation"`
}

// endReservations handles POST /mailboxes/{mailbox}/end-reservations of the console.
func (h *Handler) endReservations(w http.ResponseWriter, r *http.Request) error {
	p, err := uidParam[id.Person](r, "mailbox")
	if err != nil {
		return err
	}
	var in endReservationsRequest
	by, err := httpapi.DecodeChange(r, audit.Operator, &in)
	if err != nil {
		return err
	}
	var one id.Reservation
	if in.Reservation != nil {
		one = *in.Reservation
	}
	if err := h.service.EndOpenReservations(r.Context(), by, p, one); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// changeMailbox returns the handler of POST /mailboxes/{mailbox}/… of the console, which needs a reason only.
func (h *Handler) changeMailbox(do func(ctx context.Context, by audit.Actor, p id.Person) error) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, err := uidParam[id.Person](r, "mailbox")
		if err != nil {
			return err
		}
		by, err := httpapi.DecodeChange(r, audit.Operator, &httpapi.Change{})
		if err != nil {
			return err
		}
		if err := do(r.Context(), by, p); err != nil {
			return err
		}
		return httpapi.NoContent(w)
	}
}
