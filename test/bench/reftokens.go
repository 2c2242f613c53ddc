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
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
)

// tokens is what token calls come to without a cache: verify an ES256 token, ask the database, sign another.
type tokens struct {
	pool *pgxpool.Pool
	key  *ecdsa.PrivateKey
}

// newTokens serves /token/PERSON, which makes an ID token, and /access, /upgrade and /profile, which take one.
func newTokens(pool *pgxpool.Pool) (http.Handler, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := tokens{pool: pool, key: key}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var v any
		var err error
		switch path := r.URL.Path; path {
		case "/access":
			v, err = t.access(r)
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
	Level    int      `json:"authLevel"`
	SID      string   `json:"sid"`
}

type handedOut struct {
	Token string `json:"token"`
}

func (t tokens) sign(person, jti, sid string) (handedOut, error) {
	now := time.Now()
	raw, err := jwt.NewWithClaims(jwt.SigningMethodES256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: "http://localhost/id/v3", Subject: person, Audience: jwt.ClaimStrings{"id"}, ID: jti,
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(time.Hour)),
		},
		Scope: "idtoken", Email: "owner@example.com", Verified: true, Locale: "en_US", Zone: "UTC",
		Roles: []string{"Organization.Admin", "Service.Transfer.Use"}, Level: 1, SID: sid,
	}).SignedString(t.key)
	return handedOut{raw}, err
}

func (t tokens) verify(r *http.Request) (claims, error) {
	var c claims
	_, err := jwt.ParseWithClaims(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), &c,
		func(*jwt.Token) (any, error) { return &t.key.PublicKey, nil }, jwt.WithValidMethods([]string{"ES256"}), jwt.WithExpirationRequired())
	return c, err
}

// begin stores a token's row and signs it.
func (t tokens) begin(ctx context.Context, person string) (handedOut, error) {
	jti, sid := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	_, err := t.pool.Exec(ctx, `
		INSERT INTO bench.id_tokens (jti, person, sid, auth_level, auth_time, issued_at, expires_at, user_agent, ip)
		VALUES ($1, $2, $3, 1, now(), now(), now() + interval '1 hour', '', '')`, jti, person, sid)
	if err != nil {
		return handedOut{}, err
	}
	return t.sign(person, jti.String(), sid.String())
}

// access verifies, looks whether the token is still good, and signs.
func (t tokens) access(r *http.Request) (handedOut, error) {
	c, err := t.verify(r)
	if err != nil {
		return handedOut{}, err
	}
	var person, sid uuid.UUID
	err = t.pool.QueryRow(r.Context(), `SELECT person, sid FROM bench.id_tokens WHERE jti = $1 AND state = 'active'`, c.ID).Scan(&person, &sid)
	if err != nil {
		return handedOut{}, err
	}
	return t.sign(person.String(), uuid.Must(uuid.NewV7()).String(), sid.String())
}

// upgrade verifies, replaces the token's row in one statement, and signs.
func (t tokens) upgrade(r *http.Request) (handedOut, error) {
	c, err := t.verify(r)
	if err != nil {
		return handedOut{}, err
	}
	jti := uuid.Must(uuid.NewV7())
	var person, sid uuid.UUID
	err = t.pool.QueryRow(r.Context(), `
		WITH old AS (
			UPDATE bench.id_tokens SET state = 'ended', ended_at = now() WHERE jti = $1 AND state = 'active' RETURNING *
		)
		INSERT INTO bench.id_tokens (jti, person, sid, auth_level, auth_time, issued_at, expires_at, user_agent, ip)
		SELECT $2, person, sid, auth_level, auth_time, now(), expires_at, user_agent, ip FROM old
		RETURNING person, sid`, c.ID, jti).Scan(&person, &sid)
	if err != nil {
		return handedOut{}, err
	}
	return t.sign(person.String(), jti.String(), sid.String())
}

// profile verifies and reads a person's row.
func (t tokens) profile(r *http.Request) (any, error) {
	c, err := t.verify(r)
	if err != nil {
		return nil, err
	}
	var p struct {
		UID       uuid.UUID  `json:"uid"`
		Name      *string    `json:"name"`
		Locale    string     `json:"locale"`
		TimeZone  string     `json:"timeZone"`
		CreatedAt time.Time  `json:"createdAt"`
		LastLogin *time.Time `json:"lastLoginAt"`
		Email     string     `json:"email"`
	}
	p.Email = c.Email
	err = t.pool.QueryRow(r.Context(), `SELECT uid, name, locale, time_zone, created_at, last_login_at FROM bench.persons WHERE uid = $1`,
		c.Subject).Scan(&p.UID, &p.Name, &p.Locale, &p.TimeZone, &p.CreatedAt, &p.LastLogin)
	return p, err
}
