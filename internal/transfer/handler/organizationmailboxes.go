package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/transfer"
)

type usedMailboxResponse struct {
	UID              id.Person     `json:"uid"`
	Link             *string       `json:"link"`
	Name             string        `json:"name"`
	Email            string        `json:"email"`
	Unavailable      *string       `json:"unavailable"`
	MaxFiles         int32         `json:"maxFiles"`
	MaxFileSizeMB    int64         `json:"maxFileSizeMb"`
	UploadBytes      int64         `json:"uploadBytes"`
	UploadLimitBytes *int64        `json:"uploadLimitBytes"`
	ReceivedAt       *httpapi.Time `json:"receivedAt"`
	Transfers        int           `json:"transfers"`
	Bytes            int64         `json:"bytes"`
	Partly           bool          `json:"partly"`
	Reservations     int           `json:"reservations"`
	ReservationBytes int64         `json:"reservationBytes"`
}

func usedMailboxFrom(m transfer.UsedMailbox) usedMailboxResponse {
	reason, _ := m.Unavailable()
	return usedMailboxResponse{
		UID: m.Person, Link: orNull(m.VanityLink), Name: m.DisplayName(), Email: m.Owner.Email, Unavailable: orNull(string(reason)),
		MaxFiles: m.FileLimit(), MaxFileSizeMB: m.FileSizeLimitMB(), UploadBytes: m.Owner.UploadHeld,
		UploadLimitBytes: limitOrNull(m.Owner.UploadLimit),
		ReceivedAt:       httpapi.TimeOrNil(m.ReceivedAt), Transfers: m.Transfers, Bytes: m.Bytes, Partly: m.Partly,
		Reservations: m.Reservations, ReservationBytes: m.ReservationBytes,
	}
}

type usedMailboxesResponse struct {
	Mailboxes []usedMailboxResponse `json:"mailboxes"`
	Next      string                `json:"next,omitempty"`
}

// listOrganizationMailboxes handles GET /adminunit/mailboxes.
func (h *Handler) listOrganizationMailboxes(w http.ResponseWriter, r *http.Request) error {
	q := httpapi.QueryOf(r)
	search, after := q.One("search"), q.One("after")
	if err := q.Err(); err != nil {
		return err
	}
	list, next, err := h.service.OrganizationMailboxes(r.Context(), caller(r), search, after)
	if err != nil {
		return err
	}
	out := usedMailboxesResponse{Mailboxes: make([]usedMailboxResponse, len(list)), Next: next}
	for i, m := range list {
		out.Mailboxes[i] = usedMailboxFrom(m)
	}
	return httpapi.JSON(w, http.StatusOK, out)
}
