package handler

import (
	"net/http"
	"net/url"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
)

// listMyInvitations handles GET /invitations.
func (h *Handler) listMyInvitations(w http.ResponseWriter, r *http.Request) error {
	list, err := h.service.MyInvitations(r.Context(), token.CallerFrom(r.Context()))
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, invitationsFrom(list))
}

// acceptInvitation handles POST /invitations/{key}/accept.
func (h *Handler) acceptInvitation(w http.ResponseWriter, r *http.Request) error {
	idToken, err := h.service.Accept(r.Context(), token.CallerFrom(r.Context()), httpapi.Param(r, "key"))
	if err != nil {
		return err
	}
	renewed(w, idToken)
	return httpapi.NoContent(w)
}

// listInvitations handles GET /organizations/{uid}/invitations.
func (h *Handler) listInvitations(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	list, err := h.service.Invitations(r.Context(), token.CallerFrom(r.Context()), o)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, invitationsFrom(list))
}

type invitationRequest struct {
	Address *string  `json:"address"`
	Shared  *bool    `json:"shared"`
	Roles   []string `json:"roles"`
}

// createInvitation handles POST /organizations/{uid}/invitations. Its bucket is the organization's: invitations are mailed
// to addresses that nobody has proved.
func (h *Handler) createInvitation(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	if err := h.buckets.Take(w, r.Context(), invitationBucket, token.CallerFrom(r.Context()).Person.String(), httpapi.Identity); err != nil {
		return err
	}
	var in invitationRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	if in.Roles == nil {
		return fault.ErrInvalid.With("roles: is required; an empty list is fine")
	}
	if address, err := service.NormalizeAddress("address", text(in.Address)); err == nil { // whatever is wrong with it, Invite says
		if err := h.takeInbox(w, r, address); err != nil {
			return err
		}
	}
	invitation, err := h.service.Invite(r.Context(), token.CallerFrom(r.Context()), o, service.NewInvitation{
		Shared: in.Shared != nil && *in.Shared, Address: text(in.Address), Roles: in.Roles,
	})
	if err != nil {
		return err
	}
	path := "/organizations/" + o.String() + "/invitations/" + url.PathEscape(invitation.Key)
	return httpapi.Created(w, h.location(r, invitation.Organization.Hostname, path), invitationFrom(invitation))
}

// deleteInvitation handles DELETE /organizations/{uid}/invitations/{key}.
func (h *Handler) deleteInvitation(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	if err := h.service.RevokeInvitation(r.Context(), token.CallerFrom(r.Context()), o, httpapi.Param(r, "key")); err != nil {
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
