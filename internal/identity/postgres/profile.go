package postgres

import (
	"context"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// Profile returns a person with addresses and organization.
// Errors: identity.ErrPersonNotFound.
func (s *Store) Profile(ctx context.Context, p id.Person) (identity.Person, error) {
	return database.One[identity.Person](ctx, s.q, "read profile", identity.ErrPersonNotFound, `
		SELECT p.uid, coalesce(p.name, '') AS name, p.locale, p.time_zone, p.created_at, p.last_login_at, p.suspended_at, m.roles,
		       EXISTS (SELECT FROM identity.avatars v WHERE v.person = p.uid) AS has_avatar,
		       (SELECT json_agg(json_build_object('Address', a.address, 'Primary', a.is_primary, 'Verified', a.verified_at IS NOT NULL,
		                'RemoveAt', a.remove_at) ORDER BY a.is_primary DESC, a.created_at, a.address)
		          FROM identity.addresses a WHERE a.person = p.uid) AS emails,
		       CASE WHEN o.uid IS NOT NULL THEN `+organizationJSON+` END AS organization
		FROM identity.persons p
		LEFT JOIN identity.memberships m ON m.person = p.uid
		LEFT JOIN identity.organizations o ON o.uid = m.organization
		LEFT JOIN directory.organizations d ON d.organization = o.uid
		WHERE p.uid = $1 AND p.deleted_at IS NULL`, p)
}

// ProfileChange is a change of a profile; nil members stay as they are.
type ProfileChange struct {
	Name     *string // empty: unset
	Locale   *string
	TimeZone *string
}

// UpdateProfile changes a person's profile.
// Errors: identity.ErrPersonNotFound.
func (s *Store) UpdateProfile(ctx context.Context, p id.Person, c ProfileChange) error {
	return database.Changed(ctx, s.q, "update profile", identity.ErrPersonNotFound, `
		UPDATE identity.persons
		SET name = CASE WHEN $2::text IS NULL THEN name ELSE nullif($2, '') END,
		    locale = coalesce($3, locale), time_zone = coalesce($4, time_zone)
		WHERE uid = $1 AND deleted_at IS NULL`, p, c.Name, c.Locale, c.TimeZone)
}
