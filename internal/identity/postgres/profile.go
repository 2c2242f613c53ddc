package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// profileRow is an address of a person, with all else of its profile beside it: few have more than two, and one statement tells
// everything.
type profileRow struct {
	UID         id.Person
	Name        string
	Locale      string
	TimeZone    string
	HasAvatar   bool
	CreatedAt   time.Time
	LastLoginAt *time.Time
	Roles       []string

	identity.Address // zero: there is none

	Organization          id.Organization // zero: there is none
	Free                  bool
	OrganizationName      string
	OrganizationHasAvatar bool
	OrganizationLocale    string
	OrganizationTimeZone  string
	Hostname              string
	GlobalSignature       string
	LegalNoticeURL        string
	PrivacyPolicyURL      string
	MFARequired           bool
}

// Profile returns a person with its addresses and organization. Errors: identity.ErrPersonNotFound.
func (s *Store) Profile(ctx context.Context, p id.Person) (identity.Person, error) {
	list, err := all[profileRow](ctx, s.q, "read profile", `
		SELECT p.uid, coalesce(p.name, '') AS name, p.locale, p.time_zone, p.created_at, p.last_login_at, m.roles,
		       EXISTS (SELECT FROM identity.avatars v WHERE v.person = p.uid) AS has_avatar,
		       coalesce(a.address, '') AS address, coalesce(a.is_primary, false) AS "primary", a.verified_at IS NOT NULL AS verified, a.remove_at,
		       o.uid AS organization, coalesce(o.free, false) AS free, coalesce(o.name, '') AS organization_name,
		       EXISTS (SELECT FROM identity.avatars v WHERE v.organization = o.uid) AS organization_has_avatar,
		       coalesce(o.locale, '') AS organization_locale, coalesce(o.time_zone, '') AS organization_time_zone,
		       coalesce(d.host, '') AS hostname, coalesce(o.global_signature, '') AS global_signature,
		       coalesce(o.legal_notice_url, '') AS legal_notice_url, coalesce(o.privacy_policy_url, '') AS privacy_policy_url,
		       coalesce(o.mfa_required, false) AS mfa_required
		FROM identity.persons p
		LEFT JOIN identity.addresses a ON a.person = p.uid
		LEFT JOIN identity.memberships m ON m.person = p.uid
		LEFT JOIN identity.organizations o ON o.uid = m.organization
		LEFT JOIN directory.organizations d ON d.organization = o.uid
		WHERE p.uid = $1 AND p.deleted_at IS NULL
		ORDER BY a.is_primary DESC, a.created_at, a.address`, p.UUID)
	if err != nil {
		return identity.Person{}, err
	}
	if len(list) == 0 {
		return identity.Person{}, identity.ErrPersonNotFound
	}
	r := list[0]
	person := identity.Person{
		UID: r.UID, Name: r.Name, Locale: r.Locale, TimeZone: r.TimeZone, HasAvatar: r.HasAvatar,
		CreatedAt: r.CreatedAt, LastLoginAt: r.LastLoginAt, Roles: r.Roles,
	}
	for _, r := range list {
		if r.Address.Address != "" {
			person.Emails = append(person.Emails, r.Address)
		}
	}
	if !r.Organization.IsZero() {
		person.Organization = &identity.Organization{
			UID: r.Organization, Free: r.Free, Name: r.OrganizationName, HasAvatar: r.OrganizationHasAvatar,
			Locale: r.OrganizationLocale, TimeZone: r.OrganizationTimeZone, Hostname: r.Hostname, GlobalSignature: r.GlobalSignature,
			LegalNoticeURL: r.LegalNoticeURL, PrivacyPolicyURL: r.PrivacyPolicyURL, MFARequired: r.MFARequired,
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
