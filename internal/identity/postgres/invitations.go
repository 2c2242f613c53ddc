package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// invitationRow is an invitation with the summary of its organization, whose columns begin with org.
type invitationRow struct {
	Key                 string
	Address             string
	Inviter             *id.Person
	Roles               []string
	ExpiresAt           *time.Time
	OrgUID              id.Organization
	OrgFree             bool
	OrgName             string
	OrgHasAvatar        bool
	OrgLocale           string
	OrgTimeZone         string
	OrgHostname         string
	OrgGlobalSignature  string
	OrgLegalNoticeURL   string
	OrgPrivacyPolicyURL string
	OrgMFARequired      bool
}

func (r invitationRow) domain() identity.Invitation {
	return identity.Invitation{
		Key: r.Key, Address: r.Address, Inviter: r.Inviter, Roles: r.Roles, ExpiresAt: r.ExpiresAt,
		Organization: identity.Organization{
			UID: r.OrgUID, Free: r.OrgFree, Name: r.OrgName, HasAvatar: r.OrgHasAvatar, Locale: r.OrgLocale, TimeZone: r.OrgTimeZone,
			Hostname: r.OrgHostname, GlobalSignature: r.OrgGlobalSignature, LegalNoticeURL: r.OrgLegalNoticeURL,
			PrivacyPolicyURL: r.OrgPrivacyPolicyURL, MFARequired: r.OrgMFARequired,
		},
	}
}

// invitations selects from identity.invitations i; what follows is the condition. $1 is the present.
const invitations = `
		SELECT i.key, coalesce(i.address, '') AS address, i.inviter, i.roles, i.expires_at,
		       o.uid AS org_uid, o.free AS org_free, coalesce(o.name, '') AS org_name, o.locale AS org_locale, o.time_zone AS org_time_zone,
		       EXISTS (SELECT FROM identity.avatars v WHERE v.organization = o.uid) AS org_has_avatar, coalesce(d.host, '') AS org_hostname,
		       coalesce(o.global_signature, '') AS org_global_signature, coalesce(o.legal_notice_url, '') AS org_legal_notice_url,
		       coalesce(o.privacy_policy_url, '') AS org_privacy_policy_url, o.mfa_required AS org_mfa_required
		FROM identity.invitations i
		JOIN identity.organizations o ON o.uid = i.organization
		JOIN directory.organizations d ON d.organization = i.organization
		WHERE (i.expires_at IS NULL OR i.expires_at > $1)`

// InvitationsOf lists the invitations that an organization has issued, newest first.
func (s *Store) InvitationsOf(ctx context.Context, o id.Organization, now time.Time) ([]identity.Invitation, error) {
	rows, err := all[invitationRow](ctx, s.q, "list invitations", invitations+` AND i.organization = $2 ORDER BY i.created_at DESC, i.key`, now, o.UUID)
	return domainInvitations(rows), err
}

// InvitationsFor lists the free organization's shared invitations and those for a person's verified addresses.
func (s *Store) InvitationsFor(ctx context.Context, p id.Person, now time.Time) ([]identity.Invitation, error) {
	rows, err := all[invitationRow](ctx, s.q, "list invitations of person", invitations+`
		AND i.key IN (SELECT n.key FROM identity.invitations n
		              WHERE n.address IS NULL AND n.organization = (SELECT f.uid FROM identity.organizations f WHERE f.free)
		              UNION ALL
		              SELECT n.key FROM identity.invitations n JOIN identity.addresses a ON a.address = n.address
		              WHERE a.person = $2 AND a.verified_at IS NOT NULL)
		ORDER BY i.address IS NULL, i.created_at DESC, i.key`, now, p.UUID)
	return domainInvitations(rows), err
}

// Invitation returns an invitation that can still be accepted. Errors: identity.ErrInvitationNotFound.
func (s *Store) Invitation(ctx context.Context, key string, now time.Time) (identity.Invitation, error) {
	row, err := one[invitationRow](ctx, s.q, "read invitation", identity.ErrInvitationNotFound, invitations+` AND i.key = $2`, now, key)
	return row.domain(), err
}

func domainInvitations(rows []invitationRow) []identity.Invitation {
	list := make([]identity.Invitation, len(rows))
	for i, r := range rows {
		list[i] = r.domain()
	}
	return list
}

// NewInvitation is an invitation to be stored.
type NewInvitation struct {
	Key          string
	Organization id.Organization
	Address      string // empty: shared
	Roles        []string
	Inviter      id.Person // zero: an operator
	CreatedAt    time.Time
	ExpiresAt    time.Time // zero: never, of shared ones
}

// PutInvitation stores an invitation, in place of an earlier one for the same address, whose key ends.
func (s *Store) PutInvitation(ctx context.Context, n NewInvitation) error {
	_, err := s.exec(ctx, "put invitation", `
		INSERT INTO identity.invitations (key, organization, address, roles, inviter, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT ON CONSTRAINT invitations_address_key DO UPDATE
		SET key = excluded.key, roles = excluded.roles, inviter = excluded.inviter, created_at = excluded.created_at, expires_at = excluded.expires_at`,
		n.Key, n.Organization.UUID, optional(n.Address), n.Roles, nullable(n.Inviter), n.CreatedAt, moment(n.ExpiresAt))
	return err
}

// TakeInvitation consumes a personalized invitation, once, or finds a shared one still there.
// Errors: identity.ErrInvitationNotFound.
func (s *Store) TakeInvitation(ctx context.Context, key string, now time.Time) ([]string, error) {
	return scalar[[]string](ctx, s.q, "take invitation", identity.ErrInvitationNotFound, `
		WITH taken AS (
			DELETE FROM identity.invitations WHERE key = $1 AND address IS NOT NULL AND expires_at > $2 RETURNING roles
		), shared AS (
			SELECT roles FROM identity.invitations WHERE key = $1 AND address IS NULL FOR KEY SHARE
		)
		SELECT roles FROM taken UNION ALL SELECT roles FROM shared`, key, now)
}

// DeleteInvitation revokes an invitation of an organization. Errors: identity.ErrInvitationNotFound.
func (s *Store) DeleteInvitation(ctx context.Context, o id.Organization, key string, now time.Time) (address string, err error) {
	return scalar[string](ctx, s.q, "delete invitation", identity.ErrInvitationNotFound, `
		DELETE FROM identity.invitations WHERE organization = $1 AND key = $2 AND (expires_at IS NULL OR expires_at > $3)
		RETURNING coalesce(address, '')`, o.UUID, key, now)
}

// HasVerified reports whether an address is a verified one of a person.
func (s *Store) HasVerified(ctx context.Context, p id.Person, address string) (bool, error) {
	return scalar[bool](ctx, s.q, "check address", nil, `
		SELECT EXISTS (SELECT FROM identity.addresses WHERE person = $1 AND address = $2 AND verified_at IS NOT NULL)`, p.UUID, address)
}

// IsMemberAddress reports whether an address is a verified one of a member of an organization.
func (s *Store) IsMemberAddress(ctx context.Context, o id.Organization, address string) (bool, error) {
	return scalar[bool](ctx, s.q, "look for member's address", nil, `
		SELECT EXISTS (SELECT FROM identity.addresses a JOIN identity.memberships m ON m.person = a.person
		               WHERE m.organization = $1 AND a.address = $2 AND a.verified_at IS NOT NULL)`, o.UUID, address)
}
