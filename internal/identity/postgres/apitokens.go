package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/token"
)

// NewAPIToken is the input of InsertAPIToken.
type NewAPIToken struct {
	identity.APIToken
	Membership id.Organization // of the person; zero: none
	Hash       token.APIHash
	Mailboxes  []id.Person
	Strong     bool // made in a session that has the second factor that an organization may require
}

// InsertAPIToken stores an API token.
func (s *Store) InsertAPIToken(ctx context.Context, t NewAPIToken) (owner string, err error) {
	return database.Scalar[string](ctx, s.q, "store API token", nil, `
		INSERT INTO identity.api_tokens
		    (uid, secret_hash, person, membership, organization, name, scopes, mailboxes, mailbox_keys, strong, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, coalesce($8::uuid[], '{}'), coalesce($9::text[], '{}'), $10, $11, $12)
		RETURNING coalesce((SELECT p.name FROM identity.persons p WHERE p.uid = $3), '')`,
		t.UID, t.Hash[:], t.Person, database.Null(t.Membership), database.Null(t.Organization), t.Name, t.Scopes, t.Mailboxes, t.MailboxKeys,
		t.Strong, t.CreatedAt, t.ExpiresAt)
}

// CountAPITokens returns how many API tokens a person has, or an organization unless it is zero. Call it with the one that counts locked.
func (s *Store) CountAPITokens(ctx context.Context, p id.Person, o id.Organization, now time.Time) (int, error) {
	return database.Scalar[int](ctx, s.q, "count API tokens", nil, `
		SELECT count(*) FROM identity.api_tokens
		WHERE CASE WHEN $2::uuid IS NULL THEN person = $1 AND organization IS NULL ELSE organization = $2 END AND expires_at > $3`,
		p, database.Null(o), now)
}

const apiTokenColumns = `t.uid, t.person, coalesce(n.name, '') AS person_name, t.organization, t.name, t.scopes, t.mailbox_keys, t.created_at, t.expires_at,
		t.last_used_at, coalesce(t.last_address, '') AS last_address`

// APITokens returns the API tokens of a person, or of an organization unless it is zero, newest first.
func (s *Store) APITokens(ctx context.Context, p id.Person, o id.Organization, now time.Time) ([]identity.APIToken, error) {
	return database.All[identity.APIToken](ctx, s.q, "list API tokens", `
		SELECT `+apiTokenColumns+` FROM identity.live_api_tokens t JOIN identity.persons n ON n.uid = t.person
		WHERE CASE WHEN $2::uuid IS NULL THEN t.person = $1 AND t.organization IS NULL ELSE t.organization = $2 END AND t.expires_at > $3
		ORDER BY t.created_at DESC, t.uid DESC`, p, database.Null(o), now)
}

// PersonAPITokens returns the API tokens that act as a person, also those that an organization manages, newest first.
func (s *Store) PersonAPITokens(ctx context.Context, p id.Person, now time.Time) ([]identity.APIToken, error) {
	return database.All[identity.APIToken](ctx, s.q, "list API tokens of a person", `
		SELECT `+apiTokenColumns+` FROM identity.live_api_tokens t JOIN identity.persons n ON n.uid = t.person
		WHERE t.person = $1 AND t.expires_at > $2 ORDER BY t.created_at DESC, t.uid DESC`, p, now)
}

// APIToken returns an API token.
// Errors: identity.ErrAPITokenNotFound.
func (s *Store) APIToken(ctx context.Context, uid id.Session, now time.Time) (identity.APIToken, error) {
	return database.One[identity.APIToken](ctx, s.q, "find API token", identity.ErrAPITokenNotFound, `
		SELECT `+apiTokenColumns+` FROM identity.live_api_tokens t JOIN identity.persons n ON n.uid = t.person
		WHERE t.uid = $1 AND t.expires_at > $2`, uid, now)
}

// DeleteAPIToken deletes an API token.
// Errors: identity.ErrAPITokenNotFound.
func (s *Store) DeleteAPIToken(ctx context.Context, uid id.Session) error {
	return database.Changed(ctx, s.q, "delete API token", identity.ErrAPITokenNotFound, `DELETE FROM identity.api_tokens WHERE uid = $1`, uid)
}

// DeleteAPITokens deletes all API tokens of a person. Call it with the person locked and its epoch raised.
func (s *Store) DeleteAPITokens(ctx context.Context, p id.Person) error {
	_, err := database.Exec(ctx, s.q, "delete API tokens", `DELETE FROM identity.api_tokens WHERE person = $1`, p)
	return err
}

// APICaller is an API token with the present rights of its person.
type APICaller struct {
	Claims
	UID          id.Session
	Name         string
	Of           id.Organization // whose token it is; zero: the person's
	Scopes       []string
	Mailboxes    []id.Person
	Strong       bool
	CreatedAt    time.Time
	ExpiresAt    time.Time
	UseIsOld     bool // the recorded use is older than a minute
	NetworkIsNew bool
}

const apiCallerColumns = `t.person, t.epoch, t.email, t.email_verified, t.locale, t.time_zone, t.membership AS organization, t.roles, t.mfa_required,
		t.uid, t.name, t.organization AS of, t.scopes, t.mailboxes, t.strong, t.created_at, t.expires_at`

// APICaller finds an API token by its hash. network is that of the client.
// Errors: identity.ErrAPITokenNotFound.
func (s *Store) APICaller(ctx context.Context, hash token.APIHash, network string, now time.Time) (APICaller, error) {
	return database.One[APICaller](ctx, s.q, "check API token", identity.ErrAPITokenNotFound, `
		SELECT `+apiCallerColumns+`,
		       coalesce(t.last_used_at <= $3::timestamptz - interval '1 minute', true) AS use_is_old, NOT $2 = ANY (t.networks) AS network_is_new
		FROM identity.live_api_tokens t WHERE t.secret_hash = $1`, hash[:], network, now)
}

// APIOwner finds an API token by its uid, without recorded use.
// Errors: identity.ErrAPITokenNotFound.
func (s *Store) APIOwner(ctx context.Context, uid id.Session) (APICaller, error) {
	return database.One[APICaller](ctx, s.q, "check API token of reservation", identity.ErrAPITokenNotFound, `
		SELECT `+apiCallerColumns+`, false AS use_is_old, false AS network_is_new FROM identity.live_api_tokens t WHERE t.uid = $1`, uid)
}

// UseAPIToken records the use of an API token, and reports whether it is the first from that network. Of the networks it keeps the
// latest identity.MaxAPITokenNetworks.
func (s *Store) UseAPIToken(ctx context.Context, uid id.Session, address, network string, now time.Time) (first bool, err error) {
	return database.Scalar[bool](ctx, s.q, "record use of API token", nil, `
		WITH before AS (
			SELECT uid, networks, $4 = ANY (networks) AS known FROM identity.api_tokens WHERE uid = $1 FOR UPDATE
		), used AS (
			UPDATE identity.api_tokens t SET last_used_at = greatest(t.last_used_at, $2), last_address = $3,
			       networks = CASE WHEN b.known THEN b.networks
			                       ELSE b.networks[greatest(1, cardinality(b.networks) - $5::integer + 2):] || $4::text END
			FROM before b WHERE t.uid = b.uid
		)
		SELECT coalesce((SELECT NOT known FROM before), false)`, uid, now, address, network, identity.MaxAPITokenNetworks)
}

// ExpiringAPITokens marks up to limit API tokens that expire before until as warned, and returns them. Those that live for less than a
// warning's time are left out.
func (s *Store) ExpiringAPITokens(ctx context.Context, now, until time.Time, limit int) ([]identity.APIToken, error) {
	return database.All[identity.APIToken](ctx, s.q, "list expiring API tokens", `
		WITH due AS (
			SELECT uid FROM identity.api_tokens
			WHERE expires_at > $1 AND expires_at <= $2 AND warned_at IS NULL AND expires_at - created_at > $2::timestamptz - $1::timestamptz
			ORDER BY expires_at LIMIT $3 FOR UPDATE SKIP LOCKED
		), warned AS (
			UPDATE identity.api_tokens t SET warned_at = $1 FROM due WHERE t.uid = due.uid
		)
		SELECT `+apiTokenColumns+` FROM due JOIN identity.live_api_tokens t ON t.uid = due.uid JOIN identity.persons n ON n.uid = t.person`, now,
		until, limit)
}
