package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/strictjson"
)

// getProfile handles GET /profile.
func (h *Handler) getProfile(w http.ResponseWriter, r *http.Request) error {
	person, err := h.service.Profile(r.Context(), caller(r))
	if err != nil {
		return err
	}
	out := profileFrom(person)
	if out.LegalHold, err = h.service.Held(r.Context(), caller(r)); err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, out)
}

type profileRequest struct {
	Name     *string `json:"name"`
	Locale   *string `json:"locale"`
	TimeZone *string `json:"timeZone"`
}

func (in profileRequest) domain() identity.ProfileChange { return identity.ProfileChange(in) }

// putProfile handles PUT /profile.
func (h *Handler) putProfile(w http.ResponseWriter, r *http.Request) error {
	var in profileRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	person, err := h.service.PutProfile(r.Context(), caller(r), in.domain())
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, profileFrom(person))
}

// deleteProfile handles DELETE /profile.
func (h *Handler) deleteProfile(w http.ResponseWriter, r *http.Request) error {
	proof, err := h.buckets.Proof(w, r, httpapi.Identity)
	if err != nil {
		return err
	}
	c := caller(r)
	if err := h.service.DeleteProfile(r.Context(), c, proof); err != nil {
		return err
	}
	h.expireCookies(w, r, c)
	return httpapi.NoContent(w)
}

// getProfileAvatar handles GET /profile/avatar.
func (h *Handler) getProfileAvatar(w http.ResponseWriter, r *http.Request) error {
	height, err := httpapi.Height(r)
	if err != nil {
		return err
	}
	a, err := h.service.ProfileAvatar(r.Context(), caller(r), height)
	if err != nil {
		return err
	}
	return serveAvatar(w, r, a, "private, no-cache")
}

// putProfileAvatar handles PUT /profile/avatar.
func (h *Handler) putProfileAvatar(w http.ResponseWriter, r *http.Request) error {
	picture, done, err := httpapi.ReceivePicture(r)
	if err != nil {
		return err
	}
	defer done()
	a, err := h.service.PutProfileAvatar(r.Context(), caller(r), picture)
	if err != nil {
		return err
	}
	w.Header().Set("Location", h.location(r, "/profile/avatar"))
	return serveAvatar(w, r, a, "no-store")
}

// deleteProfileAvatar handles DELETE /profile/avatar.
func (h *Handler) deleteProfileAvatar(w http.ResponseWriter, r *http.Request) error {
	if err := h.service.DeleteProfileAvatar(r.Context(), caller(r)); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

type profileResponse struct {
	UID         id.Person           `json:"uid"`
	Name        string              `json:"name,omitempty"`
	Locale      string              `json:"locale"`
	TimeZone    string              `json:"timeZone"`
	HasAvatar   bool                `json:"hasAvatar"`
	Fingerprint []emojiResponse     `json:"fingerprint"`
	CreatedAt   httpapi.Time        `json:"createdAt"`
	LastLoginAt *httpapi.Time       `json:"lastLoginAt,omitempty"`
	Emails      []emailResponse     `json:"emails"`
	Membership  *membershipResponse `json:"membership"`
	LegalHold   bool                `json:"legalHold,omitempty"`
}

type emojiResponse struct {
	Name      string `json:"name"`
	CodePoint rune   `json:"codePoint"`
	Title     string `json:"title"`
}

type membershipResponse struct {
	Organization summaryResponse `json:"organization"`
	Roles        []string        `json:"roles"`
}

type summaryResponse struct {
	UID              id.Organization `json:"uid"`
	Name             string          `json:"name"`
	HasAvatar        bool            `json:"hasAvatar"`
	SelfSignup       bool            `json:"selfSignup"`
	Locale           string          `json:"locale"`
	TimeZone         string          `json:"timeZone"`
	Hostname         string          `json:"hostname"`
	GlobalSignature  string          `json:"globalSignature,omitempty"`
	LegalNoticeURL   string          `json:"legalNoticeUrl,omitempty"`
	PrivacyPolicyURL string          `json:"privacyPolicyUrl,omitempty"`
	MFARequired      bool            `json:"mfaRequired"`
}

func profileFrom(p identity.Person) profileResponse {
	out := profileResponse{
		UID: p.UID, Name: p.Name, Locale: p.Locale, TimeZone: p.TimeZone, HasAvatar: p.HasAvatar,
		CreatedAt: httpapi.Time(p.CreatedAt), LastLoginAt: httpapi.TimeOrNil(p.LastLoginAt), Emails: emailsFrom(p.Emails),
	}
	for _, e := range identity.Fingerprint(p.UID) {
		out.Fingerprint = append(out.Fingerprint, emojiResponse(e))
	}
	if p.Organization != nil {
		out.Membership = &membershipResponse{Organization: summaryFrom(*p.Organization), Roles: p.Roles}
	}
	return out
}

func summaryFrom(o identity.Organization) summaryResponse {
	return summaryResponse{
		UID: o.UID, Name: o.Name, HasAvatar: o.HasAvatar, SelfSignup: o.Free, Locale: o.Locale, TimeZone: o.TimeZone,
		Hostname: o.Hostname, GlobalSignature: o.GlobalSignature, LegalNoticeURL: o.LegalNoticeURL,
		PrivacyPolicyURL: o.PrivacyPolicyURL, MFARequired: o.MFARequired,
	}
}
