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

// Leeway is how far the clocks of a provider and ours may differ: a token is accepted that long after its ExpiresAt, so
// its fingerprint must be kept that much longer.
const Leeway = 30 * time.Second

// Expectation says what an ID token must be besides genuine. The zero value accepts none: a nonce must be named or waived.
type Expectation struct {
	ClientID string        // the only client it may be for; empty: any configured one of its issuer
	Nonce    string        // what it must hold
	AnyNonce bool          // Nonce is not looked at: the nonce is the client's own affair
	MaxAge   time.Duration // how old iat may be; 0: as old as exp allows

	nonceMayMiss bool // a token without nonce is fine
}

// Identity is what a provider vouches for.
type Identity struct {
	Issuer    string // iss of the token. With Subject it names the person, for ever; an email does not
	Subject   string
	Provider  string // the configured issuer; another than Issuer only for Microsoft's issuers of many tenants
	ClientID  string
	Type      Type
	SessionID string // sid, for front-channel logout; empty if the provider gives none

	Email         string // in the form addresses are stored in
	EmailVerified bool   // by the provider, by Microsoft's xms_edov, or because the operator set emailTrusted
	Name          string // for a new profile; may be empty

	Nonce        string
	IssuedAt     time.Time
	ExpiresAt    time.Time         // nobody accepts it later than Leeway after that
	Fingerprint  [sha256.Size]byte // of what was signed: the same for every spelling of one token, so that it is accepted once
	Organization id.Organization   // whose member the person becomes; zero: none
}

// Verify checks an ID token that a client or browser brought. It returns ErrInvalidToken, ErrCommunicationFailed when
// the provider's keys cannot be had, and ErrEmailMissing or ErrEmailNotVerified for a genuine token that names somebody
// whose address is not proved: then, and only then, the Identity is filled beside the error.
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

// addressee finds the client that a token is for: its audience, or of several the authorized party (OpenID Connect Core
// 1.0, section 3.1.3.7). With clientID only that one can be it.
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
		if found == nil || r.rule.template == "" { // a tenant's own issuer before that of all tenants
			found = r
		}
	}
	return found
}

// verify checks a token that is for a client, which the caller made sure of.
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
	return identity, nil
}

// authenticate checks the signature with the issuer's keys, after reading them again if none fits.
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
