// The API tokens of a person or organization over HTTP.

package handler

import (
	"net/http"
	"time"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
)

type apiTokenRequest struct {
	Name         string           `json:"name"`
	Scopes       []string         `json:"scopes"`
	Mailboxes    []string         `json:"mailboxes"`
	Expiration   *httpapi.Time    `json:"expirationTimestamp"`
	Organization *id.Organization `json:"organization"`
	httpapi.ProofRequest
}

type apiTokenResponse struct {
	UID          id.Session       `json:"uid"`
	Name         string           `json:"name"`
	Scopes       []string         `json:"scopes"`
	Mailboxes    []string         `json:"mailboxes"`
	Organization *id.Organization `json:"organization"`
	Owner        apiTokenOwner    `json:"owner"`
	Created      httpapi.Time     `json:"createdTimestamp"`
	Expiration   httpapi.Time     `json:"expirationTimestamp"`
	Used         *httpapi.Time    `json:"lastUsedTimestamp"`
	IP           *string          `json:"lastIp"`
}

// apiTokenOwner is the person as whom a token acts.
type apiTokenOwner struct {
	UID  id.Person `json:"uid"`
	Name *string   `json:"name"`
}

type newAPITokenResponse struct {
	apiTokenResponse
	Token string     `json:"token"`
	Kind  token.Kind `json:"kind"`
}

type apiTokensResponse struct {
	Tokens []apiTokenResponse `json:"tokens"`
}

func apiTokenFrom(t identity.APIToken) apiTokenResponse {
	out := apiTokenResponse{
		UID: t.UID, Name: t.Name, Scopes: t.Scopes, Mailboxes: t.MailboxKeys, Owner: apiTokenOwner{UID: t.Person, Name: orNull(t.PersonName)},
		Created: httpapi.Time(t.CreatedAt), Expiration: httpapi.Time(t.ExpiresAt), IP: orNull(t.LastAddress),
	}
	if out.Mailboxes == nil {
		out.Mailboxes = []string{}
	}
	if !t.Organization.IsZero() {
		out.Organization = &t.Organization
	}
	if t.LastUsedAt != nil {
		used := httpapi.Time(*t.LastUsedAt)
		out.Used = &used
	}
	return out
}

// createAPIToken handles POST /tokens.
func (h *Handler) createAPIToken(w http.ResponseWriter, r *http.Request) error {
	var in apiTokenRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	if err := h.buckets.TakeGuess(w, r, in.ProofRequest, httpapi.Identity); err != nil {
		return err
	}
	n := identity.NewAPIToken{Name: in.Name, Scopes: in.Scopes, Mailboxes: in.Mailboxes}
	if in.Expiration != nil {
		n.ExpiresAt = time.Time(*in.Expiration)
	}
	if in.Organization != nil {
		n.Organization = *in.Organization
	}
	t, raw, err := h.service.CreateAPIToken(r.Context(), caller(r), n, in.Proof())
	if err != nil {
		return err
	}
	return httpapi.Created(w, h.location(r, "/tokens/"+t.UID.String()), newAPITokenResponse{apiTokenFrom(t), raw, token.KindAPI})
}

// listAPITokens handles GET /tokens.
func (h *Handler) listAPITokens(w http.ResponseWriter, r *http.Request) error {
	q := httpapi.QueryOf(r)
	o := httpapi.QueryUID[id.Organization](q, "organization")
	if err := q.Err(); err != nil {
		return err
	}
	tokens, err := h.service.APITokens(r.Context(), caller(r), o)
	if err != nil {
		return err
	}
	out := apiTokensResponse{Tokens: make([]apiTokenResponse, len(tokens))}
	for i, t := range tokens {
		out.Tokens[i] = apiTokenFrom(t)
	}
	return httpapi.JSON(w, http.StatusOK, out)
}

// deleteAPIToken handles DELETE /tokens/{uid}.
func (h *Handler) deleteAPIToken(w http.ResponseWriter, r *http.Request) error {
	uid, err := id.Parse[id.Session](httpapi.Param(r, "uid"))
	if err != nil {
		return identity.ErrAPITokenNotFound
	}
	if err := h.service.RevokeAPIToken(r.Context(), caller(r), uid); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}
