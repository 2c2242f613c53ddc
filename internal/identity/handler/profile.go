package handler

import (
	"net/http"
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
)

// getProfile handles GET /profile.
func (h *Handler) getProfile(w http.ResponseWriter, r *http.Request) error {
	person, err := h.service.Profile(r.Context(), token.CallerFrom(r.Context()))
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, profileFrom(person))
}

type profileRequest struct {
	Name     *string `json:"name"`
	Locale   *string `json:"locale"`
	TimeZone *string `json:"timeZone"`
}

// putProfile handles PUT /profile.
func (h *Handler) putProfile(w http.ResponseWriter, r *http.Request) error {
	var in profileRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	person, err := h.service.UpdateProfile(r.Context(), token.CallerFrom(r.Context()), service.ProfileChange(in))
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, profileFrom(person))
}

// deleteProfile handles DELETE /profile.
func (h *Handler) deleteProfile(w http.ResponseWriter, r *http.Request) error {
	if err := h.service.DeleteProfile(r.Context(), token.CallerFrom(r.Context())); err != nil {
		return err
	}
	http.SetCookie(w, token.AcctCookie("", time.Unix(1, 0), h.secure)) // the session's cookie, if there is one
	return httpapi.NoContent(w)
}

// getProfileAvatar handles GET /profile/avatar.
func (h *Handler) getProfileAvatar(w http.ResponseWriter, r *http.Request) error {
	height, err := avatarHeight(r)
	if err != nil {
		return err
	}
	a, err := h.service.ProfileAvatar(r.Context(), token.CallerFrom(r.Context()), height)
	if err != nil {
		return err
	}
	return serveAvatar(w, r, a, "private, no-cache")
}

// putProfileAvatar handles PUT /profile/avatar.
func (h *Handler) putProfileAvatar(w http.ResponseWriter, r *http.Request) error {
	picture, done, err := receivePicture(r)
	if err != nil {
		return err
	}
	defer done()
	a, err := h.service.PutProfileAvatar(r.Context(), token.CallerFrom(r.Context()), picture)
	if err != nil {
		return err
	}
	w.Header().Set("Location", h.location(r, "", "/profile/avatar"))
	return serveAvatar(w, r, a, "no-store")
}

// deleteProfileAvatar handles DELETE /profile/avatar.
func (h *Handler) deleteProfileAvatar(w http.ResponseWriter, r *http.Request) error {
	if err := h.service.DeleteProfileAvatar(r.Context(), token.CallerFrom(r.Context())); err != nil {
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
}

type emojiResponse struct {
	Name      string `json:"name"`
	CodePoint rune   `json:"codePoint"`
	Title     string `json:"title"`
}

type emailResponse struct {
	Address  string        `json:"address"`
	Primary  bool          `json:"primary"`
	Verified bool          `json:"verified"`
	RemoveAt *httpapi.Time `json:"removeAt"`
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

func emailsFrom(addresses []identity.Address) []emailResponse {
	out := make([]emailResponse, len(addresses))
	for i, a := range addresses {
		out[i] = emailResponse{Address: a.Address, Primary: a.Primary, Verified: a.Verified, RemoveAt: httpapi.TimeOrNil(a.RemoveAt)}
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
