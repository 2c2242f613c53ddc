package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/session"
	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/strictjson"
)

// requestReset handles POST /auth/reset. Besides the general bucket, each address has buckets, so that no inbox is flooded. A
// request from a known device of the person takes a token of the device's bucket only. When strangers have used up the mails of a
// day, the owner finds the link of the last one in the inbox, or gets another. Requests with unknown addresses count too.
func (h *Handler) requestReset(w http.ResponseWriter, r *http.Request) error {
	var in addressRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	address, err := identity.NormalizeAddress("address", in.Address)
	if err != nil {
		return err
	}
	device, err := h.knownDevice(r, address, h.devicesOf(r))
	if err != nil {
		return err
	}
	parts := []ratelimit.Part{{Bucket: resetDeviceBucket, Identifier: device.String()}}
	if device.IsZero() {
		own := asker(r, address)
		parts = []ratelimit.Part{{Bucket: resetBucket, Identifier: own}, {Bucket: h.resetAskerBucket, Identifier: own}}
	}
	err = h.buckets.TakeAllFor(w, r.Context(), parts, httpapi.Identity, func() (bool, error) {
		room := true
		if device.IsZero() {
			all := ratelimit.Part{Bucket: resetMailBucket, Identifier: address, Client: clientKey(r)}
			if room, err = h.buckets.Admit(r.Context(), all); err != nil {
				return true, err
			}
		}
		return true, h.service.RequestPasswordReset(r.Context(), httpapi.Client(r.Context()), address, !room)
	})
	if err != nil {
		return err
	}
	return httpapi.NoContent(w)
}

// resetPassword handles POST /auth/reset/{key}.
func (h *Handler) resetPassword(w http.ResponseWriter, r *http.Request) error {
	var signedIn session.SignedIn
	err := h.guess(w, r, func() (err error) {
		signedIn, err = h.service.ResetPassword(r.Context(), httpapi.Client(r.Context()), httpapi.Param(r, "key"))
		return err
	})
	if err != nil {
		return err
	}
	return h.respondSignedIn(w, r, signedIn)
}
