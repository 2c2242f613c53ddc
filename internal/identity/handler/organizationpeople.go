package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/identity"
)

type seenMemberResponse struct {
	memberResponse
	Since     httpapi.Time  `json:"since"`
	Verified  bool          `json:"verified"`
	HasFactor bool          `json:"hasFactor"`
	Sessions  int           `json:"sessions"`
	UsedAt    *httpapi.Time `json:"usedAt"`
}

func seenMemberFrom(m identity.SeenMember) seenMemberResponse {
	return seenMemberResponse{
		memberResponse: memberFrom(m.Member), Since: httpapi.Time(m.Since), Verified: m.Verified, HasFactor: m.HasFactor, Sessions: m.Sessions,
		UsedAt: httpapi.TimeOrNil(m.UsedAt),
	}
}

type seenMembersResponse struct {
	People []seenMemberResponse `json:"people"`
	Next   string               `json:"next,omitempty"`
}

// listOrganizationPeople handles GET /organizations/{uid}/people.
func (h *Handler) listOrganizationPeople(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	q := httpapi.QueryOf(r)
	search, after := q.One("search"), q.One("after")
	if err := q.Err(); err != nil {
		return err
	}
	people, next, err := h.service.OrganizationPeople(r.Context(), caller(r), o, search, after)
	if err != nil {
		return err
	}
	out := seenMembersResponse{People: make([]seenMemberResponse, len(people)), Next: next}
	for i, m := range people {
		out.People[i] = seenMemberFrom(m)
	}
	return httpapi.JSON(w, http.StatusOK, out)
}

// endMemberSessions handles POST /organizations/{uid}/members/{person}/end-sessions.
func (h *Handler) endMemberSessions(w http.ResponseWriter, r *http.Request) error {
	o, p, err := memberUIDs(r)
	if err != nil {
		return err
	}
	if err := h.service.EndMemberSessions(r.Context(), caller(r), o, p); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}
