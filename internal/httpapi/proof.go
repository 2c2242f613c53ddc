package httpapi

import (
	"net/http"
	"time"

	"github.com/consign-dev/consign/internal/ratelimit"
	"github.com/consign-dev/consign/internal/strictjson"
	"github.com/consign-dev/consign/internal/token"
)

// ProofRequest holds the members of a request that confirm the identity of its sender (contract 3.21).
type ProofRequest struct {
	AuthKey    *string        `json:"authKey"`
	AuthFactor *factorRequest `json:"authFactor"`
}

type factorRequest struct {
	Type string `json:"type"`
	Key  string `json:"key"`
}

// Proof returns the proof of the request.
func (in ProofRequest) Proof() token.Proof {
	p := token.Proof{Key: in.AuthKey}
	if in.AuthFactor != nil {
		p.Factor = &token.Factor{Type: in.AuthFactor.Type, Key: in.AuthFactor.Key}
	}
	return p
}

// CredentialBucket bounds guesses of the credentials of a person.
var CredentialBucket = ratelimit.Bucket{Name: "credential",
	Limit: ratelimit.Limit{Capacity: 10, PerSecond: ratelimit.Every(15 * time.Second)}, By: ratelimit.ByPerson, Essential: true}

// TakeGuess takes a token of the caller's credential bucket if the request has something that could be a guess.
func (b *Buckets) TakeGuess(w http.ResponseWriter, r *http.Request, in ProofRequest, s Style) error {
	if in.AuthKey == nil && in.AuthFactor == nil {
		return nil
	}
	return b.Take(w, r.Context(), CredentialBucket, token.CallerFrom(r.Context()).Person.String(), s)
}

// Proof reads the optional body of a request that has no other members, and takes a token for a guess.
func (b *Buckets) Proof(w http.ResponseWriter, r *http.Request, s Style) (token.Proof, error) {
	var in ProofRequest
	if err := strictjson.DecodeOptional(r, &in); err != nil {
		return token.Proof{}, err
	}
	return in.Proof(), b.TakeGuess(w, r, in, s)
}
