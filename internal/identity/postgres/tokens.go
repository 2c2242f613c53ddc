package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// Replacement is the ID token that replaces another.
type Replacement struct {
	JTI           id.Token
	Now           time.Time
	IdleSince     time.Time // a token last used before this has ended
	RaisedExpires time.Time // expiry if the authLevel rises to 1; else the old expiry stays
	Overlap       bool      // ReplaceToken: the replaced token stands for its successor for a time, as one of the session cookie always does
	UserAgent, IP string
}

// replacement follows a CTE named old, which ends ID tokens of the person $2 and returns their rows. It creates one
// successor of the newest of them and returns it with its claims. $4 to $8 are the fields of Replacement. A session of
// level 0 rises to 1 once the primary address is verified (contract 2.2).
const replacement = `, c AS MATERIALIZED (
			SELECT * FROM identity.claims WHERE person = $2
		), t AS (
			INSERT INTO identity.id_tokens
			    (jti, person, sid, auth_level, auth_time, issued_at, expires_at, user_agent, ip, federated, external_sid, set_password_until,
				in_cookie, password_proved_at, factor_proved_at, proof_epoch)
			SELECT $4::uuid, old.person, old.sid,
			       CASE WHEN old.auth_level = 0 AND c.email_verified THEN 1 ELSE old.auth_level END,
			       old.auth_time, $5::timestamptz,
			       CASE WHEN old.auth_level = 0 AND c.email_verified THEN $6::timestamptz ELSE old.expires_at END,
			       $7::text, $8::text, old.federated, old.external_sid, old.set_password_until, old.in_cookie,
			       old.password_proved_at, old.factor_proved_at, old.proof_epoch
			FROM old JOIN c ON c.person = old.person
			ORDER BY old.issued_at DESC, old.jti DESC LIMIT 1
			RETURNING person, jti, sid, state, auth_level, auth_time, issued_at, expires_at, federated, set_password_until
		)
		SELECT ` + issuedColumns + ` FROM t JOIN c ON c.person = t.person`

// ReplaceToken ends a usable ID token and stores its successor. It is one guarded statement: of parallel uses of a
// token one succeeds. Graced tokens are usable.
// Errors: identity.ErrTokenNotFound.
func (s *Store) ReplaceToken(ctx context.Context, p id.Person, jti id.Token, r Replacement) (Issued, error) {
	return database.One[Issued](ctx, s.q, "replace ID token", identity.ErrTokenNotFound, `
		WITH person AS (
			SELECT uid FROM identity.persons WHERE uid = $2 AND deleted_at IS NULL FOR SHARE
		), old AS (
			UPDATE identity.id_tokens o
			SET state = 'ended', ended_at = $3, successor = CASE WHEN o.in_cookie OR $10::boolean THEN $4::uuid END
			FROM person
			WHERE o.person = person.uid AND o.jti = $1 AND o.state <> 'ended' AND o.expires_at > $3
			  AND coalesce(o.last_used_at, o.issued_at) > $9
			RETURNING o.*
		)`+replacement, jti, p, r.Now, r.JTI, r.Now, r.RaisedExpires, r.UserAgent, r.IP, r.IdleSince, r.Overlap)
}

// ReplaceSession ends every usable ID token of a session and stores one successor. Call it with the person locked.
// Errors: identity.ErrTokenNotFound.
func (s *Store) ReplaceSession(ctx context.Context, p id.Person, sid id.Session, r Replacement) (Issued, error) {
	return database.One[Issued](ctx, s.q, "replace session's ID token", identity.ErrTokenNotFound, `
		WITH old AS (
			UPDATE identity.id_tokens o
			SET state = 'ended', ended_at = $3, successor = CASE WHEN o.in_cookie THEN $4::uuid END
			WHERE o.sid = $1 AND o.person = $2 AND o.state <> 'ended' AND o.expires_at > $3
			RETURNING o.*
		)`+replacement, sid, p, r.Now, r.JTI, r.Now, r.RaisedExpires, r.UserAgent, r.IP)
}

// Successor returns the ID token that a replaced one stands for: the last of the tokens that replaced it one after the
// other, if the first replacement was after since. inCookie says where the token was presented; one that was put into the
// session cookie has a successor there only.
// Errors: identity.ErrTokenNotFound.
func (s *Store) Successor(ctx context.Context, p id.Person, jti id.Token, inCookie bool, since time.Time) (id.Token, error) {
	return database.Scalar[id.Token](ctx, s.q, "find successor of ID token", identity.ErrTokenNotFound, `
		WITH RECURSIVE chain AS (
			SELECT successor FROM identity.id_tokens
			WHERE jti = $1 AND person = $2 AND state = 'ended' AND ended_at > $4 AND in_cookie = $3
			UNION
			SELECT t.successor FROM chain JOIN identity.id_tokens t ON t.jti = chain.successor AND t.person = $2 AND t.state = 'ended'
		)
		SELECT t.jti FROM chain JOIN identity.id_tokens t ON t.jti = chain.successor
		WHERE t.person = $2 AND t.state <> 'ended'`, jti, p, inCookie, since)
}

// PutInCookie records that a usable ID token goes into the session cookie.
// Errors: identity.ErrTokenNotFound.
func (s *Store) PutInCookie(ctx context.Context, p id.Person, jti id.Token, now, idleSince time.Time) error {
	return database.Changed(ctx, s.q, "put ID token into cookie", identity.ErrTokenNotFound, `
		UPDATE identity.id_tokens SET in_cookie = true
		WHERE jti = $1 AND person = $2 AND state <> 'ended' AND expires_at > $3 AND coalesce(last_used_at,
			issued_at) > $4`, jti, p, now, idleSince)
}

// Parking is the input of Park (POST /auth/park).
type Parking struct {
	Pickup    id.Token   // jti of the pickup token
	NewSID    id.Session // zero: the session continues, and its ID token ends
	Challenge string     // empty: none
	ExpiresAt time.Time  // expiry of the pickup token
	Now       time.Time
}

// Park stores a parked token, which a pickup token is exchanged for. It returns the sid of the session that the pickup
// continues or begins.
// Errors: identity.ErrTokenNotFound unless the ID token is active.
func (s *Store) Park(ctx context.Context, p id.Person, jti id.Token, k Parking) (id.Session, error) {
	return database.Scalar[id.Session](ctx, s.q, "park session", identity.ErrTokenNotFound, `
		WITH person AS (
			SELECT uid FROM identity.persons WHERE uid = $2 AND deleted_at IS NULL FOR SHARE
		), held AS (
			SELECT t.* FROM identity.id_tokens t JOIN person ON t.person = person.uid
			WHERE t.jti = $1 AND t.state = 'active' AND t.expires_at > $3
			FOR UPDATE OF t
		), ended AS (
			UPDATE identity.id_tokens t SET state = 'ended', ended_at = $3
			FROM held WHERE t.jti = held.jti AND $5::uuid IS NULL
		)
		INSERT INTO identity.parked_tokens
		    (jti, person, sid, parent_sid, auth_level, auth_time, token_expires_at, federated, external_sid, set_password_until,
		     code_challenge, expires_at)
		SELECT $4, person, coalesce($5::uuid, sid), sid, auth_level, auth_time, expires_at, federated, external_sid, set_password_until, $6, $7
		FROM held
		RETURNING sid`, jti, p, k.Now, k.Pickup, database.Null(k.NewSID), database.Null(k.Challenge), k.ExpiresAt)
}

// Pickup exchanges a pickup token for an ID token, once. challenge is the hash of the caller's code_verifier and is
// compared only if parking set a code_challenge.
// Errors: identity.ErrNothingParked; identity.ErrVerifier, which does
// not consume the parked token.
func (s *Store) Pickup(ctx context.Context, p id.Person, pickup id.Token, challenge string, r Replacement) (Issued, error) {
	issued, err := database.One[Issued](ctx, s.q, "pick session up", identity.ErrNothingParked, `
		WITH person AS (
			SELECT uid FROM identity.persons WHERE uid = $2 AND deleted_at IS NULL FOR SHARE
		), old AS (
			DELETE FROM identity.parked_tokens k USING person
			WHERE k.jti = $1 AND k.person = person.uid AND k.expires_at > $3 AND coalesce(k.code_challenge = $9, true)
			RETURNING k.jti, k.person, k.sid, k.auth_level, k.auth_time, k.auth_time AS issued_at, k.token_expires_at AS expires_at,
			          k.federated, k.external_sid, k.set_password_until, false AS in_cookie,
			          NULL::timestamptz AS password_proved_at, NULL::timestamptz AS factor_proved_at, NULL::bigint AS proof_epoch
		)`+replacement, pickup, p, r.Now, r.JTI, r.Now, r.RaisedExpires, r.UserAgent, r.IP, challenge)
	if !errors.Is(err, identity.ErrNothingParked) {
		return issued, err
	}
	waiting, err := database.Scalar[bool](ctx, s.q, "check parked session", nil, `
		SELECT EXISTS (SELECT FROM identity.parked_tokens WHERE jti = $1 AND person = $2 AND expires_at > $3)`, pickup, p, r.Now)
	if err != nil {
		return Issued{}, err
	}
	if waiting {
		return Issued{}, identity.ErrVerifier
	}
	return Issued{}, identity.ErrNothingParked
}

// PersonExists reports whether the person exists and is not deleted.
func (s *Store) PersonExists(ctx context.Context, p id.Person) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "check person", nil, `
		SELECT EXISTS (SELECT FROM identity.persons WHERE uid = $1 AND deleted_at IS NULL)`, p)
}

// ActiveHost returns the active hostname of the organization that a person is a member of, else of the given organization. It
// is empty without one.
func (s *Store) ActiveHost(ctx context.Context, p id.Person, otherwise id.Organization) (string, error) {
	return database.Scalar[string](ctx, s.q, "find active hostname", nil, `
		SELECT coalesce((SELECT host FROM identity.hosts
		                 WHERE active AND organization = coalesce((SELECT organization FROM identity.memberships WHERE person = $1), $2)), '')`,
		p, database.Null(otherwise))
}
