package token

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/consign-dev/consign/internal/id"
)

// Issuer signs tokens with the ring's current key. It writes nothing: rows about a token are the caller's.
type Issuer struct {
	ring      *KeyRing
	issuer    string
	namespace string
	lifetimes Lifetimes
	now       func() time.Time
	informed  *Verifier // see Inform; nil: nobody
}

// NewIssuer makes an Issuer. issuerURL is the iss claim: PUBLIC_URL with identity's base path, the same on every host.
// namespace is the prefix of the org_id claim.
func NewIssuer(ring *KeyRing, issuerURL, namespace string, lifetimes Lifetimes, now func() time.Time) *Issuer {
	return &Issuer{ring: ring, issuer: issuerURL, namespace: namespace, lifetimes: lifetimes, now: now}
}

// Inform lets v know the tokens that i signs, so that here their first use costs no verification either. v must have been made
// with the issuer's ring, URL and namespace. It must be called before the first Issue.
func (i *Issuer) Inform(v *Verifier) {
	if v.ring != i.ring || v.issuer != i.issuer || v.namespace != i.namespace {
		panic("token: the verifier is of another issuer")
	}
	i.informed = v
}

// Lifetimes returns how long tokens live unless their Claims say otherwise.
func (i *Issuer) Lifetimes() Lifetimes { return i.lifetimes }

// URL returns the iss claim.
func (i *Issuer) URL() string { return i.issuer }

// Issue returns a signed token of the kind (ES256, RFC 7518). What c leaves zero of JTI, IssuedAt and ExpiresAt is filled
// in; who needs to know them sets them. An ID token of authLevel 0 gets the life of a signup token.
// It fails when no key can sign and none can be made because the database is away.
func (i *Issuer) Issue(ctx context.Context, kind Kind, c Claims) (raw string, err error) {
	if kind.audience() == nil {
		return "", fmt.Errorf("issue token: %q is no kind of token", kind)
	}
	if c.JTI.IsZero() {
		c.JTI = id.New[id.Token]()
	}
	if c.IssuedAt.IsZero() {
		c.IssuedAt = i.now()
	}
	c.IssuedAt = wholeSeconds(c.IssuedAt)
	if c.ExpiresAt.IsZero() {
		c.ExpiresAt = c.IssuedAt.Add(i.lifetimes.of(kind, c))
	}
	if c.AuthTime.IsZero() {
		c.AuthTime = c.IssuedAt
	}
	p := payloadOf(kind, c, i.issuer, i.namespace)
	// What this package would refuse to read it must not hand out.
	caller, err := p.caller()
	if err != nil {
		return "", fmt.Errorf("issue %s token: %w", kind, err)
	}
	generation := i.ring.generation.Load() // before a key is chosen
	k, err := i.ring.signer(ctx, kind.purpose())
	if err != nil {
		return "", fmt.Errorf("issue %s token: %w", kind, err)
	}
	claims, err := p.MarshalJSON() // directly: json.Marshal would go over the result once more
	if err != nil {
		return "", fmt.Errorf("encode %s token: %w", kind, err)
	}
	if raw, err = k.sign(claims); err != nil {
		return "", fmt.Errorf("sign %s token: %w", kind, err)
	}
	if i.informed != nil && kind != KindUID && !bytes.Contains(claims, replaced) { // a uid token may not be used for years
		caller.Raw = raw
		i.informed.know(caller, generation)
	}
	return raw, nil
}

// replaced is what JSON has in place of bytes that are no text. A token with it does not say what its issuer was told.
var replaced = []byte(`\ufffd`)

// encodeHeader makes the header of the tokens that a key signs, which is the same for all of them.
func encodeHeader(kid string) string {
	header, err := json.Marshal(map[string]string{"alg": jwt.SigningMethodES256.Alg(), "kid": kid, "typ": "JWT"})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return segments.EncodeToString(header)
}

// segments is how the three parts of a token are written (RFC 7515, 2).
var segments = base64.RawURLEncoding

const signatureBytes = 64 // of ES256

// sign makes the token: header, claims and, by the library, the signature over both (RFC 7515, 3.1).
func (k *Key) sign(claims []byte) (string, error) {
	b := make([]byte, 0, len(k.header)+segments.EncodedLen(len(claims))+segments.EncodedLen(signatureBytes)+2)
	b = append(append(b, k.header...), '.')
	b = segments.AppendEncode(b, claims)
	signature, err := jwt.SigningMethodES256.Sign(string(b), k.private)
	if err != nil {
		return "", err
	}
	return string(segments.AppendEncode(append(b, '.'), signature)), nil
}
