// The second factors and passwords of a person over HTTP (/profile/authenticators).

package handler

import (
	"encoding/json"
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/strictjson"
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
	URI          string           `json:"otpauthUri,omitempty"`
	Options      json.RawMessage  `json:"options,omitempty"`
	Cardinality  int              `json:"cardinality"`

	*passkeyResponse
}

// passkeyResponse holds the members of a verified passkey.
type passkeyResponse struct {
	UsedAt   *httpapi.Time `json:"lastUsedAt"`
	BackedUp bool          `json:"backedUp"`
	Host     string        `json:"hostname"`
}

type authenticatorsResponse struct {
	Authenticators []authenticatorResponse `json:"authenticators"`
}

func authenticatorFrom(a identity.Authenticator) authenticatorResponse {
	out := authenticatorResponse{
		Type: a.Type, Name: a.Name, UID: a.UID, RegisteredAt: httpapi.Time(a.RegisteredAt), UpdatedAt: httpapi.Time(a.UpdatedAt),
		Verified: a.Verified, Cardinality: a.Cardinality,
	}
	if a.Type == credential.TypePasskey && a.Verified {
		out.passkeyResponse = &passkeyResponse{UsedAt: (*httpapi.Time)(a.UsedAt), BackedUp: a.BackedUp, Host: a.Host}
	}
	return out
}

// authenticatorUID parses the path parameter uid.
// Errors: identity.ErrAuthenticatorNotFound when it is not a uid.
func authenticatorUID(r *http.Request) (id.Authenticator, error) {
	a, err := id.Parse[id.Authenticator](httpapi.Param(r, "uid"))
	if err != nil {
		return a, identity.ErrAuthenticatorNotFound
	}
	return a, nil
}

// listAuthenticators handles GET /profile/authenticators.
func (h *Handler) listAuthenticators(w http.ResponseWriter, r *http.Request) error {
	list, err := h.service.Authenticators(r.Context(), caller(r))
	if err != nil {
		return err
	}
	out := authenticatorsResponse{Authenticators: make([]authenticatorResponse, len(list))}
	for i, a := range list {
		out.Authenticators[i] = authenticatorFrom(a)
	}
	return httpapi.JSON(w, http.StatusOK, out)
}

type authenticatorRequest struct {
	Type   string  `json:"type"`
	Name   *string `json:"name"`
	PubKey *string `json:"pubKey"`
	httpapi.ProofRequest
}

func (in authenticatorRequest) domain() service.NewAuthenticator {
	return service.NewAuthenticator{Type: in.Type, Name: orEmpty(in.Name), PubKey: in.PubKey}
}

// createAuthenticator handles POST /profile/authenticators.
func (h *Handler) createAuthenticator(w http.ResponseWriter, r *http.Request) error {
	var in authenticatorRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	if err := h.buckets.TakeGuess(w, r, in.ProofRequest, httpapi.Identity); err != nil {
		return err
	}
	a, err := h.service.RegisterAuthenticator(r.Context(), caller(r), in.domain(), in.Proof())
	if err != nil {
		return err
	}
	out := authenticatorFrom(a.Authenticator)
	out.Key, out.DataURI, out.URI, out.Options = a.Key, a.DataURI, a.URI, a.Options
	return httpapi.Created(w, h.location(r, "/profile/authenticators/"+a.UID.String()), out)
}

// getAuthenticator handles GET /profile/authenticators/{uid}.
func (h *Handler) getAuthenticator(w http.ResponseWriter, r *http.Request) error {
	uid, err := authenticatorUID(r)
	if err != nil {
		return err
	}
	a, err := h.service.Authenticator(r.Context(), caller(r), uid)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, authenticatorFrom(a))
}

type authenticatorChangeRequest struct {
	Type    *string `json:"type"`
	Name    *string `json:"name"`
	PubKey  *string `json:"pubKey"`
	AuthKey *string `json:"authKey"`
}

func (in authenticatorChangeRequest) domain() service.AuthenticatorChange {
	return service.AuthenticatorChange(in)
}

// putAuthenticator handles PUT /profile/authenticators/{uid}.
func (h *Handler) putAuthenticator(w http.ResponseWriter, r *http.Request) error {
	uid, err := authenticatorUID(r)
	if err != nil {
		return err
	}
	var in authenticatorChangeRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	c := caller(r)
	if in.PubKey != nil {
		if err := h.buckets.Take(w, r.Context(), httpapi.CredentialBucket, c.Person.String(), httpapi.Identity); err != nil {
			return err
		}
	}
	a, err := h.service.PutAuthenticator(r.Context(), c, uid, in.domain())
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
	proof, err := h.buckets.Proof(w, r, httpapi.Identity)
	if err != nil {
		return err
	}
	if err := h.service.DeleteAuthenticator(r.Context(), caller(r), uid, proof); err != nil {
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
	c := caller(r)
	credentials, err := service.Credentials{Email: in.Email, Type: in.Type, Key: in.Key}.Check()
	if err != nil {
		return err
	}
	if err := h.buckets.Take(w, r.Context(), httpapi.CredentialBucket, c.Person.String(), httpapi.Identity); err != nil {
		return err
	}
	idToken, err := h.service.VerifyAuthenticator(r.Context(), c, uid, credentials)
	if err != nil {
		return err
	}
	h.setRenewed(w, r, idToken)
	return httpapi.NoContent(w)
}
