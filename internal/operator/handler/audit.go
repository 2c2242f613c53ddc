// The audit of the installation over HTTP: pages of JSON, a table, and lines of JSON.

package handler

import (
	"net/http"
	"strconv"
	"time"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/operator"
)

type entryResponse struct {
	ID           int64             `json:"id"`
	At           httpapi.Time      `json:"at"`
	Action       string            `json:"action"`
	Role         audit.Kind        `json:"role"`
	Object       string            `json:"object"`
	Actor        *personResponse   `json:"actor"`
	Target       *personResponse   `json:"target"`
	Organization *id.Organization  `json:"organization"`
	Address      string            `json:"address"`
	UserAgent    string            `json:"userAgent"`
	Details      map[string]string `json:"details"`
}

// personResponse is a person of an entry. Name and address are empty once the account was deleted.
type personResponse struct {
	UID   id.Person `json:"uid"`
	Name  string    `json:"name"`
	Email string    `json:"email"`
}

func personFrom(u id.Person, p operator.Person) *personResponse {
	if u.IsZero() {
		return nil
	}
	return &personResponse{u, p.Name, p.Email}
}

// EntryJSON returns the JSON form of an entry, that of the lines of GET /audit.
func EntryJSON(e operator.Entry) any { return entryFrom(e) }

func entryFrom(e operator.Entry) entryResponse {
	out := entryResponse{
		ID: e.ID, At: httpapi.Time(e.At), Action: e.Action, Role: e.Kind, Object: e.Object, Actor: personFrom(e.Person, e.ActorPerson),
		Target:    personFrom(e.Target, e.TargetPerson),
		UserAgent: e.Client.UserAgent, Details: e.Details,
	}
	if out.Details == nil {
		out.Details = map[string]string{}
	}
	if !e.Organization.IsZero() {
		out.Organization = &e.Organization
	}
	if e.Client.Address.IsValid() {
		out.Address = e.Client.Address.String()
	}
	return out
}

type auditResponse struct {
	Entries []entryResponse `json:"entries"`
	Next    string          `json:"next,omitempty"`
}

// getAudit handles GET /audit. As a table or as lines of JSON it has all entries that the filter selects.
func (h *Handler) getAudit(w http.ResponseWriter, r *http.Request) error {
	q := httpapi.QueryOf(r)
	format := q.Word("format", "json", "csv", "jsonl")
	f := audit.Filter{Action: q.One("action"), Person: httpapi.QueryUID[id.Person](q, "person"),
		Organization: httpapi.QueryUID[id.Organization](q, "organization"), Since: q.Moment("since"), After: q.Number("after", 1, 1<<62, 0)}
	limit := pageLimit(q)
	if err := q.Err(); err != nil {
		return err
	}
	switch format {
	case "csv":
		return httpapi.Table(w, "audit.csv", auditHead, h.service.Audit(r.Context(), f), auditRow)
	case "jsonl":
		return httpapi.Lines(w, "audit.jsonl", h.service.Audit(r.Context(), f), entryFrom)
	}
	f.Limit = limit
	entries, more, err := h.service.AuditPage(r.Context(), f)
	if err != nil {
		return err
	}
	answer := auditResponse{Entries: make([]entryResponse, len(entries))}
	for i, e := range entries {
		answer.Entries[i] = entryFrom(e)
	}
	if more {
		answer.Next = strconv.FormatInt(entries[len(entries)-1].ID, 10)
	}
	return httpapi.JSON(w, http.StatusOK, answer)
}

// auditHead is the header of the audit as CSV.
var auditHead = []string{"at", "action", "object", "actor", "actorEmail", "target", "targetEmail", "organization", "address", "userAgent",
	"details", "role"}

func auditRow(e operator.Entry) []string {
	named := func(zero bool, text string) string {
		if zero {
			return ""
		}
		return text
	}
	return []string{
		e.At.UTC().Format(time.RFC3339), e.Action, e.Object, named(e.Person.IsZero(), e.Person.String()), e.ActorPerson.Email,
		named(e.Target.IsZero(), e.Target.String()), e.TargetPerson.Email, named(e.Organization.IsZero(), e.Organization.String()),
		named(!e.Client.Address.IsValid(), e.Client.Address.String()), e.Client.UserAgent, e.Facts(), string(e.Kind),
	}
}
