// Tokens over HTTP: access, upgrade, uid token, park and pickup, public keys, and the discovery document.

package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/token"
)

// createAccessToken handles POST /auth/access.
func (h *Handler) createAccessToken(w http.ResponseWriter, r *http.Request) error {
	var problems fault.Problems
	cookie := queryBool(r.URL.Query(), &problems, "cookie")
	if err := problems.Err(); err != nil {
		return err
	}
	access, err := h.service.IssueAccess(r.Context(), caller(r))
	if err != nil {
		return err
	}
	h.setRenewed(w, r, access.IDToken)
	if cookie {
		http.SetCookie(w, token.AcctCookie(access.Token, access.ExpiresAt, h.secure))
	}
	return httpapi.JSON(w, http.StatusOK, tokenResponse{access.Token, token.KindAccess})
}

// upgradeToken handles POST /auth/upgrade.
func (h *Handler) upgradeToken(w http.ResponseWriter, r *http.Request) error {
	raw, err := h.service.UpgradeToken(r.Context(), caller(r))
	if err != nil {
		return err
	}
	h.setRenewed(w, r, raw)
	return httpapi.JSON(w, http.StatusOK, tokenResponse{raw, token.KindID})
}

// createUIDToken handles POST /auth/uid.
func (h *Handler) createUIDToken(w http.ResponseWriter, r *http.Request) error {
	raw, err := h.service.IssueUIDToken(r.Context(), caller(r))
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, tokenResponse{raw, token.KindUID})
}

// parkSession handles POST /auth/park.
func (h *Handler) parkSession(w http.ResponseWriter, r *http.Request) error {
	var problems fault.Problems
	q := r.URL.Query()
	in := identity.Parking{
		RedirectURI: queryOne(q, &problems, "redirect_uri"), State: queryOne(q, &problems, "state"),
		KeepSession: queryBool(q, &problems, "keep_session"),
		Challenge:   queryOne(q, &problems, "code_challenge"), ChallengeMethod: queryOne(q, &problems, "code_challenge_method"),
	}
	if err := problems.Err(); err != nil {
		return err
	}
	c := caller(r)
	if in.KeepSession {
		if err := h.buckets.TakeQuietly(w, r.Context(), keptSessionBucket, c.Person.String(), httpapi.Identity); err != nil {
			return err
		}
	}
	raw, err := h.service.ParkToken(r.Context(), c, in)
	if err != nil {
		return err
	}
	if !in.KeepSession {
		h.expireSessionCookie(w, r, c)
	}
	return httpapi.JSON(w, http.StatusOK, tokenResponse{raw, token.KindPickup})
}

// pickUpSession handles GET /auth/park.
func (h *Handler) pickUpSession(w http.ResponseWriter, r *http.Request) error {
	var problems fault.Problems
	verifier := queryOne(r.URL.Query(), &problems, "code_verifier")
	if err := problems.Err(); err != nil {
		return err
	}
	var raw string
	err := h.guess(w, r, func() (err error) {
		raw, err = h.service.PickUpToken(r.Context(), caller(r), orEmpty(verifier))
		return err
	})
	if err != nil {
		return err
	}
	return respondToken(w, raw, token.KindID)
}

// listKeys handles GET /auth/keys.
func (h *Handler) listKeys(w http.ResponseWriter, _ *http.Request) error {
	return httpapi.JSON(w, http.StatusOK, h.keys.JWKS())
}

// openIDConfiguration is the path of the discovery document (OpenID Connect Discovery 1.0, section 4).
const openIDConfiguration = "/.well-known/openid-configuration"

// discoveryResponse holds the members of the specification and those of the standard (contract 3.9). There is no
// authorization endpoint and no response type because Consign is not an OpenID provider for other services. A verifier needs the issuer,
// the keys and the algorithm only.
type discoveryResponse struct {
	Issuer           string   `json:"issuer"`
	JWKSURL          string   `json:"jwksUrl"`
	JWKSURI          string   `json:"jwks_uri"`
	ResponseTypes    []string `json:"response_types_supported"`
	SubjectTypes     []string `json:"subject_types_supported"`
	SigningAlgorithm []string `json:"id_token_signing_alg_values_supported"`
	Claims           []string `json:"claims_supported"`
}

func discoveryFrom(issuer string) discoveryResponse {
	return discoveryResponse{
		Issuer: issuer, JWKSURL: issuer + "/auth/keys", JWKSURI: issuer + "/auth/keys",
		ResponseTypes: []string{}, SubjectTypes: []string{"public"}, SigningAlgorithm: []string{"ES256"},
		Claims: []string{"iss", "sub", "aud", "iat", "exp", "auth_time", "email", "email_verified", "locale", "zoneinfo"},
	}
}

// getDiscovery handles GET /oidc/discovery.
func (h *Handler) getDiscovery(w http.ResponseWriter, _ *http.Request) error {
	return httpapi.JSON(w, http.StatusOK, h.discovered)
}

// getOpenIDConfiguration handles GET /.well-known/openid-configuration, which exists at the issuer only.
func (h *Handler) getOpenIDConfiguration(w http.ResponseWriter, r *http.Request) error {
	if httpapi.Client(r.Context()).HostName != h.publicHost {
		return fault.ErrNotFound.With("the issuer is " + h.discovered.Issuer)
	}
	return h.getDiscovery(w, r)
}

// authorizationServer is the path of the metadata of the device grant (RFC 8414). For an issuer with a path, that path follows.
const authorizationServer = "/.well-known/oauth-authorization-server"

type authorizationServerResponse struct {
	Issuer              string   `json:"issuer"`
	DeviceAuthorization string   `json:"device_authorization_endpoint"`
	TokenEndpoint       string   `json:"token_endpoint"`
	JWKSURI             string   `json:"jwks_uri"`
	GrantTypes          []string `json:"grant_types_supported"`
	ResponseTypes       []string `json:"response_types_supported"`
	TokenAuthMethods    []string `json:"token_endpoint_auth_methods_supported"`
}

// getAuthorizationServer handles GET /.well-known/oauth-authorization-server, which exists at the issuer's host only.
func (h *Handler) getAuthorizationServer(w http.ResponseWriter, r *http.Request) error {
	issuer := h.discovered.Issuer
	if httpapi.Client(r.Context()).HostName != h.publicHost {
		return fault.ErrNotFound.With("the issuer is " + issuer)
	}
	return httpapi.JSON(w, http.StatusOK, authorizationServerResponse{
		Issuer: issuer, DeviceAuthorization: issuer + "/device/authorization", TokenEndpoint: issuer + "/device/token",
		JWKSURI:    issuer + "/auth/keys",
		GrantTypes: []string{deviceGrant}, ResponseTypes: []string{}, TokenAuthMethods: []string{"none"},
	})
}
