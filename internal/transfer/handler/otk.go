package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/transfer/service"
)

type oneTimeKeyRequest struct {
	TransferUID *string `json:"transferUid"`
	ObjectUID   *string `json:"objectUid"`
}

// object returns the object that the key is for, zero for the archive. A malformed uid is added to p.
func (in oneTimeKeyRequest) object(p *fault.Problems) id.Object {
	if in.ObjectUID == nil {
		return id.Object{}
	}
	uid, err := id.Parse[id.Object](*in.ObjectUID)
	if err != nil {
		p.Add("objectUid", err.Error())
	}
	return uid
}

type oneTimeKeyResponse struct {
	Key       string       `json:"key"`
	ExpiresAt httpapi.Time `json:"expiresAt"`
}

func oneTimeKeyFrom(k service.OneTimeKey) oneTimeKeyResponse {
	return oneTimeKeyResponse{Key: k.Key, ExpiresAt: httpapi.Time(k.ExpiresAt)}
}

// createOneTimeKey handles POST /auth/otk.
func (h *Handler) createOneTimeKey(w http.ResponseWriter, r *http.Request) error {
	c := caller(r)
	if err := h.buckets.Take(w, r.Context(), oneTimeKeyBucket, c.Person.String(), httpapi.Transfer); err != nil {
		return err
	}
	var in oneTimeKeyRequest
	if err := strictjson.Decode(r, &in); err != nil {
		return err
	}
	var p fault.Problems
	var uid id.Transfer
	if in.TransferUID == nil {
		p.Add("transferUid", "is required")
	} else {
		var err error
		if uid, err = id.Parse[id.Transfer](*in.TransferUID); err != nil {
			p.Add("transferUid", err.Error())
		}
	}
	object := in.object(&p)
	if err := p.Err(); err != nil {
		return err
	}
	k, err := h.service.NewOneTimeKey(r.Context(), c, uid, object)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, oneTimeKeyFrom(k))
}

// createLinkedOneTimeKey handles POST /public/transfers/{key}/otk.
func (h *Handler) createLinkedOneTimeKey(w http.ResponseWriter, r *http.Request) error {
	c := caller(r)
	if err := h.buckets.Take(w, r.Context(), oneTimeKeyBucket, c.Delivery.String(), httpapi.Transfer); err != nil {
		return err
	}
	var in oneTimeKeyRequest
	if err := strictjson.DecodeOptional(r, &in); err != nil {
		return err
	}
	var p fault.Problems
	object := in.object(&p)
	if err := p.Err(); err != nil {
		return err
	}
	k, err := h.service.NewLinkedOneTimeKey(r.Context(), c, httpapi.Param(r, "key"), object)
	if err != nil {
		return err
	}
	return httpapi.JSON(w, http.StatusOK, oneTimeKeyFrom(k))
}
