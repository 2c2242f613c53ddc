// SQL of logins by form post.

package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// RegisteredLogin is a login by form post that has begun.
type RegisteredLogin struct {
	Host        string // of the request that began it
	Redirect    string // redirect URL
	BindingHash []byte // hash of the cookie of the browser that began it
	ExpiresAt   time.Time
}

// InsertExternalLogin registers the state of a login by form post.
func (s *Store) InsertExternalLogin(ctx context.Context, stateHash []byte, l RegisteredLogin) error {
	_, err := database.Exec(ctx, s.q, "register external login", `
		INSERT INTO identity.external_logins (state_hash, host, redirect_url, binding_hash, expires_at, forget_at) VALUES ($1, $2, $3, $4, $5,
			$5)`,
		stateHash, l.Host, l.Redirect, l.BindingHash, l.ExpiresAt)
	return err
}

// RegisteredLogin returns the login of a state that waits for its form post.
// Errors: identity.ErrExternalState.
func (s *Store) RegisteredLogin(ctx context.Context, stateHash []byte, now time.Time) (RegisteredLogin, error) {
	return database.One[RegisteredLogin](ctx, s.q, "find external login", identity.ErrExternalState, `
		SELECT host, redirect_url AS redirect, binding_hash, expires_at
		FROM identity.external_logins WHERE state_hash = $1 AND stored_at IS NULL AND expires_at > $2`, stateHash, now)
}

// ExternalLogin is the result of a form post: the person who logged in at the provider.
type ExternalLogin struct {
	Person      id.Person
	ExternalSID string // empty: the provider named none
}

// PostingBrowser holds the secrets of a browser that posts a form and has not begun the login.
type PostingBrowser struct {
	ConfirmationHash []byte // hash of the cookie with which the person confirms or refuses
	ReturnHash       []byte // hash of the key to the host where the login began
}

// StoreExternalLogin stores the result of a form post, once. It can be picked up until claimBefore, while the person's epoch is
// unchanged, and not before its release. other is nil when the browser that began the login posted the form: that releases
// it. home reports whether the login began at the active hostname of the organization that the person is a member of.
// Errors: identity.ErrExternalState.
func (s *Store) StoreExternalLogin(ctx context.Context, stateHash []byte, l ExternalLogin, other *PostingBrowser, now,
	claimBefore time.Time) (home bool, err error) {
	var secrets PostingBrowser
	if other != nil {
		secrets = *other
	}
	return database.Scalar[bool](ctx, s.q, "store external login", identity.ErrExternalState, `
		UPDATE identity.external_logins e
		SET stored_at = $4, person = p.uid, person_epoch = p.epoch, external_sid = $3, forget_at = greatest(e.expires_at, $5::timestamptz),
		    confirmation_hash = $6, return_hash = $7, released_at = CASE WHEN $6::bytea IS NULL THEN $4::timestamptz END
		FROM identity.persons p
		WHERE e.state_hash = $1 AND e.stored_at IS NULL AND e.expires_at > $4 AND p.uid = $2 AND p.deleted_at IS NULL
		RETURNING EXISTS (
			SELECT FROM identity.memberships m JOIN identity.hosts h ON h.organization = m.organization
			WHERE m.person = p.uid AND h.host = e.host AND h.active)`,
		stateHash, l.Person, database.Null(l.ExternalSID), now, claimBefore, secrets.ConfirmationHash, secrets.ReturnHash)
}

// waiting selects a stored login that was not picked up: a row of identity.external_logins e with its person p. $1 is now.
const waiting = `e.claimed_at IS NULL AND e.expires_at > $1 AND p.uid = e.person AND p.epoch = e.person_epoch AND p.deleted_at IS NULL`

// ConfirmationOf returns the login that the browser with a confirmation cookie has posted and that waits for the person.
// Errors: identity.ErrConfirmation.
func (s *Store) ConfirmationOf(ctx context.Context, confirmationHash []byte, now time.Time) (identity.Confirmation, error) {
	return database.One[identity.Confirmation](ctx, s.q, "read confirmation", identity.ErrConfirmation, `
		SELECT coalesce(p.name, '') AS name, a.address, coalesce(h.host, '') AS host, CASE WHEN o.free THEN '' ELSE coalesce(o.name,
			'') END AS organization
		FROM identity.external_logins e
		JOIN identity.persons p ON `+waiting+`
		JOIN identity.addresses a ON a.person = p.uid AND a.is_primary
		LEFT JOIN identity.hosts h ON h.host = e.host
		LEFT JOIN identity.organizations o ON o.uid = h.organization
		WHERE e.confirmation_hash = $2`, now, confirmationHash)
}

// ConfirmExternalLogin releases the login that ConfirmationOf returns. It can then be picked up until claimBefore. A repetition
// before that changes nothing.
// Errors: identity.ErrConfirmation.
func (s *Store) ConfirmExternalLogin(ctx context.Context, confirmationHash []byte, now, claimBefore time.Time) (RegisteredLogin, error) {
	return database.One[RegisteredLogin](ctx, s.q, "confirm external login", identity.ErrConfirmation, `
		UPDATE identity.external_logins e SET released_at = coalesce(e.released_at, $1), return_hash = NULL, forget_at = greatest(e.expires_at,
			$3::timestamptz)
		FROM identity.persons p WHERE `+waiting+` AND e.confirmation_hash = $2
		RETURNING e.host, e.redirect_url AS redirect, e.binding_hash, e.expires_at`, now, confirmationHash, claimBefore)
}

// RefuseExternalLogin deletes the login that ConfirmationOf returns, and returns its person.
// Errors: identity.ErrConfirmation.
func (s *Store) RefuseExternalLogin(ctx context.Context, confirmationHash []byte, now time.Time) (id.Person, error) {
	return database.Scalar[id.Person](ctx, s.q, "refuse external login", identity.ErrConfirmation, `
		DELETE FROM identity.external_logins e USING identity.persons p WHERE `+waiting+` AND e.confirmation_hash = $2 RETURNING p.uid`, now,
		confirmationHash)
}

// ReturnExternalLogin uses up the key to the host where a login began. If the browser has the cookie of the beginning, it
// releases the login until claimBefore. Otherwise the login waits for the person.
// Errors: identity.ErrConfirmation, which uses up nothing.
func (s *Store) ReturnExternalLogin(ctx context.Context, keyHash []byte, host string, bindingHash []byte, now,
	claimBefore time.Time) (l RegisteredLogin, released bool, err error) {
	row, err := database.One[struct {
		RegisteredLogin
		Released bool
	}](ctx, s.q, "return external login", identity.ErrConfirmation, `
		UPDATE identity.external_logins e
		SET return_hash = NULL, released_at = CASE WHEN e.binding_hash = $4 THEN $1::timestamptz ELSE e.released_at END,
			forget_at = greatest(e.expires_at, $5::timestamptz)
		FROM identity.persons p WHERE `+waiting+` AND e.return_hash = $2 AND e.host = $3
		RETURNING e.host, e.redirect_url AS redirect, e.binding_hash, e.expires_at, e.released_at IS NOT NULL AS released`,
		now, keyHash, host, bindingHash, claimBefore)
	return row.RegisteredLogin, row.Released, err
}

// ClaimExternalLogin returns a login that was released after since, at the host where it began. Of parallel calls one succeeds.
// Errors: identity.ErrExternalClaimed; identity.ErrExternalPending, also when the person's sessions have ended since the form
// post.
func (s *Store) ClaimExternalLogin(ctx context.Context, stateHash []byte, host string, now, since time.Time) (ExternalLogin, error) {
	l, err := database.One[ExternalLogin](ctx, s.q, "claim external login", identity.ErrExternalPending, `
		UPDATE identity.external_logins e SET claimed_at = $2
		FROM identity.persons p
		WHERE e.state_hash = $1 AND e.host = $4 AND e.released_at > $3 AND e.claimed_at IS NULL
		  AND p.uid = e.person AND p.epoch = e.person_epoch AND p.deleted_at IS NULL
		RETURNING e.person, coalesce(e.external_sid, '') AS external_sid`, stateHash, now, since, host)
	if !errors.Is(err, identity.ErrExternalPending) {
		return l, err
	}
	claimed, failed := database.Scalar[bool](ctx, s.q, "check external login", identity.ErrExternalPending, `
		SELECT claimed_at IS NOT NULL FROM identity.external_logins WHERE state_hash = $1 AND host = $2`, stateHash, host)
	switch {
	case failed != nil:
		return l, failed
	case claimed:
		return l, identity.ErrExternalClaimed
	}
	return l, err
}
