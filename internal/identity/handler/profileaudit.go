package handler

import (
	"math"
	"net/http"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
)

// ownEntryResponse is an entry as the person may see it whom it is by or about: other people have no name and no address.
type ownEntryResponse struct {
	ID      int64             `json:"id"`
	At      httpapi.Time      `json:"at"`
	Action  string            `json:"action"`
	Role    audit.Kind        `json:"role"`
	Own     bool              `json:"own"`
	Object  string            `json:"object,omitempty"`
	Target  *auditPerson      `json:"target"`
	Address string            `json:"address,omitempty"`
	Details map[string]string `json:"details,omitempty"`
}

// getProfileAudit handles GET /profile/audit.
func (h *Handler) getProfileAudit(w http.ResponseWriter, r *http.Request) error {
	q := httpapi.QueryOf(r)
	f := audit.Filter{Action: q.One("action"), Since: q.Moment("since"), After: q.Number("after", 1, math.MaxInt64, 0),
		Limit: int(q.Number("limit", 1, audit.MaxLimit, auditPage))}
	if err := q.Err(); err != nil {
		return err
	}
	person := caller(r).Person
	return httpapi.List(w, struct{}{}, "entries", h.service.PersonAudit(r.Context(), person, f),
		func(e audit.Record) ownEntryResponse { return ownEntryFrom(person, e) })
}

func ownEntryFrom(p id.Person, e audit.Record) ownEntryResponse {
	out := ownEntryResponse{ID: e.ID, At: httpapi.Time(e.At), Action: e.Action, Role: e.Kind, Own: e.Person == p, Object: e.Object,
		Details: e.Details}
	if !e.Target.IsZero() {
		out.Target = &auditPerson{UID: e.Target}
	}
	if out.Own && e.Client.Address.IsValid() {
		out.Address = e.Client.Address.String()
	}
	return out
}
