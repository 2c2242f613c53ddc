// The public keys of a provider: accepted algorithms and sizes, and the search by kid.

package oidc

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"
)

const (
	maxKeys = 100 // of one set
	minRSA  = 2048
	maxRSA  = 8192 // bits; larger keys only cost time
)

// algorithms returns the accepted signature algorithms of ID tokens (contract 3.14).
func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA}
}

// key is a public key that a provider signs ID tokens with.
type key struct {
	id        string
	issuer    string // Microsoft: the only issuer it may sign for, a template if it has {tenantid}; empty: no restriction
	algorithm jose.SignatureAlgorithm
	public    any
}

// parseKeys parses a JWK set (RFC 7517). It skips keys that cannot verify an ID token (section 5). A set without a
// usable key is an error.
func parseKeys(body []byte) ([]key, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("the set has more than %d keys", maxKeys)
	}
	var keys []key
	for _, raw := range set.Keys {
		if k, ok := parseKey(raw); ok {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("the set has no key for RS256, ES256 or EdDSA")
	}
	return keys, nil
}

func parseKey(raw json.RawMessage) (key, bool) {
	var jwk jose.JSONWebKey
	if err := json.Unmarshal(raw, &jwk); err != nil {
		return key{}, false
	}
	var more struct {
		Issuer     string   `json:"issuer"`
		Operations []string `json:"key_ops"`
	}
	if err := json.Unmarshal(raw, &more); err != nil {
		return key{}, false
	}
	algorithm := algorithmOf(jwk.Key)
	switch {
	case algorithm == "",
		jwk.Use != "" && jwk.Use != "sig",
		jwk.Algorithm != "" && jwk.Algorithm != string(algorithm) && (algorithm != jose.EdDSA || jwk.Algorithm != "Ed25519"),
		len(more.Operations) > 0 && !slices.Contains(more.Operations, "verify"):
		return key{}, false
	}
	return key{id: jwk.KeyID, issuer: more.Issuer, algorithm: algorithm, public: jwk.Key}, true
}

// algorithmOf returns the only algorithm for which a key is used here, or "" for a key that is not accepted.
func algorithmOf(public any) jose.SignatureAlgorithm {
	switch k := public.(type) {
	case *rsa.PublicKey:
		if bits := k.N.BitLen(); bits >= minRSA && bits <= maxRSA {
			return jose.RS256
		}
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P256() {
			return jose.ES256
		}
	case ed25519.PublicKey:
		return jose.EdDSA
	}
	return ""
}

// signed reports whether one of the keys verifies the token's signature. A token without kid may be signed by any of
// them.
func (d *documents) signed(t *token, rule issuerRule) bool {
	header := t.jws.Signatures[0].Protected
	for _, k := range d.keys {
		if header.KeyID != "" && k.id != header.KeyID || header.Algorithm != string(k.algorithm) ||
			!rule.signs(k.issuer, t.claims.Issuer, t.claims.Tenant) {
			continue
		}
		if _, err := t.jws.Verify(k.public); err == nil {
			return true
		}
	}
	return false
}
