package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/transfer/request"
)

// getPublicRequest handles GET /public/requests/{key}.
func (h *Handler) getPublicRequest(w http.ResponseWriter, r *http.Request) error {
	v, err := h.service.View(r.Context(), caller(r), httpapi.Param(r, "key"))
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, publicFrom(v))
}

// openPublicRequest handles POST /public/requests/{key}.
func (h *Handler) openPublicRequest(w http.ResponseWriter, r *http.Request) error {
	o, err := h.service.Open(r.Context(), caller(r), httpapi.Param(r, "key"))
	if err != nil {
		return err
	}
	httpapi.Bearer(w, o.Token)
	return httpapi.JSON(w, http.StatusOK, struct {
		Reservation string       `json:"reservation"`
		ExpiresAt   httpapi.Time `json:"expiresAt"`
	}{o.Reservation.String(), httpapi.Time(o.ExpiresAt)})
}

type handInRequest struct {
	Partly bool `json:"partly"`
}

// handIn handles POST /public/requests/{key}/handin.
func (h *Handler) handIn(w http.ResponseWriter, r *http.Request) error {
	var in handInRequest
	if err := strictjson.DecodeOptional(r, &in); err != nil {
		return err
	}
	done, err := h.service.HandInByKey(r.Context(), caller(r), httpapi.Param(r, "key"), in.Partly)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, struct {
		Transfer    string        `json:"transfer"`
		Reservation string        `json:"reservation"`
		At          httpapi.Time  `json:"at"`
		Due         *httpapi.Time `json:"due,omitempty"`
		Late        bool          `json:"late"`
	}{done.Transfer.String(), done.Reservation.String(), httpapi.Time(done.At), httpapi.TimeOrNil(done.Due), done.Late})
}

// joinRequest handles POST /public/requests/{key}/parties.
func (h *Handler) joinRequest(w http.ResponseWriter, r *http.Request) error {
	var in partyRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	party := request.Party{Email: in.Email, Name: in.Name, Locale: h.catalog.Match(r.Header.Get("Accept-Language"))}
	if in.Language != nil {
		if party.Locale = *in.Language; !i18n.Supported(party.Locale) {
			return fault.ErrInvalid.With("language: is not supported")
		}
	}
	key, client := httpapi.Param(r, "key"), ""
	if a := caller(r).Client.Address; a.IsValid() {
		client = ratelimit.AddressKey(a)
	}
	if err := h.buckets.Take(w, r.Context(), joinBucket, client, httpapi.Transfer); err != nil {
		return err
	}
	if err := h.service.Join(r.Context(), caller(r), key, client, party); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}
