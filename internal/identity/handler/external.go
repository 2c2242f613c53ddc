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

// external is where somebody arrives from a provider; a new person's locale is the browser's.
func (h *Handler) external(r *http.Request) service.External {
	return service.External{Client: httpapi.Client(r.Context()), Locale: h.catalog.Match(r.Header.Get("Accept-Language"))}
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
	raw, err := h.service.LoginImplicit(r.Context(), h.external(r), in.Token)
	if err != nil {
		return h.nameHost(w, err, "/oidc/auth/implicit")
	}
	return handOut(w, raw)
}

type codeRequest struct {
	Code     string  `json:"code"`
	Issuer   string  `json:"issuer"`
	ClientID string  `json:"clientId"`
	Verifier *string `json:"code_verifier"`
}

// logInCode handles POST /oidc/auth/code.
func (h *Handler) logInCode(w http.ResponseWriter, r *http.Request) error {
	var in codeRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	raw, err := h.service.LoginCode(r.Context(), h.external(r), service.Code{
		Code: in.Code, Issuer: in.Issuer, ClientID: in.ClientID, Verifier: text(in.Verifier),
	})
	if err != nil {
		return h.nameHost(w, err, "/oidc/auth/code")
	}
	return handOut(w, raw)
}

type preflightRequest struct {
	RedirectURL string `json:"redirectUrl"`
}

type preflightResponse struct {
	State string `json:"state"`
	Token string `json:"token"`
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
	return httpapi.JSON(w, http.StatusOK, preflightResponse(p))
}

// storeFormPost handles POST /oidc/auth/form, which a provider makes the browser send.
func (h *Handler) storeFormPost(w http.ResponseWriter, r *http.Request) error {
	form, err := strictjson.DecodeForm(r)
	if err != nil {
		return err
	}
	var problems fault.Problems
	in := service.FormPost{
		State: text(queryOne(form, &problems, "state")), IDToken: text(queryOne(form, &problems, "id_token")),
		SessionState: text(queryOne(form, &problems, "session_state")), User: text(queryOne(form, &problems, "user")),
		Error: text(queryOne(form, &problems, "error")),
	}
	if err := problems.Err(); err != nil {
		return err
	}
	location, err := h.service.StoreExternal(r.Context(), h.external(r), in)
	if err != nil {
		return err
	}
	http.Redirect(w, r, location, http.StatusSeeOther)
	return nil
}

// claimState handles GET /oidc/auth.
func (h *Handler) claimState(w http.ResponseWriter, r *http.Request) error {
	raw, err := h.service.ClaimExternal(r.Context(), token.CallerFrom(r.Context()))
	if err != nil {
		return h.nameHost(w, err, "/oidc/auth")
	}
	return handOut(w, raw)
}

// logOutExternal handles GET /oidc/auth/logout, which a provider loads in an invisible frame (OpenID Connect
// Front-Channel Logout 1.0).
func (h *Handler) logOutExternal(w http.ResponseWriter, r *http.Request) error {
	var problems fault.Problems
	sid := queryOne(r.URL.Query(), &problems, "sid")
	if err := problems.Err(); err != nil {
		return err
	}
	if err := h.service.LogoutExternal(r.Context(), httpapi.Client(r.Context()), text(sid)); err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, struct{}{})
}

// nameHost returns err, after naming in Link the host at which the same call is right, if that is what is wrong.
func (h *Handler) nameHost(w http.ResponseWriter, err error, path string) error {
	if wrong := new(identity.WrongHost); errors.As(err, &wrong) && wrong.Host != "" {
		w.Header().Set("Link", "<"+h.hosts.URL(wrong.Host, h.base+path)+`>; rel="alternate"`)
	}
	return err
}
