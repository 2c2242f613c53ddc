package handler

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
)

// Installation holds the settings that GET /environment shows for every host.
type Installation struct {
	ProductName      string
	ProductURL       string
	ProviderName     string
	ProviderURL      string
	SupportContact   string
	TransferBasePath string
	DriveURL         string // empty without a drive
	OnPremises       bool
	RedirectURL      string // the redirect URL of external identity providers
}

// environmentPath is the alias of /environment (contract 3.9).
const environmentPath = "/.well-known/consign-environment"

// The Cache-Control of public resources, in seconds. A route with a bucket may set the cookie of an anonymous session, so
// its answers must not be kept in shared caches.
const (
	publicCache  = "max-age=600"
	privateCache = "private, " + publicCache
)

type environmentResponse struct {
	BaseURLID           string                     `json:"baseUrlId"`
	BaseURLSKP          string                     `json:"baseUrlSkp"`
	BaseURLDrive        string                     `json:"baseUrlDrive"`
	AvailableLocales    []string                   `json:"availableLocales"`
	OnPremises          bool                       `json:"onPremises"`
	ProductName         string                     `json:"productName"`
	ProductURL          string                     `json:"productUrl"`
	ProviderName        string                     `json:"providerName"`
	ProviderURL         string                     `json:"providerUrl"`
	SupportContact      string                     `json:"supportContact"`
	OrganizationProfile publicOrganizationResponse `json:"organizationProfile"`
	OIDCSettings        oidcSettingsResponse       `json:"oidcSettings"`
	Limitations         map[string]any             `json:"limitations"`
}

type publicOrganizationResponse struct {
	Name string `json:"name"`
	addressResponse
	UID               id.Organization `json:"uid"`
	Hostname          string          `json:"hostname"`
	InactiveHostnames []string        `json:"inactiveHostnames"`
	Assets            []assetResponse `json:"assets"`
	MFARequired       bool            `json:"mfaRequired"`
}

type assetResponse struct {
	Type      string `json:"type"`
	URL       string `json:"url"`
	MediaType string `json:"mediaType"`
}

type oidcSettingsResponse struct {
	RedirectURL string               `json:"redirectUrl"`
	Clients     []oidcClientResponse `json:"clients"`
}

type oidcClientResponse struct {
	Type     string `json:"type"`
	Issuer   string `json:"issuer"`
	ClientID string `json:"clientId"`
	Name     string `json:"name,omitempty"`
}

// getEnvironment handles GET /environment and its aliases.
func (h *Handler) getEnvironment(w http.ResponseWriter, r *http.Request) error {
	e, err := h.service.Environment(r.Context(), httpapi.Client(r.Context()))
	if err != nil {
		return err
	}
	body, err := json.Marshal(h.environmentFrom(e))
	if err != nil {
		return err
	}
	return servePublic(w, r, publicCache, "application/json", append(body, '\n'))
}

func (h *Handler) environmentFrom(e service.Environment) environmentResponse {
	o, i := e.Organization, h.installation
	out := environmentResponse{
		BaseURLID: h.hosts.URL(e.Host, h.base), BaseURLSKP: h.hosts.URL(e.Host, i.TransferBasePath), BaseURLDrive: i.DriveURL,
		AvailableLocales: i18n.Locales(), OnPremises: i.OnPremises, ProductName: i.ProductName, ProductURL: i.ProductURL,
		ProviderName: i.ProviderName, ProviderURL: i.ProviderURL, SupportContact: i.SupportContact,
		OrganizationProfile: publicOrganizationResponse{
			Name: o.Profile.Name, addressResponse: addressFrom(o.Profile), UID: o.UID, Hostname: e.Host,
			InactiveHostnames: o.Profile.InactiveHostnames, Assets: h.assets(e), MFARequired: o.MFARequired,
		},
		OIDCSettings: oidcSettingsResponse{RedirectURL: i.RedirectURL, Clients: make([]oidcClientResponse, len(e.Providers))},
		Limitations:  limitationsFrom(o.UID, e.Limits),
	}
	if out.OrganizationProfile.Name == "" {
		out.OrganizationProfile.Name = i.ProductName // the member is required, but an organization may have no name yet
	}
	for n, c := range e.Providers {
		out.OIDCSettings.Clients[n] = oidcClientResponse{Type: string(c.Type), Issuer: c.Issuer, ClientID: c.ClientID, Name: c.Name}
	}
	return out
}

func limitationsFrom(o id.Organization, l identity.Limits) map[string]any {
	out := map[string]any{"orgUid": o}
	for _, x := range identity.Limitations() {
		out[x.Name] = x.Of(l)
	}
	return out
}

// assets returns the public URLs of an organization's logo and theme. A URL changes with its content.
func (h *Handler) assets(e service.Environment) []assetResponse {
	list := []assetResponse{}
	if e.LogoVersion != "" {
		version := url.QueryEscape(strings.Trim(e.LogoVersion, `"`)[:12])
		list = append(list, assetResponse{Type: "logo", URL: h.hosts.URL(e.Host, h.base+"/assets/logo?v="+version), MediaType: "image/jpeg"})
	}
	if theme := e.Organization.Theme; !theme.IsZero() {
		version := url.QueryEscape(strings.ReplaceAll(theme.PrimaryColor+theme.BackgroundColor, "#", ""))
		list = append(list, assetResponse{Type: "theme", URL: h.hosts.URL(e.Host, h.base+"/assets/theme?v="+version),
			MediaType: "application/json"})
	}
	return list
}

// getTheme handles GET /assets/theme.
func (h *Handler) getTheme(w http.ResponseWriter, r *http.Request) error {
	theme, err := h.service.Theme(r.Context(), httpapi.Client(r.Context()))
	if err != nil {
		return err
	}
	body, err := json.Marshal(themeFrom(theme))
	if err != nil {
		return err
	}
	return servePublic(w, r, privateCache, "application/json", append(body, '\n'))
}

const typePO = "text/x-gettext-translation"

// getBundle handles GET /i18n/{locale}.
func (h *Handler) getBundle(w http.ResponseWriter, r *http.Request) error {
	locale := httpapi.Param(r, "locale")
	kind, acceptable := httpapi.Negotiate(r, "application/json", typePO)
	if !acceptable { // unreachable: the route's Produces refuses such requests
		return fault.ErrNotAcceptable
	}
	bundle, found := h.catalog.JED(locale)
	if kind == typePO {
		bundle, found = h.catalog.PO(locale)
		kind += "; charset=utf-8"
	}
	if !found {
		return identity.ErrLocaleNotFound
	}
	w.Header().Add("Vary", "Accept")
	return servePublic(w, r, privateCache, kind, bundle)
}

// servePublic answers with a cacheable body, or with 304 when If-None-Match has its ETag.
func servePublic(w http.ResponseWriter, r *http.Request, cache, mediaType string, body []byte) error {
	sum := sha256.Sum256(body)
	header := w.Header()
	header.Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:16])+`"`)
	header.Set("Cache-Control", cache)
	header.Set("Content-Type", mediaType)
	return httpapi.Document(w, r, body)
}
