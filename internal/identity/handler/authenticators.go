package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
)

type authenticatorResponse struct {
	Type         string           `json:"type"`
	Name         string           `json:"name,omitempty"`
	UID          id.Authenticator `json:"uid"`
	RegisteredAt httpapi.Time     `json:"registeredAt"`
	UpdatedAt    httpapi.Time     `json:"updatedAt"`
	Verified     bool             `json:"verified"`
	Key          string           `json:"key,omitempty"`
	DataURI      string           `json:"dataUri,omitempty"`
	Cardinality  int              `json:"cardinality"`
}

func authenticatorFrom(a identity.Authenticator) authenticatorResponse {
	return authenticatorResponse{
		Type: a.Type, Name: a.Name, UID: a.UID, RegisteredAt: httpapi.Time(a.RegisteredAt), UpdatedAt: httpapi.Time(a.UpdatedAt),
		Verified: a.Verified, Cardinality: a.Cardinality,
	}
}

// authenticatorUID reads the path parameter uid. What is no uid names nothing: identity.ErrAuthenticatorNotFound.
func authenticatorUID(r *http.Request) (id.Authenticator, error) {
	a, err := id.Parse[id.Authenticator](httpapi.Param(r, "uid"))
	if err != nil {
		return a, identity.ErrAuthenticatorNotFound
	}
	return a, nil
}

// listAuthenticators handles GET /profile/authenticators.
func (h *Handler) listAuthenticators(w http.ResponseWriter, r *http.Request) error {
	list, err := h.service.Authenticators(r.Context(), token.CallerFrom(r.Context()))
	if err != nil {
		return err
	}
	out := struct {
		Authenticators []authenticatorResponse `json:"authenticators"`
	}{make([]authenticatorResponse, len(list))}
	for i, a := range list {
		out.Authenticators[i] = authenticatorFrom(a)
	}
	return httpapi.JSON(w, http.StatusOK, out)
}

// createAuthenticator handles POST /profile/authenticators.
func (h *Handler) createAuthenticator(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Type   string  `json:"type"`
		Name   *string `json:"name"`
		PubKey *string `json:"pubKey"`
	}
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	a, err := h.service.RegisterAuthenticator(r.Context(), token.CallerFrom(r.Context()), service.NewAuthenticator{
		Type: in.Type, Name: text(in.Name), PubKey: in.PubKey,
	})
	if err != nil {
		return err
	}
	out := authenticatorFrom(a.Authenticator)
	out.Key, out.DataURI = a.Key, a.DataURI
	return httpapi.Created(w, h.location(r, "", "/profile/authenticators/"+a.UID.String()), out)
}

// getAuthenticator handles GET /profile/authenticators/{uid}.
func (h *Handler) getAuthenticator(w http.ResponseWriter, r *http.Request) error {
	uid, err := authenticatorUID(r)
	if err != nil {
		return err
	}
	a, err := h.service.Authenticator(r.Context(), token.CallerFrom(r.Context()), uid)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, authenticatorFrom(a))
}

// putAuthenticator handles PUT /profile/authenticators/{uid}.
func (h *Handler) putAuthenticator(w http.ResponseWriter, r *http.Request) error {
	uid, err := authenticatorUID(r)
	if err != nil {
		return err
	}
	var in struct {
		Type    *string `json:"type"`
		Name    *string `json:"name"`
		PubKey  *string `json:"pubKey"`
		AuthKey *string `json:"authKey"`
	}
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	caller := token.CallerFrom(r.Context())
	if in.PubKey != nil {
		if err := h.buckets.Take(w, r.Context(), credentialBucket, caller.Person.String(), httpapi.Identity); err != nil {
			return err
		}
	}
	a, err := h.service.UpdateAuthenticator(r.Context(), caller, uid, service.AuthenticatorChange(in))
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, authenticatorFrom(a))
}

// deleteAuthenticator handles DELETE /profile/authenticators/{uid}.
func (h *Handler) deleteAuthenticator(w http.ResponseWriter, r *http.Request) error {
	uid, err := authenticatorUID(r)
	if err != nil {
		return err
	}
	if err := h.service.DeleteAuthenticator(r.Context(), token.CallerFrom(r.Context()), uid); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// verifyAuthenticator handles POST /profile/authenticators/{uid}/verify.
func (h *Handler) verifyAuthenticator(w http.ResponseWriter, r *http.Request) error {
	uid, err := authenticatorUID(r)
	if err != nil {
		return err
	}
	var in credentialsRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	caller := token.CallerFrom(r.Context())
	credentials := service.Credentials{Email: in.Email, Type: in.Type, Key: in.Key}
	if err := credentials.Check(); err != nil {
		return err
	}
	if err := h.buckets.Take(w, r.Context(), credentialBucket, caller.Person.String(), httpapi.Identity); err != nil {
		return err
	}
	idToken, err := h.service.VerifyAuthenticator(r.Context(), caller, uid, credentials)
	if err != nil {
		return err
	}
	if idToken != "" {
		httpapi.Bearer(w, idToken)
	}
	return httpapi.NoContent(w)
}
