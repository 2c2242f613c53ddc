// Members of an organization in the console.

package handler

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
)

type listedMemberResponse struct {
	UID   id.Person    `json:"uid"`
	Name  *string      `json:"name"`
	Email *string      `json:"email"`
	Roles []string     `json:"roles"`
	Since httpapi.Time `json:"since"`
}

type listedMembersResponse struct {
	Members []listedMemberResponse `json:"members"`
	Next    string                 `json:"next,omitempty"`
}

// listOrganizationMembers handles GET /organizations/{organization}/members of the console.
func (h *Handler) listOrganizationMembers(w http.ResponseWriter, r *http.Request) error {
	o, err := operatedOrganization(r)
	if err != nil {
		return err
	}
	q := httpapi.QueryOf(r)
	after := q.One("after")
	if err := q.Err(); err != nil {
		return err
	}
	list, next, err := h.service.OrganizationMembers(r.Context(), o, after)
	if err != nil {
		return err
	}
	out := listedMembersResponse{Members: make([]listedMemberResponse, len(list)), Next: next}
	for i, m := range list {
		out.Members[i] = listedMemberResponse{m.UID, orNull(m.Name), orNull(m.Email), m.Roles, httpapi.Time(m.Since)}
	}
	return httpapi.JSON(w, http.StatusOK, out)
}

type sharedInvitationRequest struct {
	httpapi.Change
	Roles []string `json:"roles"`
}

type sharedInvitationResponse struct {
	Key string `json:"key"`
	URL string `json:"url"`
}

// createSharedInvitation handles POST /organizations/{organization}/invitations of the console.
func (h *Handler) createSharedInvitation(w http.ResponseWriter, r *http.Request) error {
	o, err := operatedOrganization(r)
	if err != nil {
		return err
	}
	var in sharedInvitationRequest
	by, err := httpapi.DecodeChange(r, audit.Operator, &in)
	if err != nil {
		return err
	}
	i, err := h.service.CreateSharedInvitation(r.Context(), by, o.String(), in.Roles)
	if err != nil {
		return err
	}
	host := cmp.Or(i.Organization.Hostname, httpapi.Client(r.Context()).Host.Name)
	at := h.hosts.URL(host, "/invitation/"+url.PathEscape(i.Key))
	return httpapi.Created(w, at, sharedInvitationResponse{i.Key, at})
}

type membershipRequest struct {
	httpapi.Change
	Person string   `json:"person"`
	Roles  []string `json:"roles"`
}

func (h *Handler) setMember(ctx context.Context, by audit.Actor, organization string, in *membershipRequest) error {
	if in.Roles == nil {
		return fault.ErrInvalid.With("roles: is required; it may be an empty list")
	}
	return h.service.SetMember(ctx, by, organization, in.Person, in.Roles)
}

type formerMemberRequest struct {
	httpapi.Change
	Person string `json:"person"`
}

func (h *Handler) unsetMember(ctx context.Context, by audit.Actor, organization string, in *formerMemberRequest) error {
	return h.service.UnsetMember(ctx, by, organization, in.Person)
}
