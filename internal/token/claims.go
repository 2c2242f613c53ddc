// The claims of each kind of token, and the contradictions that are refused.

package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/id"
)

const idTokenVersion = "3.0"

// wire is the payload of a token as JSON. A nil pointer means that the kind does not carry the claim.
type wire struct {
	Issuer         string           `json:"iss"`
	Subject        string           `json:"sub"`
	Audience       []string         `json:"aud"`
	IssuedAt       *jwt.NumericDate `json:"iat"`
	ExpiresAt      *jwt.NumericDate `json:"exp"`
	JTI            string           `json:"jti"`
	Scope          Kind             `json:"scope"`
	Version        string           `json:"ver,omitempty"`
	Session        string           `json:"sid,omitempty"`
	Email          *string          `json:"email,omitempty"`
	EmailVerified  *bool            `json:"email_verified,omitempty"`
	Locale         string           `json:"locale,omitempty"`
	ZoneInfo       string           `json:"zoneinfo,omitempty"`
	Roles          *[]string        `json:"roles,omitempty"`
	AuthLevel      *int             `json:"authLevel,omitempty"`
	AuthTime       *jwt.NumericDate `json:"auth_time,omitempty"`
	Epoch          *int64           `json:"epoch,omitempty"`
	SetPassword    bool             `json:"setPassword,omitempty"`
	FactorRequired bool             `json:"factorRequired,omitempty"`
	Authenticators []string         `json:"authenticators,omitempty"`
	Nonce          *string          `json:"nonce,omitempty"`
	State          *string          `json:"state,omitempty"`
}

// payload is wire plus the claim whose name is configured. It implements jwt.Claims.
type payload struct {
	wire
	orgClaim     string // full name of the organization claim
	organization *id.Organization
}

func orgClaim(namespace string) string { return namespace + "org_id" }

// hasOrganization reports whether tokens of the kind carry the organization claim, which may be null.
func (k Kind) hasOrganization() bool { return k == KindID || k == KindAccess }

// MarshalJSON joins the object of wire with an object of the namespaced claim.
func (p *payload) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(p.wire)
	if err != nil || !p.Scope.hasOrganization() {
		return b, err
	}
	claim, err := json.Marshal(map[string]*id.Organization{p.orgClaim: p.organization})
	if err != nil {
		return nil, err
	}
	return append(append(b[:len(b)-1], ','), claim[1:]...), nil
}

// UnmarshalJSON reads the claims of wire and the namespaced claim.
func (p *payload) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, &p.wire); err != nil {
		return err
	}
	if !p.Scope.hasOrganization() {
		return nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	raw, ok := all[p.orgClaim]
	if !ok {
		return fmt.Errorf("claim %s is missing", p.orgClaim)
	}
	return json.Unmarshal(raw, &p.organization)
}

// GetExpirationTime implements jwt.Claims.
func (p *payload) GetExpirationTime() (*jwt.NumericDate, error) { return p.ExpiresAt, nil }

// GetIssuedAt implements jwt.Claims.
func (p *payload) GetIssuedAt() (*jwt.NumericDate, error) { return p.IssuedAt, nil }

// GetNotBefore implements jwt.Claims.
func (p *payload) GetNotBefore() (*jwt.NumericDate, error) { return nil, nil }

// GetIssuer implements jwt.Claims.
func (p *payload) GetIssuer() (string, error) { return p.Issuer, nil }

// GetSubject implements jwt.Claims.
func (p *payload) GetSubject() (string, error) { return p.Subject, nil }

// GetAudience implements jwt.Claims.
func (p *payload) GetAudience() (jwt.ClaimStrings, error) { return p.Audience, nil }

// payloadOf returns the claims of a kind by the table of contract 2. IssuedAt, ExpiresAt and JTI of c must be set.
func payloadOf(k Kind, c Claims, issuer, namespace string) *payload {
	w := wire{
		Issuer:    issuer,
		Subject:   c.Person.String(),
		Audience:  k.audience(),
		IssuedAt:  jwt.NewNumericDate(c.IssuedAt),
		ExpiresAt: jwt.NewNumericDate(c.ExpiresAt),
		JTI:       c.JTI.String(),
		Scope:     k,
	}
	if !c.Session.IsZero() {
		w.Session = c.Session.String()
	}
	p := &payload{orgClaim: orgClaim(namespace)}
	if k.hasOrganization() && !c.Organization.IsZero() {
		p.organization = &c.Organization
	}
	switch k {
	case KindID:
		w.Version, w.EmailVerified = idTokenVersion, &c.EmailVerified
		w.Locale, w.ZoneInfo = c.Locale, c.ZoneInfo
		w.person(c)
	case KindAccess:
		w.Epoch, w.FactorRequired = &c.Epoch, c.FactorRequired
		w.person(c)
	case KindMFA:
		w.SetPassword = c.SetPassword
		if len(c.Authenticators) > 0 { // nil and empty are the same in a token
			w.Authenticators = c.Authenticators
		}
	case KindPickup:
		if c.Nonce != "" {
			w.Nonce = &c.Nonce
		}
	case KindPreflight:
		w.Subject, w.State, w.Session = c.State, &c.State, ""
	case KindUID:
		w.Session, w.Epoch = "", &c.Epoch
	case KindReservation:
		w.Subject, w.Session = c.Reservation.String(), ""
		if !c.APIToken.IsZero() {
			w.Session = c.APIToken.String()
		}
	case KindDownload:
		w.Subject, w.Session = c.Delivery.String(), ""
		if c.Epoch != 0 {
			w.Epoch = &c.Epoch
		}
	}
	p.wire = w
	return p
}

// person adds the claims that ID and access tokens share.
func (w *wire) person(c Claims) {
	roles := c.Roles
	if roles == nil {
		roles = []string{}
	}
	w.Roles, w.AuthLevel, w.Email, w.SetPassword = &roles, &c.AuthLevel, &c.Email, c.SetPassword
	w.AuthTime = jwt.NewNumericDate(c.AuthTime)
}

var errClaims = errors.New("claims contradict the kind of the token")

// caller returns the Caller of the claims.
// Errors: when a claim is malformed or the claims contradict the kind.
func (p *payload) caller() (Caller, error) {
	jti, err := id.Parse[id.Token](p.JTI)
	if err != nil {
		return Caller{}, fmt.Errorf("read claim jti: %w", err)
	}
	c := Caller{
		Kind: p.Scope, JTI: jti, IssuedAt: p.IssuedAt.UTC(), ExpiresAt: p.ExpiresAt.UTC(),
		Locale: p.Locale, ZoneInfo: p.ZoneInfo, SetPassword: p.SetPassword, FactorRequired: p.FactorRequired,
		Authenticators: p.Authenticators, Nonce: value(p.Nonce), State: value(p.State), Epoch: value(p.Epoch),
		Email: value(p.Email), EmailVerified: value(p.EmailVerified), AuthLevel: value(p.AuthLevel), Roles: value(p.Roles),
		Organization: value(p.organization),
	}
	if p.AuthTime != nil {
		c.AuthTime = p.AuthTime.UTC()
	}
	if p.Session != "" {
		if c.Session, err = id.Parse[id.Session](p.Session); err != nil {
			return Caller{}, fmt.Errorf("read claim sid: %w", err)
		}
	}
	if err := p.subject(&c); err != nil {
		return Caller{}, fmt.Errorf("read claim sub: %w", err)
	}
	personal := c.Kind == KindID || c.Kind == KindAccess
	if personal && (c.Session.IsZero() || p.AuthLevel == nil || p.Roles == nil || p.AuthTime == nil) ||
		(c.Kind == KindAccess || c.Kind == KindUID) && p.Epoch == nil || c.Kind == KindID && p.Version != idTokenVersion {
		return Caller{}, errClaims
	}
	return c, nil
}

// subject reads the sub claim into the field that the kind defines.
func (p *payload) subject(c *Caller) (err error) {
	switch c.Kind {
	case KindReservation:
		c.Reservation, err = parseSubject[id.Reservation](p.Subject)
	case KindDownload:
		c.Delivery, err = parseSubject[id.Delivery](p.Subject)
	case KindPreflight:
		if p.Subject == "" || p.Subject != c.State {
			err = errClaims
		}
	default:
		c.Person, err = parseSubject[id.Person](p.Subject)
	}
	return err
}

func parseSubject[T ~struct{ uuid.UUID }](s string) (T, error) {
	v, err := id.Parse[T](s)
	if err == nil && struct{ uuid.UUID }(v).UUID == uuid.Nil {
		err = errClaims
	}
	return v, err
}

// value returns *p, or the zero value for nil.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// isText reports whether the string claims are valid UTF-8. JSON encoding replaces other bytes, so the token would differ
// from the claims.
func (c Claims) isText() bool {
	text := slices.Concat([]string{c.Email, c.Locale, c.ZoneInfo, c.Nonce, c.State}, c.Roles, c.Authenticators)
	return !slices.ContainsFunc(text, func(s string) bool { return !utf8.ValidString(s) })
}
