package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
)

// listMembers handles GET /organizations/{uid}/members.
func (h *Handler) listMembers(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	members, err := h.service.Members(r.Context(), token.CallerFrom(r.Context()), o)
	if err != nil {
		return err
	}
	return httpapi.List(w, struct{}{}, "members", members, memberFrom)
}

// getMember handles GET /organizations/{uid}/members/{person}.
func (h *Handler) getMember(w http.ResponseWriter, r *http.Request) error {
	o, p, err := memberUIDs(r)
	if err != nil {
		return err
	}
	m, err := h.service.Member(r.Context(), token.CallerFrom(r.Context()), o, p)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, memberFrom(m))
}

type memberRequest struct {
	Roles       []string `json:"roles"`
	Reference   *string  `json:"reference"`
	ExternalUID *string  `json:"externalUid"`
}

// putMember handles PUT /organizations/{uid}/members/{person}.
func (h *Handler) putMember(w http.ResponseWriter, r *http.Request) error {
	o, p, err := memberUIDs(r)
	if err != nil {
		return err
	}
	var in memberRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	if in.Roles == nil {
		return fault.ErrInvalid.With("roles: is required; an empty list is fine")
	}
	m, err := h.service.UpdateMember(r.Context(), token.CallerFrom(r.Context()), o, identity.Member{
		UID: p, Roles: in.Roles, Reference: text(in.Reference), ExternalUID: text(in.ExternalUID),
	})
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, memberFrom(m))
}

// deleteMember handles DELETE /organizations/{uid}/members/{person}.
func (h *Handler) deleteMember(w http.ResponseWriter, r *http.Request) error {
	o, p, err := memberUIDs(r)
	if err != nil {
		return err
	}
	if err := h.service.RemoveMember(r.Context(), token.CallerFrom(r.Context()), o, p); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// memberUIDs are the path's organization and person. What is no uid is nobody's: the zero uid, of whom the service will
// say so, to those who may know.
func memberUIDs(r *http.Request) (o id.Organization, p id.Person, err error) {
	if o, err = organizationUID(r); err != nil {
		return o, p, err
	}
	p, _ = id.Parse[id.Person](httpapi.Param(r, "person"))
	return o, p, nil
}

type memberResponse struct {
	UID                      id.Person `json:"uid"`
	Name                     *string   `json:"name"`
	Email                    string    `json:"email"`
	ExternalUID              *string   `json:"externalUid"`
	ExternalIdentityProvider *string   `json:"externalIdentityProvider"`
	Roles                    []string  `json:"roles"`
	Reference                *string   `json:"reference"`
}

func memberFrom(m identity.Member) memberResponse {
	return memberResponse{
		UID: m.UID, Name: orNull(m.Name), Email: m.Email, ExternalUID: orNull(m.ExternalUID), ExternalIdentityProvider: orNull(m.Issuer),
		Roles: m.Roles, Reference: orNull(m.Reference),
	}
}
