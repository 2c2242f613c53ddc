// The audit of an organization over HTTP, as JSON, lines of JSON or CSV.

package handler

import (
	"math"
	"net/http"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
)

// auditPage is how many entries GET /organizations/{uid}/audit has in JSON when the request states no limit.
const auditPage = 100

type auditEntryResponse struct {
	ID      int64             `json:"id"`
	At      httpapi.Time      `json:"at"`
	Action  string            `json:"action"`
	Role    audit.Kind        `json:"role"`
	Object  string            `json:"object,omitempty"`
	Actor   *auditPerson      `json:"actor"`
	Target  *auditPerson      `json:"target"`
	Details map[string]string `json:"details,omitempty"`
}

// auditPerson is a person of an entry. Name and address are shown of members only.
type auditPerson struct {
	UID   id.Person `json:"uid"`
	Name  string    `json:"name,omitempty"`
	Email string    `json:"email,omitempty"`
}

func auditPersonFrom(p id.Person, m identity.Member) *auditPerson {
	if p.IsZero() {
		return nil
	}
	return &auditPerson{UID: p, Name: m.Name, Email: m.Email}
}

func auditEntryFrom(e service.OrganizationEntry) auditEntryResponse {
	return auditEntryResponse{
		ID: e.ID, At: httpapi.Time(e.At), Action: e.Action, Role: e.Kind, Object: e.Object, Details: e.Details,
		Actor: auditPersonFrom(e.Person, e.ActorMember), Target: auditPersonFrom(e.Target, e.TargetMember),
	}
}

// getOrganizationAudit handles GET /organizations/{uid}/audit.
func (h *Handler) getOrganizationAudit(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	filter, format, err := auditQuery(r)
	if err != nil {
		return err
	}
	if format == "json" && filter.Limit == 0 {
		filter.Limit = auditPage
	}
	entries, err := h.service.OrganizationAudit(r.Context(), caller(r), o, filter)
	if err != nil {
		return err
	}
	switch format {
	case "csv":
		return httpapi.Table(w, "audit.csv", auditHead, entries, auditRow)
	case "jsonl":
		return httpapi.Lines(w, "audit.jsonl", entries, auditEntryFrom)
	}
	return httpapi.List(w, struct{}{}, "entries", entries, auditEntryFrom)
}

// auditFormats are the formats of the audit by media type.
var auditFormats = map[string]string{"application/json": "json", httpapi.TypeCSV: "csv", httpapi.TypeJSONLines: "jsonl"}

// auditQuery returns the filter of a request, and its format.
func auditQuery(r *http.Request) (f audit.Filter, format string, err error) {
	q := httpapi.QueryOf(r)
	if format = q.Word("format", "json", "csv", "jsonl"); format == "" {
		format = "json"
		if offered, ok := httpapi.Negotiate(r, "application/json", httpapi.TypeCSV, httpapi.TypeJSONLines); ok {
			format = auditFormats[offered]
		}
	}
	f = audit.Filter{
		Action: q.One("action"), Person: httpapi.QueryUID[id.Person](q, "person"), Since: q.Moment("since"),
		After: q.Number("after", 1, math.MaxInt64, 0), Limit: int(q.Number("limit", 1, audit.MaxLimit, 0)),
	}
	return f, format, q.Err()
}

// auditHead is the header of the audit log as CSV.
var auditHead = []string{"at", "action", "object", "actor", "actorName", "actorEmail", "target", "targetName", "targetEmail", "details",
	"role"}

func auditRow(e service.OrganizationEntry) []string {
	uid := func(p id.Person) string {
		if p.IsZero() {
			return ""
		}
		return p.String()
	}
	return []string{
		e.At.UTC().Format(time.RFC3339), e.Action, e.Object, uid(e.Person), e.ActorMember.Name, e.ActorMember.Email,
		uid(e.Target), e.TargetMember.Name, e.TargetMember.Email, e.Facts(), string(e.Kind),
	}
}
