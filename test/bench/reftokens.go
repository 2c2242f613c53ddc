//go:build bench

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
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

// newTokens serves /token/PERSON, which makes an ID token, and /access, /upgrade and /profile, which take one; /believed is /access
// that believes its token unseen, as if a cache knew it.
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
	Org      *string  `json:"https://consign.dev/org_id"`
	Level    int      `json:"authLevel"`
	Epoch    int64    `json:"epoch"`
	SID      string   `json:"sid"`
}

// subject is what a token says of a person, read anew for each.
type subject struct {
	person, sid         uuid.UUID
	email, locale, zone string
	verified            bool
	organization        *string
	roles               []string
	epoch               int64
}

const (
	subjectColumns = `p.uid, t.sid, a.address, p.locale, p.time_zone, a.verified_at IS NOT NULL, m.organization::text, m.roles, p.epoch`
	subjectTables  = `
		JOIN identity.persons p ON p.uid = t.person AND p.deleted_at IS NULL
		LEFT JOIN identity.addresses a ON a.person = p.uid AND a.is_primary
		LEFT JOIN identity.memberships m ON m.person = p.uid
		LEFT JOIN identity.organizations o ON o.uid = m.organization`
)

func (s *subject) targets() []any {
	return []any{&s.person, &s.sid, &s.email, &s.locale, &s.zone, &s.verified, &s.organization, &s.roles, &s.epoch}
}

type handedOut struct {
	Token string `json:"token"`
}

func (t tokens) sign(s subject, jti string) (string, error) {
	now := time.Now()
	return jwt.NewWithClaims(jwt.SigningMethodES256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: "http://localhost/id/v3", Subject: s.person.String(), Audience: jwt.ClaimStrings{"id"}, ID: jti,
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(time.Hour)),
		},
		Scope: "idtoken", Email: s.email, Verified: s.verified, Locale: s.locale, Zone: s.zone, Roles: s.roles, Org: s.organization,
		Level: 1, Epoch: s.epoch, SID: s.sid.String(),
	}).SignedString(t.key)
}

// handOut answers with a token.
func (t tokens) handOut(s subject, jti string) (handedOut, error) {
	raw, err := t.sign(s, jti)
	return handedOut{raw}, err
}

func (t tokens) verify(r *http.Request) (claims, error) {
	var c claims
	_, err := jwt.ParseWithClaims(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), &c,
		func(*jwt.Token) (any, error) { return &t.key.PublicKey, nil }, jwt.WithValidMethods([]string{"ES256"}), jwt.WithExpirationRequired())
	return c, err
}

func believe(r *http.Request) (claims, error) {
	var c claims
	_, _, err := jwt.NewParser().ParseUnverified(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), &c)
	return c, err
}

// begin stores a token's row and signs it.
func (t tokens) begin(ctx context.Context, person string) (handedOut, error) {
	p, err := uuid.Parse(person)
	if err != nil {
		return handedOut{}, err
	}
	jti, s := uuid.Must(uuid.NewV7()), subject{person: p, sid: uuid.Must(uuid.NewV7())}
	_, err = t.pool.Exec(ctx, `
		INSERT INTO bench.id_tokens (jti, person, sid, auth_level, auth_time, issued_at, expires_at, user_agent, ip)
		VALUES ($1, $2, $3, 1, now(), now(), now() + interval '1 hour', '', '')`, jti, s.person, s.sid)
	if err != nil {
		return handedOut{}, err
	}
	return t.handOut(s, jti.String())
}

// access verifies, looks whether the token is still good and what there is to say of the person, and signs.
func (t tokens) access(r *http.Request, verify func(*http.Request) (claims, error)) (handedOut, error) {
	c, err := verify(r)
	if err != nil {
		return handedOut{}, err
	}
	var s subject
	err = t.pool.QueryRow(r.Context(), `SELECT `+subjectColumns+` FROM bench.id_tokens t `+subjectTables+` WHERE t.jti = $1 AND t.state = 'active'`,
		c.ID).Scan(s.targets()...)
	if err != nil {
		return handedOut{}, err
	}
	return t.handOut(s, uuid.Must(uuid.NewV7()).String())
}

// upgrade verifies, replaces the token's row in one statement that tells what there is to say of the person, and signs.
func (t tokens) upgrade(r *http.Request) (handedOut, error) {
	c, err := t.verify(r)
	if err != nil {
		return handedOut{}, err
	}
	jti := uuid.Must(uuid.NewV7())
	var s subject
	err = t.pool.QueryRow(r.Context(), `
		WITH old AS (
			UPDATE bench.id_tokens SET state = 'ended', ended_at = now() WHERE jti = $1 AND state = 'active' RETURNING *
		), t AS (
			INSERT INTO bench.id_tokens (jti, person, sid, auth_level, auth_time, issued_at, expires_at, user_agent, ip)
			SELECT $2, person, sid, auth_level, auth_time, now(), expires_at, user_agent, ip FROM old
			RETURNING person, sid
		)
		SELECT `+subjectColumns+` FROM t `+subjectTables, c.ID, jti).Scan(s.targets()...)
	if err != nil {
		return handedOut{}, err
	}
	return t.handOut(s, jti.String())
}

// profile verifies and reads a person with its addresses, its membership and its organization.
func (t tokens) profile(r *http.Request) (any, error) {
	c, err := t.verify(r)
	if err != nil {
		return nil, err
	}
	var p struct {
		UID          uuid.UUID       `json:"uid"`
		Name         *string         `json:"name"`
		Locale       string          `json:"locale"`
		TimeZone     string          `json:"timeZone"`
		CreatedAt    time.Time       `json:"createdAt"`
		LastLogin    *time.Time      `json:"lastLoginAt"`
		Avatar       bool            `json:"hasAvatar"`
		Emails       json.RawMessage `json:"emails"`
		Roles        []string        `json:"roles"`
		Organization json.RawMessage `json:"organization"`
	}
	err = t.pool.QueryRow(r.Context(), `
		SELECT p.uid, p.name, p.locale, p.time_zone, p.created_at, p.last_login_at, EXISTS (SELECT FROM identity.avatars v WHERE v.person = p.uid),
		       (SELECT json_agg(json_build_object('address', a.address, 'primary', a.is_primary, 'verified', a.verified_at IS NOT NULL, 'removeAt', a.remove_at))
		          FROM identity.addresses a WHERE a.person = p.uid),
		       m.roles, json_build_object('uid', o.uid, 'name', o.name, 'locale', o.locale, 'timeZone', o.time_zone, 'hostname', h.host)
		FROM identity.persons p
		LEFT JOIN identity.memberships m ON m.person = p.uid
		LEFT JOIN identity.organizations o ON o.uid = m.organization
		LEFT JOIN identity.hosts h ON h.organization = o.uid AND h.active
		WHERE p.uid = $1 AND p.deleted_at IS NULL`, c.Subject).Scan(&p.UID, &p.Name, &p.Locale, &p.TimeZone, &p.CreatedAt, &p.LastLogin,
		&p.Avatar, &p.Emails, &p.Roles, &p.Organization)
	return p, err
}
