package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/strictjson"
)

// listMembers handles GET /organizations/{uid}/members.
func (h *Handler) listMembers(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	members, err := h.service.Members(r.Context(), caller(r), o)
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
	m, err := h.service.Member(r.Context(), caller(r), o, p)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, memberFrom(m))
}

type memberRequest struct {
	Roles       []string `json:"roles"`
	Reference   *string  `json:"reference"`
	ExternalUID *string  `json:"externalUid"`
	httpapi.ProofRequest
}

func (in memberRequest) domain(p id.Person) identity.Member {
	return identity.Member{UID: p, Roles: in.Roles, Reference: orEmpty(in.Reference), ExternalUID: orEmpty(in.ExternalUID)}
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
		return fault.ErrInvalid.With("roles: is required; it may be an empty list")
	}
	if err := h.buckets.TakeGuess(w, r, in.ProofRequest, httpapi.Identity); err != nil {
		return err
	}
	m, err := h.service.PutMember(r.Context(), caller(r), o, in.domain(p), in.Proof())
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
	proof, err := h.buckets.Proof(w, r, httpapi.Identity)
	if err != nil {
		return err
	}
	if err := h.service.RemoveMember(r.Context(), caller(r), o, p, proof); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// memberUIDs parses the organization and the person of the path. A person that is not a uid becomes the zero uid: the
// service checks the caller's rights first and then does not find it.
// Errors: identity.ErrOrganizationNotFound.
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
	ExternalIdentityProvider string    `json:"externalIdentityProvider,omitempty"`
	Roles                    []string  `json:"roles"`
	Reference                *string   `json:"reference"`
}

func memberFrom(m identity.Member) memberResponse {
	return memberResponse{
		UID: m.UID, Name: orNull(m.Name), Email: m.Email, ExternalUID: orNull(m.ExternalUID), ExternalIdentityProvider: m.Issuer,
		Roles: m.Roles, Reference: orNull(m.Reference),
	}
}
