package handler

import (
	"bytes"
	"encoding/hex"
	"net/http"
	"strconv"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
	"github.com/consign-dev/consign/internal/transfer"
	"github.com/consign-dev/consign/internal/transfer/content"
)

// partRoutes holds the upload of an object in parts at once (contract 4.27).
func (h *Handler) partRoutes(uploader token.Auth) []httpapi.Route {
	const parts = "/reservations/{uid}/objects/{clientId}/parts"
	return []httpapi.Route{
		{Method: "POST", Pattern: parts, Auth: uploader, Bucket: h.upload, Handler: h.planParts, Grows: true},
		{Method: "GET", Pattern: parts, Auth: uploader, Bucket: h.upload, Handler: h.getParts},
		{Method: "PUT", Pattern: parts + "/{number}", Auth: uploader, Bucket: h.upload, Body: httpapi.StreamBody, Handler: h.putPart},
	}
}

// planRequest is the body of a request for parts.
type planRequest struct {
	PartSize *int64 `json:"partSize"`
}

type planResponse struct {
	PartSize     int64          `json:"partSize"`
	Count        int            `json:"count"`
	IntendedSize int64          `json:"intendedSize"`
	Joined       int64          `json:"joined"`
	SHA256       string         `json:"sha256,omitempty"`
	Parts        []partResponse `json:"parts"`
}

type partResponse struct {
	Number int   `json:"number"`
	Offset int64 `json:"offset"`
	Size   int64 `json:"size"`
	Held   int64 `json:"held"`
}

func planFrom(p transfer.Plan) planResponse {
	out := planResponse{PartSize: p.PartSize, Count: p.Count, IntendedSize: p.Size, Joined: p.Joined, SHA256: hex.EncodeToString(p.SHA256),
		Parts: make([]partResponse, len(p.Parts))}
	for i, part := range p.Parts {
		out.Parts[i] = partResponse(part)
	}
	return out
}

// planParts handles POST /reservations/{uid}/objects/{clientId}/parts.
func (h *Handler) planParts(w http.ResponseWriter, r *http.Request) error {
	uid, clientID, err := objectParams(r)
	if err != nil {
		return err
	}
	var in planRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	size := int64(0)
	if in.PartSize != nil {
		if size = *in.PartSize; size == 0 {
			size = -1 // the server chooses only when nothing is asked for
		}
	}
	plan, made, err := h.service.PlanParts(r.Context(), caller(r), uid, clientID, size)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if made {
		status = http.StatusCreated
	}
	w.Header().Set("Location", h.uploadLocation(r, uid, clientID, "parts"))
	return httpapi.JSON(w, status, planFrom(plan))
}

// getParts handles GET /reservations/{uid}/objects/{clientId}/parts.
func (h *Handler) getParts(w http.ResponseWriter, r *http.Request) error {
	uid, clientID, err := objectParams(r)
	if err != nil {
		return err
	}
	plan, err := h.service.Parts(r.Context(), caller(r), uid, clientID)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, planFrom(plan))
}

// putPart handles PUT /reservations/{uid}/objects/{clientId}/parts/{number}. Content-Range is that of the part.
func (h *Handler) putPart(w http.ResponseWriter, r *http.Request) error {
	uid, clientID, err := objectParams(r)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(httpapi.Param(r, "number"))
	if err != nil || number < 1 || number > transfer.MaxParts {
		return transfer.ErrNotFound
	}
	in, err := writeFrom(r)
	if err != nil {
		return err
	}
	in.Number, in.Restart = number, false // what is held of a part stays
	if in, err = wholeDigest(in); err != nil {
		return err
	}
	st, err := h.Incoming(w, r).Write(uid, clientID, in)
	if err != nil {
		return RangeAnswer(w, err, in.Offset == malformedRange)
	}
	return httpapi.JSON(w, http.StatusOK, partResponse{Number: number, Offset: int64(number-1) * st.PartSize, Size: st.Size, Held: st.Held})
}

// wholeDigest makes the digest of a whole part that of the body.
// Errors: fault.ErrInvalid, transfer.ErrDigest.
func wholeDigest(in content.Write) (content.Write, error) {
	switch {
	case in.ReprDigest == nil:
		return in, nil
	case !in.Whole && (in.Offset != 0 || in.Length != in.Size):
		return in, fault.ErrInvalid.With("Repr-Digest: is for a request with a whole part; send Content-Digest with a range")
	case in.ContentDigest != nil && !bytes.Equal(in.ContentDigest, in.ReprDigest):
		return in, transfer.ErrDigest
	}
	in.ContentDigest, in.ReprDigest = in.ReprDigest, nil
	return in, nil
}
