package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// profileRow is Profile's row; the lists arrive as JSON, so that a profile is one round trip.
type profileRow struct {
	UID         id.Person
	Name        string
	Locale      string
	TimeZone    string
	HasAvatar   bool
	CreatedAt   time.Time
	LastLoginAt *time.Time
	Emails      []byte
	Roles       []string
	Membership  []byte
}

// Profile returns a person with its addresses and organization. Errors: identity.ErrPersonNotFound.
func (s *Store) Profile(ctx context.Context, p id.Person) (identity.Person, error) {
	row, err := one[profileRow](ctx, s.q, "read profile", identity.ErrPersonNotFound, `
		SELECT p.uid, coalesce(p.name, '') AS name, p.locale, p.time_zone, p.created_at, p.last_login_at,
		       EXISTS (SELECT FROM identity.avatars v WHERE v.person = p.uid) AS has_avatar,
		       (SELECT json_agg(json_build_object('Address', a.address, 'Primary', a.is_primary,
		                                          'Verified', a.verified_at IS NOT NULL, 'RemoveAt', a.remove_at)
		                        ORDER BY a.is_primary DESC, a.created_at, a.address)
		          FROM identity.addresses a WHERE a.person = p.uid) AS emails,
		       m.roles,
		       CASE WHEN o.uid IS NOT NULL THEN json_build_object(
		           'UID', o.uid, 'Free', o.free, 'Name', coalesce(o.name, ''), 'Locale', o.locale, 'TimeZone', o.time_zone,
		           'HasAvatar', EXISTS (SELECT FROM identity.avatars v WHERE v.organization = o.uid),
		           'Hostname', d.host, 'GlobalSignature', coalesce(o.global_signature, ''),
		           'LegalNoticeURL', coalesce(o.legal_notice_url, ''), 'PrivacyPolicyURL', coalesce(o.privacy_policy_url, ''),
		           'MFARequired', o.mfa_required) END AS membership
		FROM identity.persons p
		LEFT JOIN identity.memberships m ON m.person = p.uid
		LEFT JOIN identity.organizations o ON o.uid = m.organization
		LEFT JOIN directory.organizations d ON d.organization = o.uid
		WHERE p.uid = $1 AND p.deleted_at IS NULL`, p.UUID)
	if err != nil {
		return identity.Person{}, err
	}
	person := identity.Person{
		UID: row.UID, Name: row.Name, Locale: row.Locale, TimeZone: row.TimeZone, HasAvatar: row.HasAvatar,
		CreatedAt: row.CreatedAt, LastLoginAt: row.LastLoginAt, Roles: row.Roles,
	}
	if len(row.Emails) > 0 {
		if err := json.Unmarshal(row.Emails, &person.Emails); err != nil {
			return identity.Person{}, fmt.Errorf("decode addresses: %w", err)
		}
	}
	if len(row.Membership) > 0 {
		if err := json.Unmarshal(row.Membership, &person.Organization); err != nil {
			return identity.Person{}, fmt.Errorf("decode membership: %w", err)
		}
	}
	return person, nil
}

// ProfileChange is what of a profile is to change; nil members stay.
type ProfileChange struct {
	Name     *string // empty: unset
	Locale   *string
	TimeZone *string
}

// UpdateProfile changes a person's profile. Errors: identity.ErrPersonNotFound.
func (s *Store) UpdateProfile(ctx context.Context, p id.Person, c ProfileChange) error {
	return s.changed(ctx, "update profile", identity.ErrPersonNotFound, `
		UPDATE identity.persons
		SET name = CASE WHEN $2::text IS NULL THEN name ELSE nullif($2, '') END,
		    locale = coalesce($3, locale), time_zone = coalesce($4, time_zone)
		WHERE uid = $1 AND deleted_at IS NULL`, p.UUID, c.Name, c.Locale, c.TimeZone)
}
