// SQL of invitations. Expired ones count as gone.

package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// invitations selects an identity.Invitation from identity.invitations i. The caller appends the condition. $1 is the
// current time.
const invitations = `SELECT ` + invitationColumns + invitationTables

const invitationColumns = `
		i.key, coalesce(i.address, '') AS address, i.inviter, i.roles, i.expires_at, ` + organizationJSON + ` AS organization`

const invitationTables = `
		FROM identity.invitations i
		JOIN identity.organizations o ON o.uid = i.organization
		JOIN directory.organizations d ON d.organization = i.organization
		WHERE (i.expires_at IS NULL OR i.expires_at > $1)`

// InvitationsOf lists the invitations that an organization has issued, newest first.
func (s *Store) InvitationsOf(ctx context.Context, o id.Organization, now time.Time) ([]identity.Invitation, error) {
	return database.All[identity.Invitation](ctx, s.q, "list invitations",
		invitations+` AND i.organization = $2 ORDER BY i.created_at DESC, i.key`, now, o)
}

// InvitationsFor lists the free organization's shared invitations and those for a person's verified addresses.
func (s *Store) InvitationsFor(ctx context.Context, p id.Person, now time.Time) ([]identity.Invitation, error) {
	return database.All[identity.Invitation](ctx, s.q, "list invitations of person", invitations+`
		AND i.key IN (SELECT n.key FROM identity.invitations n
		              WHERE n.address IS NULL AND n.organization = (SELECT f.uid FROM identity.organizations f WHERE f.free)
		              UNION ALL
		              SELECT n.key FROM identity.invitations n JOIN identity.addresses a ON a.address = n.address
		              WHERE a.person = $2 AND a.verified_at IS NOT NULL)
		ORDER BY i.address IS NULL, i.created_at DESC, i.key`, now, p)
}

// Invitation returns an invitation that can still be accepted.
// Errors: identity.ErrInvitationNotFound.
func (s *Store) Invitation(ctx context.Context, key string, now time.Time) (identity.Invitation, error) {
	return database.One[identity.Invitation](ctx, s.q, "read invitation", identity.ErrInvitationNotFound, invitations+` AND i.key = $2`, now,
		key)
}

// PublicInvitation returns an invitation that can still be accepted, with its inviter.
// Errors: identity.ErrInvitationNotFound.
func (s *Store) PublicInvitation(ctx context.Context, key string, now time.Time) (identity.PublicInvitation, error) {
	return database.One[identity.PublicInvitation](ctx, s.q, "read public invitation", identity.ErrInvitationNotFound, `
		SELECT `+invitationColumns+`,
		       coalesce((SELECT p.name FROM identity.persons p WHERE p.uid = i.inviter), '') AS inviter_name,
		       coalesce((SELECT a.address FROM identity.addresses a WHERE a.person = i.inviter AND a.is_primary), '') AS inviter_address
		`+invitationTables+` AND i.key = $2`, now, key)
}

// NewInvitation is the input of PutInvitation.
type NewInvitation struct {
	Key          string
	Organization id.Organization
	Address      string // empty: shared
	Roles        []string
	Inviter      id.Person // zero: an operator
	CreatedAt    time.Time
	ExpiresAt    time.Time // zero: never (shared invitations only)
}

// PutInvitation stores an invitation. It replaces an earlier one for the same address, whose key stops working.
func (s *Store) PutInvitation(ctx context.Context, n NewInvitation) error {
	_, err := database.Exec(ctx, s.q, "put invitation", `
		INSERT INTO identity.invitations (key, organization, address, roles, inviter, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT ON CONSTRAINT invitations_address_key DO UPDATE
		SET key = excluded.key, roles = excluded.roles, inviter = excluded.inviter, created_at = excluded.created_at,
			expires_at = excluded.expires_at`,
		n.Key, n.Organization, database.Null(n.Address), n.Roles, database.Null(n.Inviter), n.CreatedAt, database.Null(n.ExpiresAt))
	return err
}

// TakeInvitation consumes a personalized invitation, or returns a shared one without consuming it. Errors:
// identity.ErrInvitationNotFound.
func (s *Store) TakeInvitation(ctx context.Context, key string, now time.Time) ([]string, error) {
	return database.Scalar[[]string](ctx, s.q, "take invitation", identity.ErrInvitationNotFound, `
		WITH taken AS (
			DELETE FROM identity.invitations WHERE key = $1 AND address IS NOT NULL AND expires_at > $2 RETURNING roles
		), shared AS (
			SELECT roles FROM identity.invitations WHERE key = $1 AND address IS NULL FOR KEY SHARE
		)
		SELECT roles FROM taken UNION ALL SELECT roles FROM shared`, key, now)
}

// DeleteInvitation revokes an invitation of an organization.
// Errors: identity.ErrInvitationNotFound.
func (s *Store) DeleteInvitation(ctx context.Context, o id.Organization, key string, now time.Time) (address string, err error) {
	return database.Scalar[string](ctx, s.q, "delete invitation", identity.ErrInvitationNotFound, `
		DELETE FROM identity.invitations WHERE organization = $1 AND key = $2 AND (expires_at IS NULL OR expires_at > $3)
		RETURNING coalesce(address, '')`, o, key, now)
}

// HasVerified reports whether a person has an address and has verified it.
func (s *Store) HasVerified(ctx context.Context, p id.Person, address string) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "check address", nil, `
		SELECT EXISTS (SELECT FROM identity.addresses WHERE person = $1 AND address = $2 AND verified_at IS NOT NULL)`, p, address)
}

// IsMemberAddress reports whether a member of an organization has verified an address.
func (s *Store) IsMemberAddress(ctx context.Context, o id.Organization, address string) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "look for member's address", nil, `
		SELECT EXISTS (SELECT FROM identity.addresses a JOIN identity.memberships m ON m.person = a.person
		               WHERE m.organization = $1 AND a.address = $2 AND a.verified_at IS NOT NULL)`, o, address)
}
