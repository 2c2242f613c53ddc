// The session cookie: set at login, renewed, and expired at logout.

package handler

import (
	"net/http"
	"net/url"
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
)

// SessionCookie returns the name of the cookie with the ID token of a browser's session (contract 2.9).
func SessionCookie(publicURL *url.URL) string {
	return httpapi.HostCookieName(sessionCookie, httpapi.SecureCookies(publicURL))
}

const sessionCookie = "id"

type keepRequest struct {
	Stay *bool `json:"stay"`
}

// keepSession handles POST /auth/session.
func (h *Handler) keepSession(w http.ResponseWriter, r *http.Request) error {
	var in keepRequest
	if err := strictjson.DecodeOptional(r, &in); err != nil {
		return err
	}
	c := caller(r)
	if !c.Client.SameOrigin {
		return token.ErrCrossOrigin
	}
	if err := h.service.KeepSession(r.Context(), c); err != nil {
		return err
	}
	h.setSessionCookie(w, c, in.Stay != nil && *in.Stay)
	return httpapi.NoContent(w)
}

// setSessionCookie sets the session cookie to the ID token of a caller. One that stays ends with the token, any other one
// with the browser.
func (h *Handler) setSessionCookie(w http.ResponseWriter, c token.Caller, stays bool) {
	cookie := httpapi.HostCookie(sessionCookie, token.SessionCookieValue(c.Raw, stays), h.secure, http.SameSiteStrictMode)
	if stays {
		cookie.Expires = c.ExpiresAt
	}
	http.SetCookie(w, cookie)
}

// heldSession returns the caller of the ID token in the request's session cookie, zero without a valid one, and whether the
// cookie stays.
func (h *Handler) heldSession(r *http.Request) (held token.Caller, stays bool) {
	raw, stays, present := token.SessionToken(r, h.cookie)
	if !present {
		return token.Caller{}, false
	}
	held, err := h.verify(r.Context(), raw)
	if err != nil || held.Kind != token.KindID {
		return token.Caller{}, false
	}
	return held, stays
}

// setRenewed sets the Authorization header to an ID token that replaces the caller's, and the session cookie too if it
// holds one of the same session. An empty idToken replaces nothing.
func (h *Handler) setRenewed(w http.ResponseWriter, r *http.Request, idToken string) {
	if idToken == "" {
		return
	}
	httpapi.Bearer(w, idToken)
	if !httpapi.Client(r.Context()).SameOrigin {
		return
	}
	held, stays := h.heldSession(r)
	if held.Anonymous() || held.Session != caller(r).Session {
		return
	}
	if renewed, err := h.verify(r.Context(), idToken); err == nil {
		h.setSessionCookie(w, renewed, stays)
	}
}

// expireCookies makes the browser delete the cookies of the caller's session.
func (h *Handler) expireCookies(w http.ResponseWriter, r *http.Request, c token.Caller) {
	http.SetCookie(w, token.AcctCookie("", time.Unix(1, 0), h.secure))
	h.expireSessionCookie(w, r, c)
}

// expireSessionCookie makes the browser delete the session cookie, unless it holds a session of somebody else or another
// one of the caller's.
func (h *Handler) expireSessionCookie(w http.ResponseWriter, r *http.Request, c token.Caller) {
	if held, _ := h.heldSession(r); held.Anonymous() || held.Session != c.Session {
		return
	}
	cookie := httpapi.HostCookie(sessionCookie, "", h.secure, http.SameSiteStrictMode)
	cookie.MaxAge = -1
	http.SetCookie(w, cookie)
}
