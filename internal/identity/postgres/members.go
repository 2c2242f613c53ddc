package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// SetMember makes a person a member with these roles, or changes the roles of a member. joined reports that the person
// was no member before.
// Errors: identity.ErrMemberElsewhere.
func (s *Store) SetMember(ctx context.Context, o id.Organization, p id.Person, roles []string, now time.Time) (joined bool, err error) {
	return database.Scalar[bool](ctx, s.q, "set member", identity.ErrMemberElsewhere, `
		INSERT INTO identity.memberships AS m (person, organization, roles, created_at, admin_since)
		VALUES ($1, $2, $3, $4, CASE WHEN 'Organization.Admin' = ANY ($3) THEN $4::timestamptz END)
		ON CONFLICT ON CONSTRAINT memberships_pkey DO UPDATE SET roles = excluded.roles,
			admin_since = CASE WHEN excluded.admin_since IS NOT NULL THEN coalesce(m.admin_since, excluded.admin_since) END
		WHERE m.organization = excluded.organization
		RETURNING xmax = 0`, p, o, roles, now)
}

// Standing is a person's membership and roles in one organization.
type Standing struct {
	Member     bool
	Roles      []string
	AdminSince *time.Time // nil: no administrator
}

// Senior reports whether the person has been an administrator for identity.SeniorAdministrator.
func (s Standing) Senior(now time.Time) bool {
	return s.AdminSince != nil && !s.AdminSince.After(now.Add(-identity.SeniorAdministrator))
}

// Standing returns a person's membership and roles in one organization.
// Errors: identity.ErrOrganizationNotFound.
func (s *Store) Standing(ctx context.Context, o id.Organization, p id.Person) (Standing, error) {
	return database.One[Standing](ctx, s.q, "read standing", identity.ErrOrganizationNotFound, `
		SELECT m.person IS NOT NULL AS member, coalesce(m.roles, '{}') AS roles, m.admin_since
		FROM identity.organizations o LEFT JOIN identity.memberships m ON m.organization = o.uid AND m.person = $2
		WHERE o.uid = $1`, o, p)
}

// Membership is the organization that a person is a member of.
type Membership struct {
	Organization id.Organization // zero: none
	Free         bool
	Roles        []string
}

// Membership returns the organization that a person is a member of, if any.
func (s *Store) Membership(ctx context.Context, p id.Person) (Membership, error) {
	return database.One[Membership](ctx, s.q, "read membership", nil, `
		SELECT m.organization, o.free, m.roles
		FROM identity.memberships m JOIN identity.organizations o ON o.uid = m.organization WHERE m.person = $1`, p)
}

const memberColumns = `
		m.person AS uid, coalesce(p.name, '') AS name, coalesce(a.address, '') AS email, m.roles, coalesce(m.reference, '') AS reference,
		CASE WHEN p.federated_issuer IS NULL THEN '' ELSE coalesce(m.external_uid, p.federated_subject, '') END AS external_uid,
		coalesce(p.federated_issuer, '') AS issuer
		FROM identity.memberships m
		JOIN identity.persons p ON p.uid = m.person
		LEFT JOIN identity.addresses a ON a.person = m.person AND a.is_primary`

// Members returns those of the given persons who are members of an organization, oldest membership first.
func (s *Store) Members(ctx context.Context, o id.Organization, persons []id.Person) ([]identity.Member, error) {
	return database.All[identity.Member](ctx, s.q, "list members", `
		SELECT `+memberColumns+` WHERE m.organization = $1 AND m.person = ANY ($2) ORDER BY m.created_at, m.person`, o, persons)
}

// MembersAfter returns up to limit members of an organization, oldest membership first, that come after a member; zero: from the
// oldest. A first and a later batch are two statements, so that the position bounds the index scan in generic plans.
func (s *Store) MembersAfter(ctx context.Context, o id.Organization, after identity.JoinedMember,
	limit int) ([]identity.JoinedMember, error) {
	later, args := "", []any{o, limit}
	if !after.UID.IsZero() {
		later, args = ` AND (m.created_at, m.person) > ($3, $4)`, append(args, after.Since, after.UID)
	}
	return database.All[identity.JoinedMember](ctx, s.q, "list members by age", `
		SELECT m.created_at AS since,`+memberColumns+` WHERE m.organization = $1`+later+` ORDER BY m.created_at, m.person LIMIT $2`, args...)
}

// Member returns a member of an organization.
// Errors: identity.ErrMemberNotFound.
func (s *Store) Member(ctx context.Context, o id.Organization, p id.Person) (identity.Member, error) {
	return database.One[identity.Member](ctx, s.q, "read member", identity.ErrMemberNotFound, `
		SELECT `+memberColumns+` WHERE m.organization = $1 AND m.person = $2`, o, p)
}

// MemberUIDs returns the uids of an organization's members.
func (s *Store) MemberUIDs(ctx context.Context, o id.Organization) ([]id.Person, error) {
	return database.Scalars[id.Person](ctx, s.q, "list member uids", `
		SELECT person FROM identity.memberships WHERE organization = $1 ORDER BY person`, o)
}

// CountMembers returns how many members an organization has and how many it may have. To enforce the limit, call it
// with the organization locked.
// Errors: identity.ErrOrganizationNotFound.
func (s *Store) CountMembers(ctx context.Context, o id.Organization) (members, limit int, err error) {
	row, err := database.One[struct{ Members, Users int }](ctx, s.q, "count members", identity.ErrOrganizationNotFound, `
		SELECT (SELECT count(*) FROM identity.memberships WHERE organization = $1) AS members, coalesce(users, 0) AS users
		FROM directory.limits WHERE organization = $1`, o)
	return row.Members, row.Users, err
}

// OtherAdmin reports whether an organization has an administrator other than this person. Call it with the
// organization locked.
func (s *Store) OtherAdmin(ctx context.Context, o id.Organization, p id.Person) (bool, error) {
	return database.Scalar[bool](ctx, s.q, "look for another administrator", nil, `
		SELECT EXISTS (SELECT FROM identity.memberships WHERE organization = $1 AND person <> $2 AND $3 = ANY(roles))`,
		o, p, identity.RoleOrganizationAdmin)
}

// InsertMember makes a person a member of an organization.
// Errors: identity.ErrMemberElsewhere.
func (s *Store) InsertMember(ctx context.Context, o id.Organization, p id.Person, roles []string, now time.Time) error {
	_, err := database.Exec(ctx, s.q, "insert member", `
		INSERT INTO identity.memberships (person, organization, roles, created_at, admin_since)
		VALUES ($1, $2, $3, $4, CASE WHEN 'Organization.Admin' = ANY ($3) THEN $4::timestamptz END)`, p, o, roles, now)
	return err
}

// UpdateMember changes the attributes that an organization sets for a member.
// Errors: identity.ErrMemberNotFound.
func (s *Store) UpdateMember(ctx context.Context, o id.Organization, m identity.Member, now time.Time) error {
	return database.Changed(ctx, s.q, "update member", identity.ErrMemberNotFound, `
		UPDATE identity.memberships SET roles = $3, reference = $4, external_uid = $5,
			admin_since = CASE WHEN 'Organization.Admin' = ANY ($3) THEN coalesce(admin_since, $6) END
		WHERE organization = $1 AND person = $2`, o, m.UID, m.Roles, database.Null(m.Reference), database.Null(m.ExternalUID), now)
}

// DeleteMember ends a membership.
// Errors: identity.ErrMemberNotFound.
func (s *Store) DeleteMember(ctx context.Context, o id.Organization, p id.Person) error {
	return database.Changed(ctx, s.q, "delete member", identity.ErrMemberNotFound, `
		DELETE FROM identity.memberships WHERE organization = $1 AND person = $2`, o, p)
}

// Raised is a person's new epoch.
type Raised struct {
	Person id.Person
	Epoch  int64
}

// manyBatch bounds the persons of one statement: an organization may have tens of thousands, and a statement has a
// timeout of seconds.
const manyBatch = 5000

// RaiseEpochs locks every member of an organization and increments their epochs, which ends their access tokens. It
// locks and returns them in the order of their uids. Lock their feeds in the same order.
func (s *Store) RaiseEpochs(ctx context.Context, o id.Organization) ([]Raised, error) {
	members, err := database.Scalars[id.Person](ctx, s.q, "lock members", `
		SELECT p.uid FROM identity.persons p JOIN identity.memberships m ON m.person = p.uid
		WHERE m.organization = $1 ORDER BY p.uid FOR NO KEY UPDATE OF p`, o)
	if err != nil {
		return nil, err
	}
	list := make([]Raised, 0, len(members))
	for batch := range slices.Chunk(members, manyBatch) {
		raised, err := database.All[Raised](ctx, s.q, "raise epochs", `
			WITH raised AS (
				UPDATE identity.persons SET epoch = epoch + 1 WHERE uid = ANY ($1) AND deleted_at IS NULL RETURNING uid AS person, epoch
			)
			SELECT person, epoch FROM raised ORDER BY person`, batch)
		if err != nil {
			return nil, err
		}
		list = append(list, raised...)
	}
	return list, nil
}

// EndSessionsOf ends every session of many persons (see EndSessions). Call it with all of them locked.
func (s *Store) EndSessionsOf(ctx context.Context, persons []id.Person, now time.Time) error {
	for batch := range slices.Chunk(persons, manyBatch) {
		if _, err := database.Exec(ctx, s.q, "end sessions of many", `
			WITH parked AS (
				DELETE FROM identity.parked_tokens WHERE person = ANY($1)
			), pending AS (
				DELETE FROM identity.pending_logins WHERE person = ANY($1)
			)
			UPDATE identity.id_tokens SET state = 'ended', ended_at = $2 WHERE person = ANY($1) AND state <> 'ended'`, batch, now); err != nil {
			return err
		}
	}
	return nil
}
