package token

import (
	"context"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/consign-dev/consign/internal/id"
)

// Issuer signs tokens with the current key of the ring. It stores nothing about them.
type Issuer struct {
	ring      *KeyRing
	issuer    string
	namespace string
	lifetimes Lifetimes
	now       func() time.Time
	preloaded *Verifier // see Preload; nil: none
}

// NewIssuer returns an Issuer. issuerURL is the iss claim: PUBLIC_URL with identity's base path, the same on every host.
// namespace is the prefix of the org_id claim.
func NewIssuer(ring *KeyRing, issuerURL, namespace string, lifetimes Lifetimes, now func() time.Time) *Issuer {
	return &Issuer{ring: ring, issuer: issuerURL, namespace: namespace, lifetimes: lifetimes, now: now}
}

// Preload adds the tokens that i signs to the cache of v, so that their first use on this replica needs no verification.
// v must have the issuer's ring, URL and namespace; Preload panics otherwise. Call it before the first Issue.
func (i *Issuer) Preload(v *Verifier) {
	if v.ring != i.ring || v.issuer != i.issuer || v.namespace != i.namespace {
		panic("token: the verifier belongs to another issuer")
	}
	i.preloaded = v
}

// Lifetimes returns how long tokens are valid unless their Claims set ExpiresAt.
func (i *Issuer) Lifetimes() Lifetimes { return i.lifetimes }

// URL returns the iss claim.
func (i *Issuer) URL() string { return i.issuer }

// Issue returns a signed token of the kind (ES256, RFC 7518). It fills in JTI, IssuedAt, ExpiresAt and AuthTime where c
// leaves them zero. An ID token of authLevel 0 gets the lifetime of a signup token.
// Errors: for an unknown kind, claims
// that contradict the kind, or no usable key while the database is unavailable.
func (i *Issuer) Issue(ctx context.Context, kind Kind, c Claims) (raw string, err error) {
	if kind.audience() == nil {
		return "", fmt.Errorf("issue token: unknown kind %q", kind)
	}
	if c.JTI.IsZero() {
		c.JTI = id.New[id.Token]()
	}
	if c.IssuedAt.IsZero() {
		c.IssuedAt = i.now()
	}
	c.IssuedAt = c.IssuedAt.Truncate(time.Second) // the precision of a token
	if c.ExpiresAt.IsZero() {
		c.ExpiresAt = c.IssuedAt.Add(i.lifetimes.of(kind, c))
	}
	if c.AuthTime.IsZero() {
		c.AuthTime = c.IssuedAt
	}
	p := payloadOf(kind, c, i.issuer, i.namespace)
	caller, err := p.caller() // never issue a token that Verify would refuse
	if err != nil {
		return "", fmt.Errorf("issue %s token: %w", kind, err)
	}
	generation := i.ring.generation.Load() // read before a key is chosen
	k, err := i.ring.signer(ctx, kind.purpose())
	if err != nil {
		return "", fmt.Errorf("issue %s token: %w", kind, err)
	}
	t := jwt.NewWithClaims(jwt.SigningMethodES256, p)
	t.Header["kid"] = k.KID
	if raw, err = t.SignedString(k.private); err != nil {
		return "", fmt.Errorf("sign %s token: %w", kind, err)
	}
	if i.preloaded != nil && kind != KindUID && c.isText() { // a uid token may not be used for years
		caller.Raw = raw
		i.preloaded.addToCache(caller, generation)
	}
	return raw, nil
}
