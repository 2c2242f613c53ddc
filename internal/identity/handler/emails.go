// The addresses of a person over HTTP, and the confirmation of an address by its key.

package handler

import (
	"net/http"
	"net/url"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/strictjson"
)

type emailResponse struct {
	Address  string        `json:"address"`
	Primary  bool          `json:"primary"`
	Verified bool          `json:"verified"`
	RemoveAt *httpapi.Time `json:"removeAt"`
}

type emailsResponse struct {
	Emails []emailResponse `json:"emails"`
}

func emailFrom(a identity.Address) emailResponse {
	return emailResponse{Address: a.Address, Primary: a.Primary, Verified: a.Verified, RemoveAt: httpapi.TimeOrNil(a.RemoveAt)}
}

func emailsFrom(addresses []identity.Address) []emailResponse {
	out := make([]emailResponse, len(addresses))
	for i, a := range addresses {
		out[i] = emailFrom(a)
	}
	return out
}

// listEmails handles GET /profile/emails.
func (h *Handler) listEmails(w http.ResponseWriter, r *http.Request) error {
	addresses, err := h.service.Emails(r.Context(), caller(r))
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, emailsResponse{Emails: emailsFrom(addresses)})
}

type newEmailRequest struct {
	Address string `json:"address"`
	httpapi.ProofRequest
}

// createEmail handles POST /profile/emails.
func (h *Handler) createEmail(w http.ResponseWriter, r *http.Request) error {
	c := caller(r)
	if err := h.buckets.Take(w, r.Context(), addressBucket, c.Person.String(), httpapi.Identity); err != nil {
		return err
	}
	var in newEmailRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	if err := h.buckets.TakeGuess(w, r, in.ProofRequest, httpapi.Identity); err != nil {
		return err
	}
	address, err := identity.NormalizeAddress("address", in.Address)
	if err != nil {
		return err
	}
	if err := h.takeInbox(w, r, address); err != nil {
		return err
	}
	var added identity.Address
	err = h.verifying(w, r, address, func() (err error) {
		added, err = h.service.AddEmail(r.Context(), c, address, in.Proof())
		return err
	})
	if err != nil {
		return err
	}
	return httpapi.Created(w, h.location(r, "/profile/emails/"+url.PathEscape(added.Address)), emailFrom(added))
}

// takeInbox takes a token of the inbox bucket for a mail from the caller to address, which must be normalized and may be
// another person's.
func (h *Handler) takeInbox(w http.ResponseWriter, r *http.Request, address string) error {
	return h.buckets.TakeQuietly(w, r.Context(), inboxBucket, caller(r).Person.String()+" "+address, httpapi.Identity)
}

// deleteEmail handles DELETE /profile/emails/{address}.
func (h *Handler) deleteEmail(w http.ResponseWriter, r *http.Request) error {
	proof, err := h.buckets.Proof(w, r, httpapi.Identity)
	if err != nil {
		return err
	}
	if err := h.service.RemoveEmail(r.Context(), caller(r), httpapi.Param(r, "address"), proof); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// makePrimary handles POST /profile/emails/{address}/primary.
func (h *Handler) makePrimary(w http.ResponseWriter, r *http.Request) error {
	proof, err := h.buckets.Proof(w, r, httpapi.Identity)
	if err != nil {
		return err
	}
	if err := h.service.MakePrimaryEmail(r.Context(), caller(r), httpapi.Param(r, "address"), proof); err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

type verificationRequest struct {
	Next *string `json:"next"`
}

// requestVerification handles POST /profile/emails/{address}/verify.
func (h *Handler) requestVerification(w http.ResponseWriter, r *http.Request) error {
	var in verificationRequest
	if err := strictjson.DecodeOptional(r, &in); err != nil {
		return err
	}
	c := caller(r)
	if err := h.buckets.Take(w, r.Context(), verificationBucket, c.Person.String(), httpapi.Identity); err != nil {
		return err
	}
	address := httpapi.Param(r, "address")
	err := h.verifying(w, r, address, func() error { return h.service.RequestVerification(r.Context(), c, address, orEmpty(in.Next)) })
	if err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// verifying does work that mails a verification link to an address. It takes tokens of the buckets for such mails, which stay
// taken if the work succeeds. An address that is none takes no token: work reports its problem.
func (h *Handler) verifying(w http.ResponseWriter, r *http.Request, address string, work func() error) error {
	normalized, err := identity.NormalizeAddress("address", address)
	if err != nil {
		return work()
	}
	parts := mailParts(r, h.verifyAskerBucket, verifyMailBucket, normalized)
	return h.buckets.TakeAllFor(w, r.Context(), parts, httpapi.Identity, func() (bool, error) {
		err := work()
		return err == nil, err
	})
}

// confirmAddress handles POST /confirm/{key}.
func (h *Handler) confirmAddress(w http.ResponseWriter, r *http.Request) error {
	c := caller(r)
	if err := h.buckets.Take(w, r.Context(), confirmationBucket, c.Person.String(), httpapi.Identity); err != nil {
		return err
	}
	idToken, err := h.service.ConfirmEmail(r.Context(), c, httpapi.Param(r, "key"))
	if err != nil {
		return err
	}
	h.setRenewed(w, r, idToken)
	return httpapi.NoContent(w)
}
