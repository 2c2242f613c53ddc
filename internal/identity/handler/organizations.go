// Organizations over HTTP: create, profile, theme, leave and delete.

package handler

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/strictjson"
)

type organizationRequest struct {
	Name     *string `json:"name"`
	Locale   *string `json:"locale"`
	TimeZone *string `json:"timeZone"`
}

func (in organizationRequest) domain() service.NewOrganization {
	return service.NewOrganization{Name: orEmpty(in.Name), Locale: orEmpty(in.Locale), TimeZone: orEmpty(in.TimeZone)}
}

// createOrganization handles POST /organizations.
func (h *Handler) createOrganization(w http.ResponseWriter, r *http.Request) error {
	var in organizationRequest
	if err := strictjson.DecodeOptional(r, &in); err != nil {
		return err
	}
	o, idToken, err := h.service.CreateOrganization(r.Context(), caller(r), in.domain())
	if err != nil {
		return err
	}
	h.setRenewed(w, r, idToken)
	return httpapi.Created(w, h.locationAt(r, o.Profile.Hostname, "/organizations/"+o.UID.String()), organizationFrom(o))
}

// getOrganization handles GET /organizations/{uid}.
func (h *Handler) getOrganization(w http.ResponseWriter, r *http.Request) error {
	o, err := h.ownOrganization(r)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, organizationFrom(o))
}

// leaveOrganization handles POST /organizations/{uid}/leave.
func (h *Handler) leaveOrganization(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	proof, err := h.buckets.Proof(w, r, httpapi.Identity)
	if err != nil {
		return err
	}
	idToken, err := h.service.LeaveOrganization(r.Context(), caller(r), o, proof)
	if err != nil {
		return err
	}
	h.setRenewed(w, r, idToken)
	return httpapi.NoContent(w)
}

// deleteOrganization handles DELETE /organizations/{uid}.
func (h *Handler) deleteOrganization(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	proof, err := h.buckets.Proof(w, r, httpapi.Identity)
	if err != nil {
		return err
	}
	idToken, err := h.service.DeleteOrganization(r.Context(), caller(r), o, proof)
	if err != nil {
		return err
	}
	h.setRenewed(w, r, idToken)
	return httpapi.NoContent(w)
}

// getOrganizationProfile handles GET /organizations/{uid}/profile. For administrators the Link header names the TXT
// record of a hostname that is not verified yet.
func (h *Handler) getOrganizationProfile(w http.ResponseWriter, r *http.Request) error {
	o, err := h.ownOrganization(r)
	if err != nil {
		return err
	}
	claim, err := h.service.HostClaim(r.Context(), caller(r), o.UID)
	if err != nil {
		return err
	}
	setVerifyLink(w, claim)
	return httpapi.JSON(w, http.StatusOK, organizationProfileFrom(o.Profile))
}

// putOrganizationProfile handles PUT /organizations/{uid}/profile.
func (h *Handler) putOrganizationProfile(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	var in organizationProfileRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	profile, err := in.domain()
	if err != nil {
		return err
	}
	if err := h.buckets.TakeGuess(w, r, in.ProofRequest, httpapi.Identity); err != nil {
		return err
	}
	after, claim, err := h.service.PutOrganizationProfile(r.Context(), caller(r), o, profile, in.Proof())
	if err != nil {
		return err
	}
	setVerifyLink(w, claim)
	return httpapi.JSON(w, http.StatusOK, organizationProfileFrom(after.Profile))
}

// setVerifyLink sets the Link header to the TXT record that verifies a hostname (contract 3.11): the record's name as a
// DNS URI (RFC 4501) and the key that the record must hold.
func setVerifyLink(w http.ResponseWriter, claim identity.HostClaim) {
	if claim.Host != "" {
		w.Header().Set("Link", fmt.Sprintf(`<dns:%s?type=TXT>; rel="verify"; key=%q`, claim.Record(), claim.Key))
	}
}

type themeRequest struct {
	PrimaryColor    *string `json:"primaryColor"`
	BackgroundColor *string `json:"backgroundColor"`
}

func (in themeRequest) domain() identity.Theme {
	return identity.Theme{PrimaryColor: orEmpty(in.PrimaryColor), BackgroundColor: orEmpty(in.BackgroundColor)}
}

type themeResponse struct {
	PrimaryColor    string `json:"primaryColor,omitempty"`
	BackgroundColor string `json:"backgroundColor,omitempty"`
}

func themeFrom(t identity.Theme) themeResponse { return themeResponse(t) }

// putTheme handles PUT /organizations/{uid}/theme.
func (h *Handler) putTheme(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	var in themeRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	theme := in.domain()
	if theme.IsZero() {
		return fault.ErrInvalid.With("primaryColor: is required without a backgroundColor")
	}
	theme, err = h.service.PutTheme(r.Context(), caller(r), o, theme)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, themeFrom(theme))
}

// deleteTheme handles DELETE /organizations/{uid}/theme.
func (h *Handler) deleteTheme(w http.ResponseWriter, r *http.Request) error {
	o, err := organizationUID(r)
	if err != nil {
		return err
	}
	if _, err := h.service.PutTheme(r.Context(), caller(r), o, identity.Theme{}); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// ownOrganization returns the organization of the path, of which the caller must be a member.
func (h *Handler) ownOrganization(r *http.Request) (identity.OrganizationDetails, error) {
	o, err := organizationUID(r)
	if err != nil {
		return identity.OrganizationDetails{}, err
	}
	return h.service.Organization(r.Context(), caller(r), o)
}

// organizationUID parses the path parameter uid.
// Errors: identity.ErrOrganizationNotFound when it is not a uid.
func organizationUID(r *http.Request) (id.Organization, error) {
	o, err := id.Parse[id.Organization](httpapi.Param(r, "uid"))
	if err != nil {
		return o, identity.ErrOrganizationNotFound
	}
	return o, nil
}

type organizationResponse struct {
	UID           id.Organization             `json:"uid"`
	ExternalUID   string                      `json:"externalUid,omitempty"`
	HasAvatar     bool                        `json:"hasAvatar"`
	Profile       organizationProfileResponse `json:"profile"`
	Subscriptions []subscriptionResponse      `json:"subscriptions"`
}

type subscriptionResponse struct {
	OrgUID      id.Organization `json:"orgUid"`
	CreatedAt   httpapi.Time    `json:"createdAt"`
	Updated     httpapi.Time    `json:"updated"`
	ExpiresAt   *httpapi.Time   `json:"expiresAt"`
	Status      *string         `json:"status"`
	Domain      *string         `json:"domain"`
	ProductID   *string         `json:"productId"`
	DisplayName *string         `json:"displayName"`
}

func organizationFrom(o identity.OrganizationDetails) organizationResponse {
	out := organizationResponse{
		UID: o.UID, ExternalUID: o.ExternalUID, HasAvatar: o.HasAvatar, Profile: organizationProfileFrom(o.Profile),
		Subscriptions: make([]subscriptionResponse, len(o.Subscriptions)),
	}
	for i, s := range o.Subscriptions {
		out.Subscriptions[i] = subscriptionResponse{
			OrgUID: s.Organization, CreatedAt: httpapi.Time(s.CreatedAt), Updated: httpapi.Time(s.UpdatedAt),
			ExpiresAt: httpapi.TimeOrNil(s.ExpiresAt),
		}
		if s.ProductID != "" {
			out.Subscriptions[i].Status, out.Subscriptions[i].Domain = orNull(s.Status), orNull(s.Domain)
			out.Subscriptions[i].ProductID, out.Subscriptions[i].DisplayName = &s.ProductID, orNull(s.DisplayName)
		}
	}
	return out
}

// addressResponse holds the members that the profile and the client environment share.
type addressResponse struct {
	AddressLine1     string `json:"addressLine1,omitempty"`
	AddressLine2     string `json:"addressLine2,omitempty"`
	PostCode         string `json:"postCode,omitempty"`
	City             string `json:"city,omitempty"`
	State            string `json:"state,omitempty"`
	Country          string `json:"country,omitempty"`
	PhoneNumber      string `json:"phoneNumber,omitempty"`
	GlobalSignature  string `json:"globalSignature,omitempty"`
	LegalNoticeURL   string `json:"legalNoticeUrl,omitempty"`
	PrivacyPolicyURL string `json:"privacyPolicyUrl,omitempty"`
	Locale           string `json:"locale"`
	TimeZone         string `json:"timeZone"`
}

func addressFrom(p identity.OrganizationProfile) addressResponse {
	return addressResponse{
		AddressLine1: p.AddressLine1, AddressLine2: p.AddressLine2, PostCode: p.PostCode, City: p.City, State: p.State, Country: p.Country,
		PhoneNumber: p.PhoneNumber, GlobalSignature: p.GlobalSignature, LegalNoticeURL: p.LegalNoticeURL, PrivacyPolicyURL: p.PrivacyPolicyURL,
		Locale: p.Locale, TimeZone: p.TimeZone,
	}
}

type organizationProfileResponse struct {
	Name *string `json:"name"`
	addressResponse
	Hostname          string   `json:"hostname,omitempty"`
	InactiveHostnames []string `json:"inactiveHostnames"`
}

func organizationProfileFrom(p identity.OrganizationProfile) organizationProfileResponse {
	return organizationProfileResponse{
		Name: orNull(p.Name), addressResponse: addressFrom(p), Hostname: p.Hostname, InactiveHostnames: p.InactiveHostnames,
	}
}

// organizationProfileRequest is the whole profile. What else an OrganizationChange has is no member of it.
type organizationProfileRequest struct {
	Name presentText `json:"name"`
	identity.OrganizationChange
	Hostname          *string  `json:"hostname"`
	InactiveHostnames []string `json:"inactiveHostnames"`
	httpapi.ProofRequest
}

// domain checks that the required members are present. The service checks their values.
func (in *organizationProfileRequest) domain() (identity.OrganizationProfile, error) {
	var problems fault.Problems
	if !in.Name.present {
		problems.Add("name", "is required; it may be null")
	}
	if in.InactiveHostnames == nil {
		problems.Add("inactiveHostnames", "is required; it may be an empty list")
	}
	if in.Locale == nil {
		problems.Add("locale", "is required")
	}
	if in.TimeZone == nil {
		problems.Add("timeZone", "is required")
	}
	var o identity.OrganizationDetails
	in.Apply(&o)
	o.Profile.Name, o.Profile.Hostname, o.Profile.InactiveHostnames = in.Name.value, orEmpty(in.Hostname), in.InactiveHostnames
	return o.Profile, problems.Err()
}

// presentText is a member that is required and may be null.
type presentText struct {
	value   string
	present bool
}

var errNotText = errors.New("is neither a string nor null")

// UnmarshalJSON implements json.Unmarshaler.
func (t *presentText) UnmarshalJSON(raw []byte) error {
	t.present = true
	if string(raw) == "null" {
		return nil
	}
	if err := json.Unmarshal(raw, &t.value); err != nil {
		return errNotText
	}
	return nil
}
