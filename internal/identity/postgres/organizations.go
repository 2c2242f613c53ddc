package postgres

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// LockBootstrap takes the advisory lock of the bootstrap, so that replicas that start together prepare the database
// one after the other.
func (s *Store) LockBootstrap(ctx context.Context) error {
	_, err := database.Exec(ctx, s.q, "lock bootstrap", `SELECT pg_advisory_xact_lock(hashtextextended('identity.bootstrap', 0))`)
	return err
}

// FindOrganization returns the organization with this uid as text or this hostname, the free one for "free", or for an
// address the organization of its person.
// Errors: identity.ErrOrganizationNotFound.
func (s *Store) FindOrganization(ctx context.Context, reference string) (id.Organization, error) {
	uid, _ := id.Parse[id.Organization](reference) // the zero uid for any other reference
	return database.Scalar[id.Organization](ctx, s.q, "find organization", identity.ErrOrganizationNotFound, `
		SELECT o.uid FROM identity.organizations o WHERE o.uid = $2::uuid
		UNION SELECT o.uid FROM identity.organizations o WHERE o.free AND $1 = 'free'
		UNION SELECT h.organization FROM identity.hosts h WHERE h.host = lower($1)
		UNION SELECT m.organization FROM identity.memberships m JOIN identity.addresses a ON a.person = m.person
		WHERE a.address = lower($1) AND a.verified_at IS NOT NULL
		ORDER BY uid LIMIT 1`, reference, database.Null(uid))
}

// TimeZone returns an organization's time zone.
// Errors: identity.ErrOrganizationNotFound.
func (s *Store) TimeZone(ctx context.Context, o id.Organization) (string, error) {
	return database.Scalar[string](ctx, s.q, "read time zone", identity.ErrOrganizationNotFound, `
		SELECT time_zone FROM identity.organizations WHERE uid = $1`, o)
}

// LockOrganizations locks the rows of organizations in the order of their uids until the transaction ends. Their
// members and administrators cannot change meanwhile. Take it before any lock on a person. It ignores uids that do not
// exist.
func (s *Store) LockOrganizations(ctx context.Context, list ...id.Organization) error {
	_, err := database.Exec(ctx, s.q, "lock organizations", `
		SELECT uid FROM identity.organizations WHERE uid = ANY($1) ORDER BY uid FOR NO KEY UPDATE`, list)
	return err
}

// NewOrganization is the input of InsertOrganization. The rest of the profile is unset.
type NewOrganization struct {
	UID       id.Organization
	Free      bool
	Name      string // empty: unset
	Locale    string
	TimeZone  string
	CreatedAt time.Time
	Personal  bool // the members have the personal limit
}

// InsertOrganization stores an organization without members, hostnames and limitations of its own.
func (s *Store) InsertOrganization(ctx context.Context, n NewOrganization) error {
	_, err := database.Exec(ctx, s.q, "insert organization", `
		INSERT INTO identity.organizations (uid, free, personal, name, locale, time_zone, created_at, updated_at)
		VALUES ($1, $2, $7, $3, $4, $5, $6, $6)`, n.UID, n.Free, database.Null(n.Name), n.Locale, n.TimeZone, n.CreatedAt, n.Personal)
	return err
}

// CountMade counts an organization that a locked person makes.
// Errors: identity.ErrTooManyOrganizations.
func (s *Store) CountMade(ctx context.Context, p id.Person, now time.Time) error {
	return database.Changed(ctx, s.q, "count organization", identity.ErrTooManyOrganizations, `
		UPDATE identity.persons SET organizations_made = $2::timestamptz || organizations_made[:$4::integer - 1]
		WHERE uid = $1 AND coalesce(organizations_made[$4] <= $3, true)`,
		p, now, now.Add(-identity.MadeWithin), identity.MadeOrganizations)
}

// RaisePersonal ends that the members of an organization have the personal limit.
func (s *Store) RaisePersonal(ctx context.Context, o id.Organization) error {
	_, err := database.Exec(ctx, s.q, "raise personal limit",
		`UPDATE identity.organizations SET personal = false WHERE uid = $1 AND personal`, o)
	return err
}

// organizationJSON builds an identity.Organization as JSON from identity.organizations o and directory.organizations
// d. NULL becomes the empty string.
const organizationJSON = `json_build_object('UID', o.uid, 'Free', o.free, 'Name', o.name,
		           'HasAvatar', EXISTS (SELECT FROM identity.avatars v WHERE v.organization = o.uid),
		           'Locale', o.locale, 'TimeZone', o.time_zone, 'Hostname', d.host, 'GlobalSignature', o.global_signature,
		           'LegalNoticeURL', o.legal_notice_url, 'PrivacyPolicyURL', o.privacy_policy_url, 'MFARequired', o.mfa_required)`

// Organization returns everything about an organization except its members.
// Errors: identity.ErrOrganizationNotFound.
func (s *Store) Organization(ctx context.Context, o id.Organization) (identity.OrganizationDetails, error) {
	return database.One[identity.OrganizationDetails](ctx, s.q, "read organization", identity.ErrOrganizationNotFound, `
		SELECT o.uid, o.free, coalesce(o.external_uid, '') AS external_uid, o.mfa_required,
		       EXISTS (SELECT FROM identity.avatars v WHERE v.organization = o.uid) AS has_avatar,
		       json_build_object('PrimaryColor', o.primary_color, 'BackgroundColor', o.background_color) AS theme,
		       json_build_object('Name', o.name, 'AddressLine1', o.address_line1, 'AddressLine2', o.address_line2,
		           'PostCode', o.post_code, 'City', o.city, 'State', o.state, 'Country', o.country, 'PhoneNumber', o.phone_number,
		           'GlobalSignature', o.global_signature, 'LegalNoticeURL', o.legal_notice_url,
		           'PrivacyPolicyURL', o.privacy_policy_url, 'Locale', o.locale, 'TimeZone', o.time_zone,
		           'Hostname', (SELECT h.host FROM identity.hosts h WHERE h.organization = o.uid AND h.active),
		           'InactiveHostnames', ARRAY(SELECT h.host FROM identity.hosts h
		               WHERE h.organization = o.uid AND NOT h.active ORDER BY h.host)) AS profile,
		       (SELECT json_agg(json_build_object('Organization', s.organization, 'Domain', s.domain, 'ProductID', s.product_id,
		                'DisplayName', s.display_name, 'Status', s.status, 'CreatedAt', s.created_at, 'UpdatedAt', s.updated_at,
		                'ExpiresAt', s.expires_at) ORDER BY s.created_at, s.uid)
		          FROM identity.subscriptions s WHERE s.organization = o.uid) AS subscriptions
		FROM identity.organizations o WHERE o.uid = $1`, o)
}

// UpdateOrganizationProfile replaces an organization's profile except the hostnames. Errors:
// identity.ErrOrganizationNotFound.
func (s *Store) UpdateOrganizationProfile(ctx context.Context, o id.Organization, p identity.OrganizationProfile, now time.Time) error {
	return database.Changed(ctx, s.q, "update organization profile", identity.ErrOrganizationNotFound, `
		UPDATE identity.organizations
		SET name = $2, address_line1 = $3, address_line2 = $4, post_code = $5, city = $6, state = $7, country = $8, phone_number = $9,
		    global_signature = $10, legal_notice_url = $11, privacy_policy_url = $12, locale = $13, time_zone = $14, updated_at = $15
		WHERE uid = $1`, o, database.Null(p.Name), database.Null(p.AddressLine1), database.Null(p.AddressLine2), database.Null(p.PostCode),
		database.Null(p.City), database.Null(p.State), database.Null(p.Country), database.Null(p.PhoneNumber), database.Null(p.GlobalSignature),
		database.Null(p.LegalNoticeURL), database.Null(p.PrivacyPolicyURL), p.Locale, p.TimeZone, now)
}

// SetTheme sets an organization's colors; the zero theme removes them.
// Errors: identity.ErrOrganizationNotFound.
func (s *Store) SetTheme(ctx context.Context, o id.Organization, t identity.Theme, now time.Time) error {
	return database.Changed(ctx, s.q, "set theme", identity.ErrOrganizationNotFound, `
		UPDATE identity.organizations SET primary_color = $2, background_color = $3, updated_at = $4 WHERE uid = $1`,
		o, database.Null(t.PrimaryColor), database.Null(t.BackgroundColor), now)
}

// SetExternalUID sets an organization's uid in an external directory.
// Errors: identity.ErrOrganizationNotFound.
func (s *Store) SetExternalUID(ctx context.Context, o id.Organization, external string, now time.Time) error {
	return database.Changed(ctx, s.q, "set external uid", identity.ErrOrganizationNotFound, `
		UPDATE identity.organizations SET external_uid = $2, updated_at = $3 WHERE uid = $1`, o, database.Null(external), now)
}

// SetMFARequired sets whether an organization requires a second factor of its members. Errors:
// identity.ErrOrganizationNotFound.
func (s *Store) SetMFARequired(ctx context.Context, o id.Organization, required bool, now time.Time) error {
	return database.Changed(ctx, s.q, "set mfaRequired", identity.ErrOrganizationNotFound, `
		UPDATE identity.organizations SET mfa_required = $2, updated_at = $3 WHERE uid = $1`, o, required, now)
}

// DeleteOrganization deletes an organization with its memberships, hostnames, invitations and all other rows that
// belong to it.
// Errors: identity.ErrOrganizationNotFound; identity.ErrFreeOrganization.
func (s *Store) DeleteOrganization(ctx context.Context, o id.Organization) error {
	free, err := database.Scalar[bool](ctx, s.q, "read organization", identity.ErrOrganizationNotFound, `
		WITH deleted AS (DELETE FROM identity.organizations WHERE uid = $1 AND NOT free)
		SELECT free FROM identity.organizations WHERE uid = $1`, o)
	if err == nil && free {
		return identity.ErrFreeOrganization
	}
	return err
}

// CountPersons returns the number of persons.
func (s *Store) CountPersons(ctx context.Context) (int64, error) {
	return database.Scalar[int64](ctx, s.q, "count persons", nil, `SELECT count(*) FROM identity.persons WHERE deleted_at IS NULL`)
}

// cleanBatch is the number of rows that one statement of Clean changes, so that row locks are held for a short time.
const cleanBatch = 2000

// Clean deletes expired tokens, keys and invitations, and the empty rows of persons who were deleted before forget.
func (s *Store) Clean(ctx context.Context, now, forget, undoable, deviceSince time.Time) error {
	const forgetKey = `UPDATE identity.addresses SET key_hash = NULL, key_expires_at = NULL`
	var failed error
	for _, c := range []struct {
		what, table, due string
		before           time.Time
		change           string // empty: rows are deleted
	}{
		{what: "expired ID tokens", table: "id_tokens", due: "expires_at", before: now},
		{what: "expired device logins", table: "device_logins", due: "expires_at", before: now.Add(-identity.DeviceLoginLifetime)},
		{what: "expired API tokens", table: "api_tokens", due: "expires_at", before: now},
		{what: "expired mfa tokens", table: "pending_logins", due: "expires_at", before: now},
		{what: "expired pickup tokens", table: "parked_tokens", due: "expires_at", before: now},
		{what: "expired external logins", table: "external_logins", due: "forget_at", before: now},
		{what: "expired external tokens", table: "external_tokens", due: "expires_at", before: now},
		{what: "expired reset keys", table: "reset_keys", due: "expires_at", before: now},
		{what: "changes that can no longer be undone", table: "security_changes", due: "made_at", before: undoable},
		{what: "changes of organizations that can no longer be undone", table: "organization_changes", due: "made_at", before: undoable},
		{what: "clients unused for long", table: "known_clients", due: "seen_at", before: deviceSince},
		{what: "expired invitations", table: "invitations", due: "expires_at", before: now},
		{what: "old wrong second factors", table: "factor_tries", due: "forget_at", before: now},
		{what: "used challenges", table: "used_challenges", due: "expires_at", before: now},
		{what: "expired verification keys", table: "addresses", due: "key_expires_at", before: now, change: forgetKey},
		{what: "persons deleted long ago", table: "persons", due: "deleted_at", before: forget},
	} {
		change := cmp.Or(c.change, `DELETE FROM identity.`+c.table)
		sql := change + ` WHERE ` + c.due + ` <= $1 AND ctid = ANY (ARRAY (SELECT ctid FROM identity.` + c.table + ` WHERE ` + c.due +
			` <= $1 ORDER BY ` + c.due + ` LIMIT $2))`
		for n := cleanBatch; n >= cleanBatch; {
			var err error
			if n, err = database.Exec(ctx, s.q, "delete "+c.what, sql, c.before, cleanBatch); err != nil {
				failed = errors.Join(failed, err)
			}
		}
	}
	return failed
}
