package handler

import (
	"errors"
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/identity/session"
	"github.com/consign-dev/consign/internal/strictjson"
)

// external returns the client of an external login. A new person gets the browser's locale.
func (h *Handler) external(w http.ResponseWriter, r *http.Request) service.External {
	return service.External{
		Client: httpapi.Client(r.Context()), Locale: h.catalog.Match(r.Header.Get("Accept-Language")), Devices: h.devicesOf(r),
		Mailing: func(address string, work func() error) error { return h.verifying(w, r, address, work) },
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
	var signedIn session.SignedIn
	err := h.guess(w, r, func() (err error) {
		signedIn, err = h.service.LoginImplicit(r.Context(), h.external(w, r), in.Token)
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
	var signedIn session.SignedIn
	err := h.guess(w, r, func() (err error) {
		signedIn, err = h.service.LoginCode(r.Context(), h.external(w, r), in.domain())
		return err
	})
	if err != nil {
		return h.setHomeHost(w, err, "/oidc/auth/code")
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
