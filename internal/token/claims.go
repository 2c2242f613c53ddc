package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/id"
)

const idTokenVersion = "3.0"

// seconds is a moment as our tokens have it: a NumericDate (RFC 7519, 2) that is whole. The library's own type costs a third of
// what encoding a token does.
type seconds int64

func secondsOf(t time.Time) *seconds {
	s := seconds(t.Unix())
	return &s
}

func (s seconds) time() time.Time { return time.Unix(int64(s), 0).UTC() }

// date is s for the library.
func (s *seconds) date() (*jwt.NumericDate, error) {
	if s == nil {
		return nil, nil
	}
	return jwt.NewNumericDate(s.time()), nil
}

// wire is the payload of a token as JSON. Pointers tell "not in this kind" from a value that is zero.
type wire struct {
	Issuer         string    `json:"iss"`
	Subject        string    `json:"sub"`
	Audience       []string  `json:"aud"`
	IssuedAt       *seconds  `json:"iat"`
	ExpiresAt      *seconds  `json:"exp"`
	JTI            string    `json:"jti"`
	Scope          Kind      `json:"scope"`
	Version        string    `json:"ver,omitempty"`
	Session        string    `json:"sid,omitempty"`
	Email          *string   `json:"email,omitempty"`
	EmailVerified  *bool     `json:"email_verified,omitempty"`
	Locale         string    `json:"locale,omitempty"`
	ZoneInfo       string    `json:"zoneinfo,omitempty"`
	Roles          *[]string `json:"roles,omitempty"`
	AuthLevel      *int      `json:"authLevel,omitempty"`
	AuthTime       *seconds  `json:"auth_time,omitempty"`
	Epoch          *int64    `json:"epoch,omitempty"`
	SetPassword    bool      `json:"setPassword,omitempty"`
	FactorRequired bool      `json:"factorRequired,omitempty"`
	Authenticators []string  `json:"authenticators,omitempty"`
	Nonce          *string   `json:"nonce,omitempty"`
	State          *string   `json:"state,omitempty"`
}

// payload is wire with the one claim whose name is configuration. It implements jwt.Claims.
type payload struct {
	wire
	orgClaim     string // the full name of the claim
	organization *id.Organization
}

func orgClaim(namespace string) string { return namespace + "org_id" }

// hasOrganization reports whether tokens of the kind carry the organization claim, null included.
func (k Kind) hasOrganization() bool { return k == KindID || k == KindAccess }

// MarshalJSON appends the namespaced claim to the rest.
func (p *payload) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(p.wire)
	if err != nil || !p.Scope.hasOrganization() {
		return b, err
	}
	name, err := json.Marshal(p.orgClaim)
	if err != nil {
		return nil, err
	}
	b = append(b[:len(b)-1], ',')
	b = append(append(b, name...), ':')
	if p.organization == nil {
		return append(b, "null}"...), nil
	}
	return append(append(append(b, '"'), p.organization.String()...), `"}`...), nil
}

// UnmarshalJSON reads the claims, the namespaced one by its configured name.
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

// The methods of jwt.Claims.

// GetExpirationTime implements jwt.Claims.
func (p *payload) GetExpirationTime() (*jwt.NumericDate, error) { return p.ExpiresAt.date() }

// GetIssuedAt implements jwt.Claims.
func (p *payload) GetIssuedAt() (*jwt.NumericDate, error) { return p.IssuedAt.date() }

// GetNotBefore implements jwt.Claims.
func (p *payload) GetNotBefore() (*jwt.NumericDate, error) { return nil, nil }

// GetIssuer implements jwt.Claims.
func (p *payload) GetIssuer() (string, error) { return p.Issuer, nil }

// GetSubject implements jwt.Claims.
func (p *payload) GetSubject() (string, error) { return p.Subject, nil }

// GetAudience implements jwt.Claims.
func (p *payload) GetAudience() (jwt.ClaimStrings, error) { return p.Audience, nil }

// payloadOf lays out the claims of a kind as the table of contract 2 has them. IssuedAt, ExpiresAt and JTI are set.
func payloadOf(k Kind, c Claims, issuer, namespace string) *payload {
	w := wire{
		Issuer:    issuer,
		Subject:   c.Person.String(),
		Audience:  k.audience(),
		IssuedAt:  secondsOf(c.IssuedAt),
		ExpiresAt: secondsOf(c.ExpiresAt),
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
		if len(c.Authenticators) > 0 { // none and an empty list are the same in a token
			w.Authenticators = c.Authenticators
		}
	case KindPickup:
		if c.Nonce != "" {
			w.Nonce = &c.Nonce
		}
	case KindPreflight:
		w.Subject, w.State, w.Session = c.State, &c.State, ""
	case KindUID:
		w.Session = ""
	case KindReservation:
		w.Subject, w.Session = c.Reservation.String(), ""
	case KindDownload:
		w.Subject, w.Session = c.Delivery.String(), ""
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
	w.AuthTime = secondsOf(c.AuthTime)
}

var errClaims = errors.New("claims contradict the kind of the token")

// caller checks that the claims are those of their kind and returns them as the Caller they speak for.
func (p *payload) caller() (Caller, error) {
	jti, err := id.Parse[id.Token](p.JTI)
	if err != nil {
		return Caller{}, fmt.Errorf("read claim jti: %w", err)
	}
	c := Caller{
		Kind: p.Scope, JTI: jti, IssuedAt: p.IssuedAt.time(), ExpiresAt: p.ExpiresAt.time(),
		Locale: p.Locale, ZoneInfo: p.ZoneInfo, SetPassword: p.SetPassword, FactorRequired: p.FactorRequired,
		Authenticators: p.Authenticators, Nonce: value(p.Nonce), State: value(p.State), Epoch: value(p.Epoch),
		Email: value(p.Email), EmailVerified: value(p.EmailVerified), AuthLevel: value(p.AuthLevel), Roles: value(p.Roles),
		Organization: value(p.organization),
	}
	if p.AuthTime != nil {
		c.AuthTime = p.AuthTime.time()
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
		c.Kind == KindAccess && p.Epoch == nil || c.Kind == KindID && p.Version != idTokenVersion {
		return Caller{}, errClaims
	}
	return c, nil
}

// subject reads sub, whose meaning depends on the kind.
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

// value returns what p points at, else the zero value.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// wholeSeconds is the precision of times in a token.
func wholeSeconds(t time.Time) time.Time { return t.Truncate(time.Second) }
