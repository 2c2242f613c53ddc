// The login of a program that a person approves in a browser (RFC 8628) over HTTP, with the errors of RFC 6749.

package handler

import (
	"errors"
	"net/http"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
)

// The buckets of programs that ask for a session (RFC 8628).
//   - device-authorization: programs that begin, of one client address.
//   - device-token: programs that ask whether they were approved, of one client address.
//   - user-code: user codes that one person types. A code that is wrong takes a token of failed-login, too.
var (
	deviceAuthorizationLimit = ratelimit.Limit{Capacity: 20, PerSecond: ratelimit.Every(10 * time.Second)}
	deviceTokenLimit         = ratelimit.Limit{Capacity: 120, PerSecond: 4}
	userCodeBucket           = ratelimit.Bucket{Name: "user-code",
		Limit: ratelimit.Limit{Capacity: 20, PerSecond: ratelimit.Every(15 * time.Second)}, By: ratelimit.ByPerson, Essential: true}
)

// deviceGrant is the grant_type of programs that ask for a session.
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// deviceRoutes holds the device authorization grant (RFC 8628).
func (h *Handler) deviceRoutes() []httpapi.Route {
	anyone, access := token.None, token.NeedAccess
	const one = "/device/{code}"
	return []httpapi.Route{
		{Method: "POST", Pattern: "/device/authorization", Auth: anyone,
			Bucket: httpapi.PerAddress("device-authorization", deviceAuthorizationLimit), Handler: h.beginDeviceLogin, Grows: true},
		{Method: "POST", Pattern: "/device/token", Auth: anyone, Bucket: httpapi.PerAddress("device-token", deviceTokenLimit),
			Handler: h.createDeviceToken},
		{Method: "GET", Pattern: one, Auth: access, Handler: h.getDeviceLogin},
		{Method: "POST", Pattern: one + "/approve", Auth: access, Handler: h.approveDeviceLogin},
		{Method: "POST", Pattern: one + "/refuse", Auth: access, Handler: h.refuseDeviceLogin},
	}
}

type deviceCodesResponse struct {
	DeviceCode   string `json:"device_code"`
	UserCode     string `json:"user_code"`
	Page         string `json:"verification_uri"`
	CompletePage string `json:"verification_uri_complete"`
	Lifetime     int    `json:"expires_in"`
	Poll         int    `json:"interval"`
}

// oauthForm reads the body of a request of RFC 8628, whose parameters are given once.
func oauthForm(r *http.Request) (one func(name string) string, problems *fault.Problems, err error) {
	problems = new(fault.Problems)
	form, err := strictjson.DecodeForm(r)
	return func(name string) string { return orEmpty(queryOne(form, problems, name)) }, problems, err
}

// beginDeviceLogin handles POST /device/authorization.
func (h *Handler) beginDeviceLogin(w http.ResponseWriter, r *http.Request) error {
	one, problems, err := oauthForm(r)
	if err != nil {
		return err
	}
	name := one("client_id")
	if err := problems.Err(); err != nil {
		return err
	}
	c, err := h.service.BeginDeviceLogin(r.Context(), httpapi.Client(r.Context()), name)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, deviceCodesResponse{
		DeviceCode: c.Device, UserCode: c.User, Page: c.Page, CompletePage: c.CompletePage,
		Lifetime: int(c.Lifetime / time.Second), Poll: int(c.Poll / time.Second),
	})
}

// The answers of POST /device/token (RFC 6749, 5.1 and 5.2). The session token is an ID
// token of Consign, which refreshes the access token. As id_token it would have to be for the client (OpenID Connect Core, 3.1.3.7).
type deviceTokenResponse struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"`
	Lifetime    int    `json:"expires_in"`
	Session     string `json:"session_token"`
}

type oauthErrorResponse struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// oauthErrors are the codes of RFC 6749 and RFC 8628 for the errors of a program's request.
var oauthErrors = []struct {
	err  *fault.Error
	code string
}{
	{identity.ErrDeviceCode, "invalid_grant"}, {identity.ErrDevicePending, "authorization_pending"}, {identity.ErrDeviceEarly, "slow_down"},
	{identity.ErrDeviceRefused, "access_denied"}, {identity.ErrDeviceExpired, "expired_token"},
	{identity.ErrGrantType, "unsupported_grant_type"}, {fault.ErrInvalid, "invalid_request"},
}

// createDeviceToken handles POST /device/token. Its errors have the form of RFC 6749.
func (h *Handler) createDeviceToken(w http.ResponseWriter, r *http.Request) error {
	session, err := h.fetchDeviceSession(r)
	if err == nil {
		return httpapi.JSON(w, http.StatusOK, deviceTokenResponse{
			AccessToken: session.Token, TokenType: "Bearer", Session: session.IDToken, Lifetime: int(session.Lifetime / time.Second),
		})
	}
	for _, e := range oauthErrors {
		var f *fault.Error
		if errors.As(err, &f) && errors.Is(err, e.err) {
			description := e.code
			if len(f.Details) > 0 {
				description = f.Details[0]
			}
			return httpapi.JSON(w, http.StatusBadRequest, oauthErrorResponse{Error: e.code, Description: description})
		}
	}
	return err
}

func (h *Handler) fetchDeviceSession(r *http.Request) (out service.DeviceSession, err error) {
	one, problems, err := oauthForm(r)
	if err != nil {
		return out, err
	}
	grant, code := one("grant_type"), one("device_code")
	if code == "" {
		problems.Add("device_code", "is required")
	}
	if grant == "" {
		problems.Add("grant_type", "is required")
	}
	if err := problems.Err(); err != nil {
		return out, err
	}
	if grant != deviceGrant {
		return out, identity.ErrGrantType
	}
	return h.service.FetchDeviceSession(r.Context(), httpapi.Client(r.Context()), code)
}

type deviceLoginResponse struct {
	Name       string       `json:"clientName"`
	UserAgent  string       `json:"userAgent"`
	Client     string       `json:"client"` // browser and system in words, empty if unknown
	IP         string       `json:"ip"`
	Requested  httpapi.Time `json:"requestedTimestamp"`
	Expiration httpapi.Time `json:"expirationTimestamp"`
}

// typed runs work with the user code of the path. Codes are short: each takes a token of the person, a wrong one a token of the address.
func (h *Handler) typed(w http.ResponseWriter, r *http.Request, work func(code string) error) error {
	if err := h.buckets.TakeQuietly(w, r.Context(), userCodeBucket, caller(r).Person.String(), httpapi.Identity); err != nil {
		return err
	}
	return h.guess(w, r, func() error { return work(httpapi.Param(r, "code")) })
}

// getDeviceLogin handles GET /device/{code}.
func (h *Handler) getDeviceLogin(w http.ResponseWriter, r *http.Request) error {
	var d identity.DeviceLogin
	err := h.typed(w, r, func(code string) (err error) {
		d, err = h.service.DeviceLogin(r.Context(), httpapi.Client(r.Context()).Host, code)
		return err
	})
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, deviceLoginResponse{
		Name: d.Name, UserAgent: d.UserAgent, Client: identity.ClientFamily(d.UserAgent), IP: d.IP,
		Requested: httpapi.Time(d.CreatedAt), Expiration: httpapi.Time(d.ExpiresAt),
	})
}

// approveDeviceLogin handles POST /device/{code}/approve.
func (h *Handler) approveDeviceLogin(w http.ResponseWriter, r *http.Request) error {
	proof, err := h.buckets.Proof(w, r, httpapi.Identity)
	if err != nil {
		return err
	}
	err = h.typed(w, r, func(code string) error { return h.service.ApproveDeviceLogin(r.Context(), caller(r), code, proof) })
	if err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// refuseDeviceLogin handles POST /device/{code}/refuse.
func (h *Handler) refuseDeviceLogin(w http.ResponseWriter, r *http.Request) error {
	err := h.typed(w, r, func(code string) error { return h.service.RefuseDeviceLogin(r.Context(), caller(r), code) })
	if err != nil {
		return err
	}
	return httpapi.NoContent(w)
}
