package handler

import (
	"errors"
	"net/http"
	"time"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/credential"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
)

type credentialsRequest struct {
	Email string `json:"email"`
	Type  string `json:"type"`
	Key   string `json:"key"`
}

// logIn handles POST /auth/login. What fails costs the client's address a drop: comparing passwords is work, also for those who are told
// after ten seconds that it is too much, and a guess at everybody's account is cheap otherwise.
func (h *Handler) logIn(w http.ResponseWriter, r *http.Request) error {
	var in credentialsRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	credentials := service.Credentials{Email: in.Email, Type: in.Type, Key: in.Key}
	if err := credentials.Check(); err != nil {
		return err
	}
	var raw string
	client := httpapi.Client(r.Context())
	err := h.buckets.TakeFor(w, r.Context(), failedLoginBucket, ratelimit.AddressKey(client.Address), httpapi.Identity, func() (failed bool, err error) {
		if credentials.MFA, err = h.admit(w, r, credentials); err != nil {
			return false, err
		}
		raw, err = h.service.Login(r.Context(), client, credentials)
		return err != nil && !errors.Is(err, identity.ErrWrongHost), err
	})
	if err != nil {
		return h.nameHost(w, err, "/auth/login")
	}
	return handOut(w, raw)
}

// admit takes the drops of a login: of the address, which only the body tells, and of the person whom the mfa token of a second factor
// speaks for, which it returns.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request, credentials service.Credentials) (*token.Caller, error) {
	if err := h.buckets.Take(w, r.Context(), loginBucket, credentials.Email, httpapi.Identity); err != nil {
		return nil, err
	}
	if credentials.Type == credential.TypeBcrypt {
		return nil, nil
	}
	caller, err := h.mfa(r)
	if err != nil || caller == nil {
		return nil, err
	}
	// Codes are short: a person with ten addresses has no ten times as many guesses.
	return caller, h.buckets.TakeQuietly(w, r.Context(), factorBucket, caller.Person.String(), httpapi.Identity)
}

// mfa returns who the mfa token of a second step speaks for; nil if there is none that verifies, which the specification
// answers with 400 and not, as elsewhere, with 401.
func (h *Handler) mfa(r *http.Request) (*token.Caller, error) {
	raw, present := token.Bearer(r)
	if !present {
		return nil, nil
	}
	caller, err := h.verify(r.Context(), raw)
	var refused *fault.Error
	switch {
	case err == nil:
		return &caller, nil
	case errors.As(err, &refused) && refused.Kind == fault.Unauthenticated:
		return nil, nil
	}
	return nil, err
}

type sessionResponse struct {
	JTI        id.Token     `json:"jti"`
	Issued     httpapi.Time `json:"issuedTimestamp"`
	Expiration httpapi.Time `json:"expirationTimestamp"`
	UserAgent  string       `json:"userAgent"`
	IP         string       `json:"ip"`
}

// listSessions handles GET /auth.
func (h *Handler) listSessions(w http.ResponseWriter, r *http.Request) error {
	sessions, err := h.service.Sessions(r.Context(), token.CallerFrom(r.Context()))
	if err != nil {
		return err
	}
	out := struct {
		Tokens []sessionResponse `json:"tokens"`
	}{Tokens: make([]sessionResponse, len(sessions))}
	for i, s := range sessions {
		out.Tokens[i] = sessionResponse{
			JTI: s.JTI, Issued: httpapi.Time(s.IssuedAt), Expiration: httpapi.Time(s.ExpiresAt), UserAgent: s.UserAgent, IP: s.IP,
		}
	}
	return httpapi.JSON(w, http.StatusOK, out)
}

// logOut handles POST /auth/logout.
func (h *Handler) logOut(w http.ResponseWriter, r *http.Request) error {
	var problems fault.Problems
	jti := queryOne(r.URL.Query(), &problems, "jti")
	if jti != nil && *jti == "" {
		problems.Add("jti", "is empty")
	}
	if err := problems.Err(); err != nil {
		return err
	}
	if err := h.service.Logout(r.Context(), token.CallerFrom(r.Context()), text(jti)); err != nil {
		return err
	}
	if jti == nil || *jti == service.LogoutAll {
		http.SetCookie(w, token.AcctCookie("", time.Unix(1, 0), h.secure)) // the session's cookie, if there is one
	}
	return httpapi.NoContent(w)
}
