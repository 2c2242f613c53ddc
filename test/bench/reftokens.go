//go:build bench

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/identity/postgres"
)

// tokens does the work of token calls without a cache: it verifies an ES256 token, runs Consign's statement, and signs another token.
type tokens struct {
	store *postgres.Store
	key   *ecdsa.PrivateKey
}

// newTokens serves /token/ADDRESS, which issues an ID token, and /access, /upgrade and /profile, which need one. /unverified is /access
// without verification of the token, as with a cache of verified tokens.
func newTokens(db *database.DB) (http.Handler, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := tokens{store: postgres.New(db), key: key}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var v any
		var err error
		switch path := r.URL.Path; path {
		case "/access":
			v, err = t.access(r, t.verify)
		case "/unverified":
			v, err = t.access(r, skipVerification)
		case "/upgrade":
			v, err = t.upgrade(r)
		case "/profile":
			v, err = t.profile(r)
		default:
			v, err = t.begin(r.Context(), strings.TrimPrefix(path, "/token/"))
		}
		answer(w, v, err)
	}), nil
}

// claims has about as many claims as Consign's tokens.
type claims struct {
	jwt.RegisteredClaims
	Scope    string   `json:"scope"`
	Email    string   `json:"email"`
	Verified bool     `json:"email_verified"`
	Locale   string   `json:"locale"`
	Zone     string   `json:"zoneinfo"`
	Roles    []string `json:"roles"`
	Org      string   `json:"https://consign.dev/org_id"`
	Level    int      `json:"authLevel"`
	Epoch    int64    `json:"epoch"`
	SID      string   `json:"sid"`
}

type tokenResponse struct {
	Token string `json:"token"`
}

// tokenFor returns a token with the claims that Consign has stored for another token.
func (t tokens) tokenFor(s postgres.Issued, jti id.Token) (tokenResponse, error) {
	raw, err := claims{
		RegisteredClaims: jwt.RegisteredClaims{ID: jti.String(), Subject: s.Person.String()},
		Email:            s.Email, Verified: s.EmailVerified, Locale: s.Locale, Zone: s.TimeZone, Roles: s.Roles, Org: s.Organization.String(),
		Level: s.AuthLevel, Epoch: s.Epoch, SID: s.SID.String(),
	}.sign(t.key)
	return tokenResponse{raw}, err
}

// sign adds the claims that are the same in every token, and signs.
func (c claims) sign(key *ecdsa.PrivateKey) (string, error) {
	now := time.Now()
	c.Issuer, c.Audience, c.Scope = "http://localhost/id/v3", jwt.ClaimStrings{"id"}, "idtoken"
	c.IssuedAt, c.ExpiresAt = jwt.NewNumericDate(now), jwt.NewNumericDate(now.Add(tokenLifetime))
	return jwt.NewWithClaims(jwt.SigningMethodES256, c).SignedString(key)
}

const tokenLifetime = time.Hour

// presented is the person and the token id in a request's bearer token.
type presented struct {
	person id.Person
	jti    id.Token
}

func (t tokens) verify(r *http.Request) (presented, error) {
	var c claims
	_, err := jwt.ParseWithClaims(bearer(r), &c, func(*jwt.Token) (any, error) { return &t.key.PublicKey, nil },
		jwt.WithValidMethods([]string{"ES256"}), jwt.WithExpirationRequired())
	return c.presented(err)
}

func skipVerification(r *http.Request) (presented, error) {
	var c claims
	_, _, err := jwt.NewParser().ParseUnverified(bearer(r), &c)
	return c.presented(err)
}

func bearer(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func (c claims) presented(err error) (p presented, _ error) {
	if err != nil {
		return p, err
	}
	if p.person, err = id.Parse[id.Person](c.Subject); err == nil {
		p.jti, err = id.Parse[id.Token](c.ID)
	}
	return p, err
}

// begin starts a session and returns its token.
func (t tokens) begin(ctx context.Context, address string) (tokenResponse, error) {
	who, err := t.store.Login(ctx, address)
	if err != nil {
		return tokenResponse{}, err
	}
	now := time.Now()
	issued, err := t.store.BeginSession(ctx, postgres.NewSession{Person: who.Person, Epoch: who.Epoch, JTI: id.New[id.Token](),
		SID: id.New[id.Session](), AuthLevel: 1, Now: now, ExpiresAt: now.Add(tokenLifetime), SignupExpiresAt: now.Add(tokenLifetime)})
	if err != nil {
		return tokenResponse{}, err
	}
	return t.tokenFor(issued.Issued, issued.JTI)
}

// access verifies the token, reads its row and the person in one statement, and signs another token.
func (t tokens) access(r *http.Request, verify func(*http.Request) (presented, error)) (tokenResponse, error) {
	p, err := verify(r)
	if err != nil {
		return tokenResponse{}, err
	}
	issued, err := t.store.Usable(r.Context(), p.person, p.jti, time.Now(), time.Time{})
	if err != nil {
		return tokenResponse{}, err
	}
	return t.tokenFor(issued, id.New[id.Token]())
}

// upgrade verifies the token, replaces its row and reads the person in one statement, and signs another token.
func (t tokens) upgrade(r *http.Request) (tokenResponse, error) {
	p, err := t.verify(r)
	if err != nil {
		return tokenResponse{}, err
	}
	now := time.Now()
	issued, err := t.store.ReplaceToken(r.Context(), p.person, p.jti,
		postgres.Replacement{JTI: id.New[id.Token](), Now: now, RaisedExpires: now.Add(tokenLifetime)})
	if err != nil {
		return tokenResponse{}, err
	}
	return t.tokenFor(issued, issued.JTI)
}

// profile verifies the token and reads the person with addresses, membership and organization.
func (t tokens) profile(r *http.Request) (identity.Person, error) {
	p, err := t.verify(r)
	if err != nil {
		return identity.Person{}, err
	}
	return t.store.Profile(r.Context(), p.person)
}
