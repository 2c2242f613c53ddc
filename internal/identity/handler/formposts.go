// Logins by form post: their routes and cookies.

package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/identity/session"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
)

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

// The cookies of logins by form post (contract 3.14): preflight binds a login to the browser that began it, confirmation to
// the one that posted the form.
const (
	preflightCookie    = "preflight"
	confirmationCookie = "confirmation"
)

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

// cookieValue returns the value of a host-only cookie of the request, empty without it.
func (h *Handler) cookieValue(r *http.Request, name string) string {
	c, err := r.Cookie(httpapi.HostCookieName(name, h.secure))
	if err != nil {
		return ""
	}
	return c.Value
}

// storeFormPost handles POST /oidc/auth/form. A page of the provider makes the browser send it to PUBLIC_URL's host. At another
// host, whose name may lead elsewhere, nobody is asked to confirm a login.
func (h *Handler) storeFormPost(w http.ResponseWriter, r *http.Request) error {
	if httpapi.Client(r.Context()).HostName != h.publicHost {
		return fault.ErrNotFound
	}
	form, err := strictjson.DecodeForm(r)
	if err != nil {
		return err
	}
	var problems fault.Problems
	in := service.FormPost{
		State: orEmpty(queryOne(form, &problems, "state")), IDToken: orEmpty(queryOne(form, &problems, "id_token")),
		SessionState: orEmpty(queryOne(form, &problems, "session_state")), User: orEmpty(queryOne(form, &problems, "user")),
		Error: orEmpty(queryOne(form, &problems, "error")), Binding: h.cookieValue(r, preflightCookie),
	}
	if err := problems.Err(); err != nil {
		return err
	}
	posted, err := h.service.StoreExternal(r.Context(), h.external(w, r), in)
	if err != nil {
		return err
	}
	if posted.Confirmation != "" {
		c := httpapi.HostCookie(confirmationCookie, posted.Confirmation, h.secure, http.SameSiteStrictMode)
		c.Expires = posted.ExpiresAt
		http.SetCookie(w, c)
	}
	if posted.Key != "" {
		posted.Location = h.locationAt(r, posted.Host, returnPath+posted.Key)
	}
	seeOther(w, r, posted.Location)
	return nil
}

// returnPath is the route that checks the cookie at the host where a login began; the key follows.
const returnPath = "/oidc/auth/return/"

// seeOther redirects a browser. The page that it leaves may have had a key in its address.
func seeOther(w http.ResponseWriter, r *http.Request, location string) {
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header()["Content-Type"] = nil // no body
	http.Redirect(w, r, location, http.StatusSeeOther)
}

// returnFormPost handles GET /oidc/auth/return/{key}, where a form post leads a member of the organization whose active hostname
// began the login.
func (h *Handler) returnFormPost(w http.ResponseWriter, r *http.Request) error {
	location, err := h.service.ReturnExternal(r.Context(), httpapi.Client(r.Context()), httpapi.Param(r, "key"),
		h.cookieValue(r, preflightCookie))
	if err != nil {
		return err
	}
	seeOther(w, r, location)
	return nil
}

type confirmationResponse struct {
	Name         *string `json:"name"`
	Address      string  `json:"address"`
	Host         string  `json:"host"`
	Organization *string `json:"organization"`
}

// getConfirmation handles GET /oidc/auth/confirmation.
func (h *Handler) getConfirmation(w http.ResponseWriter, r *http.Request) error {
	cookie, err := h.confirmation(r)
	if err != nil {
		return err
	}
	c, err := h.service.Confirmation(r.Context(), cookie)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, confirmationResponse{orNull(c.Name), c.Address, c.Host, orNull(c.Organization)})
}

type confirmedResponse struct {
	RedirectURL string `json:"redirectUrl"`
}

// confirmLogin handles POST /oidc/auth/confirmation.
func (h *Handler) confirmLogin(w http.ResponseWriter, r *http.Request) error {
	cookie, err := h.confirmation(r)
	if err != nil {
		return err
	}
	location, err := h.service.ConfirmExternal(r.Context(), cookie)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, confirmedResponse{location})
}

// cancelLogin handles DELETE /oidc/auth/confirmation.
func (h *Handler) cancelLogin(w http.ResponseWriter, r *http.Request) error {
	cookie, err := h.confirmation(r)
	if err != nil {
		return err
	}
	if err := h.service.RefuseExternal(r.Context(), httpapi.Client(r.Context()), cookie); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// confirmation returns the cookie with which a person confirms or refuses a login.
// Errors: identity.ErrConfirmation without the cookie, token.ErrCrossOrigin for a request of another origin.
func (h *Handler) confirmation(r *http.Request) (cookie string, err error) {
	if cookie = h.cookieValue(r, confirmationCookie); cookie == "" {
		return "", identity.ErrConfirmation
	}
	if !httpapi.Client(r.Context()).SameOrigin {
		return "", token.ErrCrossOrigin
	}
	return cookie, nil
}

// claimState handles GET /oidc/auth.
func (h *Handler) claimState(w http.ResponseWriter, r *http.Request) error {
	var signedIn session.SignedIn
	err := h.guess(w, r, func() (err error) {
		signedIn, err = h.service.ClaimExternal(r.Context(), h.external(w, r), caller(r).State)
		return err
	})
	if err != nil {
		return h.setHomeHost(w, err, "/oidc/auth")
	}
	return h.respondSignedIn(w, r, signedIn)
}
