// What an external ID token must prove before it is accepted, and the sentences of refusals.

package oidc

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/id"
)

// Leeway is how far the clocks of a provider and this server may differ. A token is accepted until Leeway after its
// ExpiresAt, so its fingerprint must be kept that long.
const Leeway = 30 * time.Second

// Expectation is what a genuine ID token must satisfy. The zero value accepts no token: set Nonce or AnyNonce.
type Expectation struct {
	ClientID string        // the only client it may be for; empty: any configured client of its issuer
	Nonce    string        // the nonce that it must have
	AnyNonce bool          // the nonce is not checked here: the client checks it
	MaxAge   time.Duration // greatest age of iat; 0: no limit besides exp

	nonceMayMiss bool // a token without nonce is accepted
}

// Identity is a person as an ID token identifies it.
type Identity struct {
	Issuer    string // iss of the token; Issuer and Subject identify the person for good, Email does not
	Subject   string
	Provider  string // the configured issuer; differs from Issuer only for Microsoft's multi-tenant issuers
	ClientID  string
	Type      Type
	SessionID string // sid, for front-channel logout; empty if the provider gives none

	Email         string // in stored form
	EmailVerified bool   // by the provider, by Microsoft's xms_edov, or because the operator set emailTrusted; false: of a foreign domain
	Name          string // for a new profile; may be empty

	Nonce        string
	IssuedAt     time.Time
	ExpiresAt    time.Time         // the token is accepted until Leeway after it
	Fingerprint  [sha256.Size]byte // SHA-256 of the signed payload, the same for every encoding of one token
	Organization id.Organization   // the person becomes its member; zero: none
}

// Verify checks an ID token that a client or browser sent.
// Errors: ErrInvalidToken, ErrCommunicationFailed when the provider's keys cannot be read, ErrEmailMissing or
// ErrEmailNotVerified for a genuine token without a verified address. Only the latter two come with the Identity.
func (p *Providers) Verify(ctx context.Context, rawIDToken string, want Expectation) (Identity, error) {
	t, err := parseToken(rawIDToken)
	if err != nil {
		return Identity{}, ErrInvalidToken.with("token: " + err.Error())
	}
	r := p.addressee(t.claims, want.ClientID)
	if r == nil {
		return Identity{}, ErrInvalidToken.with("token: iss and aud are no configured client, or azp is missing")
	}
	return p.verify(ctx, r, t, want)
}

// addressee returns the client that a token is for: the audience, or the authorized party (azp) if there are several
// audiences (OpenID Connect Core 1.0, section 3.1.3.7). It ignores azp beside a single audience. It returns nil if no
// client matches. An empty clientID allows each client, another one only itself.
func (p *Providers) addressee(c claims, clientID string) *registration {
	audience := c.Audience[0]
	if len(c.Audience) > 1 {
		audience = c.Authorized
	}
	if audience == "" || !slices.Contains(c.Audience, audience) || clientID != "" && clientID != audience {
		return nil
	}
	var found *registration
	for _, r := range p.clients {
		if _, ok := r.rule.issued(c.Issuer, c.Tenant); !ok || r.ClientID != audience {
			continue
		}
		if found == nil || r.rule.template == "" { // a tenant's own issuer takes precedence over a multi-tenant one
			found = r
		}
	}
	return found
}

// verify checks a token whose addressee is r.
func (p *Providers) verify(ctx context.Context, r *registration, t *token, want Expectation) (Identity, error) {
	if err := r.provider.authenticate(ctx, t); err != nil {
		return Identity{}, err
	}
	if err := p.checkClaims(t.claims, want); err != nil {
		return Identity{}, ErrInvalidToken.with("token: " + err.Error())
	}
	c := t.claims
	issuer, _ := r.rule.issued(c.Issuer, c.Tenant)
	identity := Identity{
		Issuer: issuer, Subject: c.Subject, Provider: r.Issuer, ClientID: r.ClientID, Type: r.Type, SessionID: c.Session,
		Email: c.Email, Name: c.Name, Nonce: c.Nonce, IssuedAt: c.Issued, ExpiresAt: c.Expires,
		Fingerprint: t.fingerprint, Organization: r.Organization,
	}
	if c.Email == "" {
		return identity, ErrEmailMissing
	}
	identity.EmailVerified = c.EmailVerified || r.EmailTrusted || r.Type == Microsoft && c.DomainVerified
	if !identity.EmailVerified {
		return identity, ErrEmailNotVerified
	}
	identity.EmailVerified = r.verifies(c.Email)
	return identity, nil
}

// authenticate checks the signature with the issuer's keys. If no key fits it reads the keys again.
func (p *provider) authenticate(ctx context.Context, t *token) error {
	docs, err := p.documents(ctx)
	if err != nil {
		return err
	}
	if docs.signed(t, p.rule) {
		return nil
	}
	newer, err := p.newer(ctx, docs)
	if err != nil {
		return err
	}
	if newer == docs || !newer.signed(t, p.rule) {
		return ErrInvalidToken.with("token: is not signed by a current key of its issuer")
	}
	return nil
}

func (p *Providers) checkClaims(c claims, want Expectation) error {
	now := p.now()
	switch {
	case !now.Before(c.Expires.Add(Leeway)):
		return errors.New("is expired; sign in again")
	case c.Issued.After(now.Add(Leeway)), c.NotBefore.After(now.Add(Leeway)):
		return errors.New("is not valid yet")
	case want.MaxAge > 0 && now.Sub(c.Issued) > want.MaxAge:
		return fmt.Errorf("was issued more than %s ago; sign in again", want.MaxAge)
	case want.AnyNonce, want.nonceMayMiss && c.Nonce == "":
		return nil
	case want.Nonce == "" || subtle.ConstantTimeCompare([]byte(c.Nonce), []byte(want.Nonce)) != 1:
		return errors.New("nonce is not the one expected")
	}
	return nil
}
