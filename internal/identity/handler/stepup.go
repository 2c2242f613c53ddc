package handler

import (
	"net/http"

	"github.com/consign-dev/consign/internal/httpapi"
	"github.com/consign-dev/consign/internal/identity/service"
	"github.com/consign-dev/consign/internal/strictjson"
)

// proofRequest holds the members of a request that confirm the identity of its sender (contract 3.21).
type proofRequest struct {
	AuthKey    *string        `json:"authKey"`
	AuthFactor *factorRequest `json:"authFactor"`
}

type factorRequest struct {
	Type string `json:"type"`
	Key  string `json:"key"`
}

func (in proofRequest) domain() service.Proof {
	p := service.Proof{Key: in.AuthKey}
	if in.AuthFactor != nil {
		p.Factor = &service.Factor{Type: in.AuthFactor.Type, Key: in.AuthFactor.Key}
	}
	return p
}

// takeGuess takes a token of the credential bucket if the request has something that could be a guess.
func (h *Handler) takeGuess(w http.ResponseWriter, r *http.Request, in proofRequest) error {
	if in.AuthKey == nil && in.AuthFactor == nil {
		return nil
	}
	return h.buckets.Take(w, r.Context(), credentialBucket, caller(r).Person.String(), httpapi.Identity)
}

// proof reads the optional body of a request that has no other members, and takes a token for a guess.
func (h *Handler) proof(w http.ResponseWriter, r *http.Request) (service.Proof, error) {
	var in proofRequest
	if err := strictjson.DecodeOptional(r, &in); err != nil {
		return service.Proof{}, err
	}
	return in.domain(), h.takeGuess(w, r, in)
}
