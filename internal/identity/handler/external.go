package handler

import (
	"errors"
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
)

// external returns the client of an external login. A new person gets the browser's locale.
func (h *Handler) external(r *http.Request) service.External {
	return service.External{
		Client: httpapi.Client(r.Context()), Locale: h.catalog.Match(r.Header.Get("Accept-Language")), Devices: h.devicesOf(r),
	}
}

type implicitRequest struct {
	Token string `json:"token"`
}

// logInImplicit handles POST /oidc/auth/implicit.
func (h *Handler) logInImplicit(w http.ResponseWriter, r *http.Request) error {
	var in implicitRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	var signedIn service.SignedIn
	err := h.guess(w, r, func() (err error) {
		signedIn, err = h.service.LoginImplicit(r.Context(), h.external(r), in.Token)
		return err
	})
	if err != nil {
		return h.setHomeHost(w, err, "/oidc/auth/implicit")
	}
	return h.respondSignedIn(w, r, signedIn)
}

type codeRequest struct {
	Code     string  `json:"code"`
	Issuer   string  `json:"issuer"`
	ClientID string  `json:"clientId"`
	Verifier *string `json:"code_verifier"`
}

func (in codeRequest) domain() service.Code {
	return service.Code{Code: in.Code, Issuer: in.Issuer, ClientID: in.ClientID, Verifier: orEmpty(in.Verifier)}
}

// logInCode handles POST /oidc/auth/code.
func (h *Handler) logInCode(w http.ResponseWriter, r *http.Request) error {
	var in codeRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	var signedIn service.SignedIn
	err := h.guess(w, r, func() (err error) {
		signedIn, err = h.service.LoginCode(r.Context(), h.external(r), in.domain())
		return err
	})
	if err != nil {
		return h.setHomeHost(w, err, "/oidc/auth/code")
	}
	return h.respondSignedIn(w, r, signedIn)
}

type preflightRequest struct {
	RedirectURL string `json:"redirectUrl"`
}

type preflightResponse struct {
	State string     `json:"state"`
	Token string     `json:"token"`
	Kind  token.Kind `json:"kind"`
}

// registerState handles POST /oidc/auth.
func (h *Handler) registerState(w http.ResponseWriter, r *http.Request) error {
	var in preflightRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	p, err := h.service.RegisterExternal(r.Context(), httpapi.Client(r.Context()), in.RedirectURL)
	if err != nil {
		return err
	}
	http.SetCookie(w, h.preflight(p))
	return httpapi.JSON(w, http.StatusOK, preflightResponse{p.State, p.Token, token.KindPreflight})
}

// preflightCookie is the cookie that binds a login by form post to its browser (contract 3.14).
const preflightCookie = "preflight"

// preflight returns the cookie of a registered state. The provider's form post is a request from another site, so the
// cookie is SameSite=None; browsers accept that from https only.
func (h *Handler) preflight(p service.Preflight) *http.Cookie {
	site := http.SameSiteNoneMode
	if !h.secure {
		site = http.SameSiteLaxMode
	}
	c := httpapi.HostCookie(preflightCookie, p.Binding, h.secure, site)
	c.Expires = p.ExpiresAt
	return c
}

// storeFormPost handles POST /oidc/auth/form. A page of the provider makes the browser send it.
func (h *Handler) storeFormPost(w http.ResponseWriter, r *http.Request) error {
	form, err := strictjson.DecodeForm(r)
	if err != nil {
		return err
	}
	var problems fault.Problems
	in := service.FormPost{
		State: orEmpty(queryOne(form, &problems, "state")), IDToken: orEmpty(queryOne(form, &problems, "id_token")),
		SessionState: orEmpty(queryOne(form, &problems, "session_state")), User: orEmpty(queryOne(form, &problems, "user")),
		Error: orEmpty(queryOne(form, &problems, "error")),
	}
	if err := problems.Err(); err != nil {
		return err
	}
	if c, err := r.Cookie(httpapi.HostCookieName(preflightCookie, h.secure)); err == nil {
		in.Binding = c.Value
	}
	location, err := h.service.StoreExternal(r.Context(), h.external(r), in)
	if err != nil {
		return err
	}
	w.Header().Set("Referrer-Policy", "no-referrer") // the location may have a claim
	http.Redirect(w, r, location, http.StatusSeeOther)
	return nil
}

// claimState handles GET /oidc/auth.
func (h *Handler) claimState(w http.ResponseWriter, r *http.Request) error {
	var problems fault.Problems
	claim := queryOne(r.URL.Query(), &problems, "claim")
	if err := problems.Err(); err != nil {
		return err
	}
	var signedIn service.SignedIn
	err := h.guess(w, r, func() (err error) {
		signedIn, err = h.service.ClaimExternal(r.Context(), h.external(r), caller(r).State, orEmpty(claim))
		return err
	})
	if err != nil {
		return h.setHomeHost(w, err, "/oidc/auth")
	}
	return h.respondSignedIn(w, r, signedIn)
}

// logOutExternal handles GET /oidc/auth/logout. The provider loads it in a hidden frame (OpenID Connect Front-Channel
// Logout 1.0).
func (h *Handler) logOutExternal(w http.ResponseWriter, r *http.Request) error {
	var problems fault.Problems
	sid, issuer := queryOne(r.URL.Query(), &problems, "sid"), queryOne(r.URL.Query(), &problems, "iss")
	if err := problems.Err(); err != nil {
		return err
	}
	if err := h.service.LogoutExternal(r.Context(), httpapi.Client(r.Context()), orEmpty(sid), orEmpty(issuer)); err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, struct{}{})
}

// setHomeHost returns err. When err is identity.ErrWrongHost, the Link header gets the URL of path at the person's home
// host.
func (h *Handler) setHomeHost(w http.ResponseWriter, err error, path string) error {
	if wrong := new(identity.WrongHost); errors.As(err, &wrong) && wrong.Host != "" {
		w.Header().Set("Link", "<"+h.hosts.URL(wrong.Host, h.base+path)+`>; rel="alternate"`)
	}
	return err
}
