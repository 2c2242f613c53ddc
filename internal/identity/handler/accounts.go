package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/identity/session"
	"github.com/consign-dev/consign/internal/strictjson"
)

type signUpRequest struct {
	Address  string  `json:"address"`
	Password string  `json:"password"`
	Name     *string `json:"name"`
	Locale   *string `json:"locale"`
	TimeZone *string `json:"timeZone"`
	Next     *string `json:"next"`
}

// domain returns the account. An absent locale or time zone has a default; an empty one is invalid, as in PUT /profile.
func (in signUpRequest) domain() (service.NewAccount, error) {
	var problems fault.Problems
	if in.Locale != nil && *in.Locale == "" {
		problems.Add("locale", "is empty")
	}
	if in.TimeZone != nil && *in.TimeZone == "" {
		problems.Add("timeZone", "is empty")
	}
	return service.NewAccount{
		Address: in.Address, Password: in.Password, Name: orEmpty(in.Name), Locale: orEmpty(in.Locale), TimeZone: orEmpty(in.TimeZone),
		Next: orEmpty(in.Next),
	}, problems.Err()
}

// signUp handles POST /signup. A signup takes a token of the client address's bucket, and one for its verification mail.
func (h *Handler) signUp(w http.ResponseWriter, r *http.Request) error {
	var in signUpRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	account, err := in.domain()
	if err != nil {
		return err
	}
	if account.Locale == "" {
		account.Locale = h.catalog.Match(r.Header.Get("Accept-Language"))
	}
	var signedIn session.SignedIn
	err = h.verifying(w, r, in.Address, func() (err error) {
		signedIn, err = h.service.SignUp(r.Context(), httpapi.Client(r.Context()), account)
		return err
	})
	if err != nil {
		return err
	}
	return h.respondSignedIn(w, r, signedIn)
}

type addressRequest struct {
	Address string `json:"address"`
}

type providerResponse struct {
	Provider string `json:"provider"`
}

// findProvider handles POST /auth/exists.
func (h *Handler) findProvider(w http.ResponseWriter, r *http.Request) error {
	var in addressRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	issuer, err := h.service.Exists(r.Context(), httpapi.Client(r.Context()), in.Address)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, providerResponse{Provider: issuer})
}
