// Handlers of the parties of a request, and of the decisions about their items.

package handler

import (
	"net/http"
	"strings"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/i18n"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/transfer/request"
	"github.com/consign-dev/consign/internal/transfer/request/service"
)

type partiesRequest struct {
	Parties []partyRequest `json:"parties"`
	CSV     *string        `json:"csv"`
}

// addParties handles POST /requests/{uid}/parties.
func (h *Handler) addParties(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Request](r, "uid")
	if err != nil {
		return err
	}
	var in partiesRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	parties, err := partiesOf(in.Parties)
	if err == nil && in.CSV != nil {
		var read []request.Party
		read, err = request.ReadParties(*in.CSV)
		parties = append(parties, read...)
	}
	if err != nil {
		return err
	}
	d, err := h.service.AddParties(r.Context(), caller(r), uid, parties)
	return respond(w, d, err)
}

type partyPatch struct {
	Name      *string `json:"name"`
	Language  *string `json:"language"`
	Reminders *bool   `json:"reminders"`
}

// patchParty handles PATCH /requests/{uid}/parties/{party}.
func (h *Handler) patchParty(w http.ResponseWriter, r *http.Request) error {
	uid, party, err := partyParams(r)
	if err != nil {
		return err
	}
	var in partyPatch
	if _, _, err := strictjson.DecodePatch(r, &in); err != nil {
		return err
	}
	if in.Language != nil && !i18n.Supported(*in.Language) {
		return fault.ErrInvalid.With("language: must be one of " + strings.Join(i18n.Locales(), ", "))
	}
	v, err := version(r)
	if err != nil {
		return err
	}
	d, err := h.service.PatchParty(r.Context(), caller(r), uid, party,
		service.PartyChange{Version: v, Name: in.Name, Locale: in.Language, Reminders: in.Reminders})
	return respond(w, d, err)
}

// remindParty handles POST /requests/{uid}/parties/{party}/remind.
func (h *Handler) remindParty(w http.ResponseWriter, r *http.Request) error {
	uid, party, err := partyParams(r)
	if err != nil {
		return err
	}
	d, err := h.service.Remind(r.Context(), caller(r), uid, party)
	return respond(w, d, err)
}

// remindAll handles POST /requests/{uid}/remind.
func (h *Handler) remindAll(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidParam[id.Request](r, "uid")
	if err != nil {
		return err
	}
	n, err := h.service.RemindAll(r.Context(), caller(r), uid)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, struct {
		Reminded int `json:"reminded"`
	}{n})
}

type decisionRequest struct {
	State  string `json:"state"`
	Reason string `json:"reason"`
}

// decideItem handles PATCH /requests/{uid}/parties/{party}/items/{item}.
func (h *Handler) decideItem(w http.ResponseWriter, r *http.Request) error {
	uid, party, err := partyParams(r)
	if err != nil {
		return err
	}
	item, err := uidParam[id.Item](r, "item")
	if err != nil {
		return err
	}
	var in decisionRequest
	if _, _, err := strictjson.DecodePatch(r, &in); err != nil {
		return err
	}
	v, err := version(r)
	if err != nil {
		return err
	}
	d, err := h.service.Decide(r.Context(), caller(r), uid, party, item,
		service.Decision{Version: v, State: request.ItemState(in.State), Reason: in.Reason})
	return respond(w, d, err)
}
