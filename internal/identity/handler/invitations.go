package handler

import (
	"net/http"
	"net/url"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/strictjson"
)

// listMyInvitations handles GET /invitations.
func (h *Handler) listMyInvitations(w http.ResponseWriter, r *http.Request) error {
	list, err := h.service.InvitationsForCaller(r.Context(), caller(r))
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, invitationsFrom(list))
}

// getPublicInvitation handles GET /public/invitations/{key}.
func (h *Handler) getPublicInvitation(w http.ResponseWriter, r *http.Request) error {
	key := httpapi.Param(r, "key")
	i, err := h.service.PublicInvitation(r.Context(), key)
	if err != nil {
		return err
	}
	out := publicInvitationFrom(i)
	out.Organization.URL = h.hosts.URL(i.Organization.Hostname, "/")
	if i.Organization.HasAvatar {
		logo := h.location(r, "/public/invitations/"+url.PathEscape(key)+"/logo")
		out.Organization.Logo = &logo
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.JSON(w, http.StatusOK, out)
}

// getInvitationLogo handles GET /public/invitations/{key}/logo.
func (h *Handler) getInvitationLogo(w http.ResponseWriter, r *http.Request) error {
	height, err := httpapi.Height(r)
	if err != nil {
		return err
	}
	a, err := h.service.InvitationLogo(r.Context(), httpapi.Param(r, "key"), height)
	if err != nil {
		return err
	}
	return serveAvatar(w, r, a, privateCache)
}

type acceptRequest struct {
	Leave *bool `json:"leave"`
	httpapi.ProofRequest
}

// acceptInvitation handles POST /invitations/{key}/accept.
func (h *Handler) acceptInvitation(w http.ResponseWriter, r *http.Request) error {
	var in acceptRequest
	if err := strictjson.DecodeOptional(r, &in); err != nil {
		return err
	}
	if err := h.buckets.TakeGuess(w, r, in.ProofRequest, httpapi.Identity); err != nil {
		return err
	}
	leave := in.Leave != nil && *in.Leave
	idToken, err := h.service.AcceptInvitation(r.Context(), caller(r), httpapi.Param(r, "key"), leave, in.Proof())
	if err != nil {
		return err
	}
	h.setRenewed(w, r, idToken)
	return httpapi.NoContent(w)
}

// listInvitations handles GET /organizations/{uid}/invitations.
func (h *Handler) listInvitations(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	list, err := h.service.Invitations(r.Context(), caller(r), o)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, invitationsFrom(list))
}

type invitationRequest struct {
	Address *string  `json:"address"`
	Shared  *bool    `json:"shared"`
	Roles   []string `json:"roles"`
	httpapi.ProofRequest
}

func (in invitationRequest) domain() identity.NewInvitation {
	return identity.NewInvitation{Shared: in.Shared != nil && *in.Shared, Address: orEmpty(in.Address), Roles: in.Roles}
}

// createInvitation handles POST /organizations/{uid}/invitations. It has its own bucket because invitations are mailed to
// unverified addresses.
func (h *Handler) createInvitation(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	if err := h.buckets.Take(w, r.Context(), invitationBucket, caller(r).Person.String(), httpapi.Identity); err != nil {
		return err
	}
	var in invitationRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	if in.Roles == nil {
		return fault.ErrInvalid.With("roles: is required; it may be an empty list")
	}
	if err := h.buckets.TakeGuess(w, r, in.ProofRequest, httpapi.Identity); err != nil {
		return err
	}
	var parts []ratelimit.Part
	if address, err := identity.NormalizeAddress("address", orEmpty(in.Address)); err == nil { // CreateInvitation reports an invalid address
		if err := h.takeInbox(w, r, address); err != nil {
			return err
		}
		parts = mailParts(r, h.inviteAskerBucket, inviteMailBucket, address)
	}
	var invitation identity.Invitation
	err = h.buckets.TakeAllFor(w, r.Context(), parts, httpapi.Identity, func() (mailed bool, err error) {
		invitation, err = h.service.CreateInvitation(r.Context(), caller(r), o, in.domain(), in.Proof())
		return err == nil, err
	})
	if err != nil {
		return err
	}
	path := "/organizations/" + o.String() + "/invitations/" + url.PathEscape(invitation.Key)
	return httpapi.Created(w, h.locationAt(r, invitation.Organization.Hostname, path), invitationFrom(invitation))
}

// deleteInvitation handles DELETE /organizations/{uid}/invitations/{key}.
func (h *Handler) deleteInvitation(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	if err := h.service.RevokeInvitation(r.Context(), caller(r), o, httpapi.Param(r, "key")); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

type invitationsResponse struct {
	Invitations []invitationResponse `json:"invitations"`
}

type invitationResponse struct {
	Key          string          `json:"key"`
	Shared       bool            `json:"shared"`
	Address      string          `json:"address,omitempty"`
	ExpiresAt    *httpapi.Time   `json:"expiresAt,omitempty"`
	InviterUID   *id.Person      `json:"inviterUid"`
	Roles        []string        `json:"roles"`
	Organization summaryResponse `json:"organization"`
}

type publicInvitationResponse struct {
	Shared       bool             `json:"shared"`
	Address      string           `json:"address,omitempty"`
	ExpiresAt    *httpapi.Time    `json:"expiresAt,omitempty"`
	Inviter      *string          `json:"inviter"`
	Roles        []string         `json:"roles"`
	Organization invitingResponse `json:"organization"`
}

type invitingResponse struct {
	UID  id.Organization `json:"uid"`
	Name *string         `json:"name"`
	URL  string          `json:"url"`
	Logo *string         `json:"logo"`
}

func publicInvitationFrom(i identity.PublicInvitation) publicInvitationResponse {
	return publicInvitationResponse{
		Shared: i.Shared(), Address: i.Address, ExpiresAt: httpapi.TimeOrNil(i.ExpiresAt), Inviter: orNull(i.From()), Roles: i.Roles,
		Organization: invitingResponse{UID: i.Organization.UID, Name: orNull(i.Organization.Name)},
	}
}

func invitationsFrom(list []identity.Invitation) invitationsResponse {
	out := invitationsResponse{Invitations: make([]invitationResponse, len(list))}
	for i, v := range list {
		out.Invitations[i] = invitationFrom(v)
	}
	return out
}

func invitationFrom(i identity.Invitation) invitationResponse {
	return invitationResponse{
		Key: i.Key, Shared: i.Shared(), Address: i.Address, ExpiresAt: httpapi.TimeOrNil(i.ExpiresAt), InviterUID: i.Inviter, Roles: i.Roles,
		Organization: summaryFrom(i.Organization),
	}
}
