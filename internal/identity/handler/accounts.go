package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/token"
)

type signUpRequest struct {
	Address  string  `json:"address"`
	Password string  `json:"password"`
	Name     *string `json:"name"`
	Locale   *string `json:"locale"`
	TimeZone *string `json:"timeZone"`
}

func (in signUpRequest) domain() service.NewAccount {
	return service.NewAccount{
		Address: in.Address, Password: in.Password, Name: text(in.Name), Locale: text(in.Locale), TimeZone: text(in.TimeZone),
	}
}

// signUp handles POST /signup.
func (h *Handler) signUp(w http.ResponseWriter, r *http.Request) error {
	var in signUpRequest
	if err := httpapi.Decode(r, &in); err != nil {
		return err
	}
	account := in.domain()
	if account.Locale == "" {
		account.Locale = h.catalog.Match(r.Header.Get("Accept-Language"))
	}
	raw, err := h.service.SignUp(r.Context(), httpapi.Client(r.Context()), account)
	if err != nil {
		return err
	}
	return handOut(w, raw)
}

type addressRequest struct {
	Address string `json:"address"`
}

// findProvider handles POST /auth/exists.
func (h *Handler) findProvider(w http.ResponseWriter, r *http.Request) error {
	var in addressRequest
	if err := httpapi.Decode(r, &in); err != nil {
		return err
	}
	issuer, err := h.service.Exists(r.Context(), httpapi.Client(r.Context()), in.Address)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, struct {
		Provider string `json:"provider"`
	}{issuer})
}

// readProfile handles GET /profile.
func (h *Handler) readProfile(w http.ResponseWriter, r *http.Request) error {
	person, err := h.service.Profile(r.Context(), token.CallerFrom(r.Context()))
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, profileFrom(person))
}

type profileResponse struct {
	UID         id.Person     `json:"uid"`
	Name        string        `json:"name,omitempty"`
	Locale      string        `json:"locale"`
	TimeZone    string        `json:"timeZone"`
	HasAvatar   bool          `json:"hasAvatar"`
	Fingerprint []emoji       `json:"fingerprint"`
	CreatedAt   httpapi.Time  `json:"createdAt"`
	LastLoginAt *httpapi.Time `json:"lastLoginAt,omitempty"`
	Emails      []email       `json:"emails"`
	Membership  *membership   `json:"membership"`
}

type emoji struct {
	Name      string `json:"name"`
	CodePoint rune   `json:"codePoint"`
	Title     string `json:"title"`
}

type email struct {
	Address  string        `json:"address"`
	Primary  bool          `json:"primary"`
	Verified bool          `json:"verified"`
	RemoveAt *httpapi.Time `json:"removeAt"`
}

type membership struct {
	Organization organizationSummary `json:"organization"`
	Roles        []string            `json:"roles"`
}

type organizationSummary struct {
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
		out.Fingerprint = append(out.Fingerprint, emoji(e))
	}
	if p.Organization != nil {
		out.Membership = &membership{Organization: summaryFrom(*p.Organization), Roles: p.Roles}
	}
	return out
}

func emailsFrom(addresses []identity.Address) []email {
	out := make([]email, len(addresses))
	for i, a := range addresses {
		out[i] = email{Address: a.Address, Primary: a.Primary, Verified: a.Verified, RemoveAt: httpapi.TimeOrNil(a.RemoveAt)}
	}
	return out
}

func summaryFrom(o identity.Organization) organizationSummary {
	return organizationSummary{
		UID: o.UID, Name: o.Name, HasAvatar: o.HasAvatar, SelfSignup: o.Free, Locale: o.Locale, TimeZone: o.TimeZone,
		Hostname: o.Hostname, GlobalSignature: o.GlobalSignature, LegalNoticeURL: o.LegalNoticeURL,
		PrivacyPolicyURL: o.PrivacyPolicyURL, MFARequired: o.MFARequired,
	}
}

// text is an optional string, empty if it is absent or null.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
