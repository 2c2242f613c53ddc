package handler

import (
	"net/http"
	"net/url"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
)

// listEmails handles GET /profile/emails.
func (h *Handler) listEmails(w http.ResponseWriter, r *http.Request) error {
	addresses, err := h.service.Emails(r.Context(), token.CallerFrom(r.Context()))
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, struct {
		Emails []emailResponse `json:"emails"`
	}{emailsFrom(addresses)})
}

// createEmail handles POST /profile/emails.
func (h *Handler) createEmail(w http.ResponseWriter, r *http.Request) error {
	caller := token.CallerFrom(r.Context())
	if err := h.buckets.Take(w, r.Context(), addressBucket, caller.Person.String(), httpapi.Identity); err != nil {
		return err
	}
	var in addressRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	address, err := service.NormalizeAddress("address", in.Address)
	if err != nil {
		return err
	}
	if err := h.takeInbox(w, r, address); err != nil {
		return err
	}
	added, err := h.service.AddEmail(r.Context(), caller, address)
	if err != nil {
		return err
	}
	return httpapi.Created(w, h.location(r, "", "/profile/emails/"+url.PathEscape(added.Address)), emailsFrom([]identity.Address{added})[0])
}

// takeInbox takes a drop for a mail that the caller has sent to an address, in normalized form, that need not be theirs.
func (h *Handler) takeInbox(w http.ResponseWriter, r *http.Request, address string) error {
	return h.buckets.TakeQuietly(w, r.Context(), inboxBucket, token.CallerFrom(r.Context()).Person.String()+" "+address, httpapi.Identity)
}

// deleteEmail handles DELETE /profile/emails/{address}.
func (h *Handler) deleteEmail(w http.ResponseWriter, r *http.Request) error {
	if err := h.service.RemoveEmail(r.Context(), token.CallerFrom(r.Context()), httpapi.Param(r, "address")); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// makePrimary handles POST /profile/emails/{address}/primary.
func (h *Handler) makePrimary(w http.ResponseWriter, r *http.Request) error {
	if err := h.service.MakePrimary(r.Context(), token.CallerFrom(r.Context()), httpapi.Param(r, "address")); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// requestVerification handles POST /profile/emails/{address}/verify.
func (h *Handler) requestVerification(w http.ResponseWriter, r *http.Request) error {
	caller := token.CallerFrom(r.Context())
	if err := h.buckets.Take(w, r.Context(), verificationBucket, caller.Person.String(), httpapi.Identity); err != nil {
		return err
	}
	if err := h.service.RequestVerification(r.Context(), caller, httpapi.Param(r, "address")); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// confirmAddress handles POST /confirm/{key}.
func (h *Handler) confirmAddress(w http.ResponseWriter, r *http.Request) error {
	caller := token.CallerFrom(r.Context())
	if err := h.buckets.Take(w, r.Context(), confirmationBucket, caller.Person.String(), httpapi.Identity); err != nil {
		return err
	}
	idToken, err := h.service.Confirm(r.Context(), caller, httpapi.Param(r, "key"))
	if err != nil {
		return err
	}
	if idToken != "" {
		httpapi.Bearer(w, idToken)
	}
	return httpapi.NoContent(w)
}
