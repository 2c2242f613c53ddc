package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/strictjson"
)

type signUpRequest struct {
	Address  string  `json:"address"`
	Password string  `json:"password"`
	Name     *string `json:"name"`
	Locale   *string `json:"locale"`
	TimeZone *string `json:"timeZone"`
}

func (in signUpRequest) domain() service.NewAccount {
	return service.NewAccount{
		Address: in.Address, Password: in.Password, Name: text(in.Name), Locale: text(in.Locale), TimeZone: text(in.TimeZone),
	}
}

// signUp handles POST /signup. Beside the bucket of the client's address, that of the person, whom it mails, counts signups that succeed:
// who deletes such an account can make it anew at once.
func (h *Handler) signUp(w http.ResponseWriter, r *http.Request) error {
	var in signUpRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	account := in.domain()
	if account.Locale == "" {
		account.Locale = h.catalog.Match(r.Header.Get("Accept-Language"))
	}
	var raw string
	signUp := func() (mailed bool, err error) {
		raw, err = h.service.SignUp(r.Context(), httpapi.Client(r.Context()), account)
		return err == nil, err
	}
	address, err := service.NormalizeAddress("address", in.Address)
	if err == nil {
		err = h.buckets.TakeFor(w, r.Context(), inboxBucket, address, httpapi.Identity, signUp)
	} else { // whatever else is wrong, SignUp says
		_, err = signUp()
	}
	if err != nil {
		return err
	}
	return handOut(w, raw)
}

type addressRequest struct {
	Address string `json:"address"`
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
	return httpapi.JSON(w, http.StatusOK, struct {
		Provider string `json:"provider"`
	}{issuer})
}

// text is an optional string, empty if it is absent or null.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
