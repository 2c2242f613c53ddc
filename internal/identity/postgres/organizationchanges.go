// SQL of sensitive changes of organizations, and of the administrators who are mailed about them.

package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// NewOrganizationChange is the input of KeepOrganizationChange.
type NewOrganizationChange struct {
	Organization id.Organization
	Kind         string
	Object       string
	By           id.Person // zero: nobody's sessions end when it is undone
	UndoHash     []byte    // nil: it cannot be undone
	Before       json.RawMessage
	Now          time.Time
	Since        time.Time // one change of a kind and object is kept from here on; further ones are not
}

// KeepOrganizationChange stores a change, and reports false if one of the kind and object was kept after c.Since. Call it with the
// organization locked.
func (s *Store) KeepOrganizationChange(ctx context.Context, c NewOrganizationChange) (kept bool, err error) {
	n, err := database.Exec(ctx, s.q, "keep change of organization", `
		INSERT INTO identity.organization_changes (organization, kind, object, made_at, made_by, undo_hash, before)
		SELECT $1, $2, $3, $4, $5, $6, $7
		WHERE NOT EXISTS (SELECT FROM identity.organization_changes e
		                  WHERE e.organization = $1 AND e.kind = $2 AND e.object = $3 AND e.made_at > $8)`,
		c.Organization, c.Kind, c.Object, c.Now, database.Null(c.By), c.UndoHash, c.Before, c.Since)
	return n > 0, err
}

// OrganizationChange is a change that a key of a mailed link belongs to.
type OrganizationChange struct {
	Seq          int64
	Organization id.Organization
	Kind         string
	MadeAt       time.Time
	MadeBy       id.Person // zero: nobody's sessions end
	Before       json.RawMessage
}

// OrganizationChangeOf returns the change of a key that was made after since.
// Errors: identity.ErrKeyNotFound.
func (s *Store) OrganizationChangeOf(ctx context.Context, hash []byte, since time.Time) (OrganizationChange, error) {
	return database.One[OrganizationChange](ctx, s.q, "find change of organization", identity.ErrKeyNotFound, `
		SELECT seq, organization, kind, made_at, made_by, before
		FROM identity.organization_changes WHERE undo_hash = $1 AND made_at > $2`, hash, since)
}

// TakeOrganizationChange consumes the key of a change.
// Errors: identity.ErrKeyNotFound.
func (s *Store) TakeOrganizationChange(ctx context.Context, seq int64, hash []byte) error {
	return database.Changed(ctx, s.q, "take key of organization's change", identity.ErrKeyNotFound, `
		UPDATE identity.organization_changes SET undo_hash = NULL WHERE seq = $1 AND undo_hash = $2`, seq, hash)
}

// Steward is an administrator of an organization who is mailed about its changes.
type Steward struct {
	Person   id.Person
	Email    string
	Name     string
	Locale   string
	TimeZone string
	Host     string     // home host, for links
	Since    *time.Time // since when the person is an administrator; nil: no longer
}

// Stewards returns the administrators of an organization who have a verified address, the longest in office first, and also these persons.
func (s *Store) Stewards(ctx context.Context, o id.Organization, also []id.Person) ([]Steward, error) {
	return database.All[Steward](ctx, s.q, "list administrators", `
		WITH stewards AS (
			(SELECT person, admin_since FROM identity.memberships WHERE organization = $1 AND admin_since IS NOT NULL
			 ORDER BY admin_since, person LIMIT $3)
			UNION ALL
			SELECT also.person, NULL FROM unnest($2::uuid[]) AS also (person)
			WHERE NOT EXISTS (SELECT FROM identity.memberships m
			                  WHERE m.organization = $1 AND m.person = also.person AND m.admin_since IS NOT NULL)
		)
		SELECT w.person, a.address AS email, coalesce(p.name, '') AS name, p.locale, p.time_zone, coalesce(h.host, '') AS host,
		       w.admin_since AS since
		FROM stewards w JOIN identity.persons p ON p.uid = w.person JOIN identity.homes h ON h.person = w.person
		JOIN identity.addresses a ON a.person = w.person AND a.is_primary AND a.verified_at IS NOT NULL
		ORDER BY w.admin_since, w.person`, o, also, identity.MaxStewards)
}

// AdministratorOf returns the administrator of an organization who has verified an address and is one since a time or later; zero: nobody.
func (s *Store) AdministratorOf(ctx context.Context, o id.Organization, address string, since time.Time) (id.Person, error) {
	return database.Scalar[id.Person](ctx, s.q, "find administrator by address", nil, `
		SELECT m.person FROM identity.addresses a JOIN identity.memberships m ON m.person = a.person
		WHERE a.address = $2 AND a.verified_at IS NOT NULL AND m.organization = $1 AND m.admin_since >= $3`, o, address, since)
}

// SetAdminSince restores since when a member is an administrator.
func (s *Store) SetAdminSince(ctx context.Context, o id.Organization, p id.Person, since time.Time) error {
	_, err := database.Exec(ctx, s.q, "restore standing of administrator", `
		UPDATE identity.memberships SET admin_since = $3 WHERE organization = $1 AND person = $2 AND admin_since IS NOT NULL`, o, p, since)
	return err
}

// DeleteInvitationOf revokes the invitation of an address by an organization, if there is one.
func (s *Store) DeleteInvitationOf(ctx context.Context, o id.Organization, address string) error {
	_, err := database.Exec(ctx, s.q, "delete invitation of address", `
		DELETE FROM identity.invitations WHERE organization = $1 AND address = $2`, o, address)
	return err
}
