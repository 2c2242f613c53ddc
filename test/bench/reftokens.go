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

// tokens is what token calls come to without a cache: verify an ES256 token, run Consign's statement, sign another.
type tokens struct {
	store *postgres.Store
	key   *ecdsa.PrivateKey
}

// newTokens serves /token/ADDRESS, which makes an ID token, and /access, /upgrade and /profile, which take one; /believed is /access
// that does not verify its token, as if a cache knew it.
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
		case "/believed":
			v, err = t.access(r, believe)
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

// claims are about as many as Consign's tokens have.
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

type handedOut struct {
	Token string `json:"token"`
}

// handOut answers with a token for what Consign stored of another.
func (t tokens) handOut(s postgres.Issued, jti id.Token) (handedOut, error) {
	raw, err := claims{
		RegisteredClaims: jwt.RegisteredClaims{ID: jti.String(), Subject: s.Person.String()},
		Email:            s.Email, Verified: s.EmailVerified, Locale: s.Locale, Zone: s.TimeZone, Roles: s.Roles, Org: s.Organization.String(),
		Level: s.AuthLevel, Epoch: s.Epoch, SID: s.SID.String(),
	}.sign(t.key)
	return handedOut{raw}, err
}

// sign fills in what is the same in every token.
func (c claims) sign(key *ecdsa.PrivateKey) (string, error) {
	now := time.Now()
	c.Issuer, c.Audience, c.Scope = "http://localhost/id/v3", jwt.ClaimStrings{"id"}, "idtoken"
	c.IssuedAt, c.ExpiresAt = jwt.NewNumericDate(now), jwt.NewNumericDate(now.Add(tokenLifetime))
	return jwt.NewWithClaims(jwt.SigningMethodES256, c).SignedString(key)
}

const tokenLifetime = time.Hour

// presented is the person and the token that a request's bearer token names.
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

func believe(r *http.Request) (presented, error) {
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

// begin stores a token's row and signs it.
func (t tokens) begin(ctx context.Context, address string) (handedOut, error) {
	who, err := t.store.Login(ctx, address)
	if err != nil {
		return handedOut{}, err
	}
	now := time.Now()
	issued, err := t.store.BeginSession(ctx, postgres.NewSession{Person: who.Person, Epoch: who.Epoch, JTI: id.New[id.Token](),
		SID: id.New[id.Session](), AuthLevel: 1, Now: now, ExpiresAt: now.Add(tokenLifetime), SignupExpiresAt: now.Add(tokenLifetime)})
	if err != nil {
		return handedOut{}, err
	}
	return t.handOut(issued.Issued, issued.JTI)
}

// access verifies, looks whether the token is still good and what there is to say of the person, and signs.
func (t tokens) access(r *http.Request, verify func(*http.Request) (presented, error)) (handedOut, error) {
	p, err := verify(r)
	if err != nil {
		return handedOut{}, err
	}
	issued, err := t.store.Usable(r.Context(), p.person, p.jti, time.Now(), time.Time{})
	if err != nil {
		return handedOut{}, err
	}
	return t.handOut(issued, id.New[id.Token]())
}

// upgrade verifies, replaces the token's row in one statement that tells what there is to say of the person, and signs.
func (t tokens) upgrade(r *http.Request) (handedOut, error) {
	p, err := t.verify(r)
	if err != nil {
		return handedOut{}, err
	}
	now := time.Now()
	issued, err := t.store.ReplaceToken(r.Context(), p.person, p.jti,
		postgres.Replacement{JTI: id.New[id.Token](), Now: now, RaisedExpires: now.Add(tokenLifetime)})
	if err != nil {
		return handedOut{}, err
	}
	return t.handOut(issued, issued.JTI)
}

// profile verifies and reads a person with its addresses, its membership and its organization.
func (t tokens) profile(r *http.Request) (identity.Person, error) {
	p, err := t.verify(r)
	if err != nil {
		return identity.Person{}, err
	}
	return t.store.Profile(r.Context(), p.person)
}
