package postgres

import (
	"context"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// PeoplePage selects a page of the people whose address contains Part, or whose name begins with Prefix. People follow the position of
// AfterKey and After, which are zero for the first page.
type PeoplePage struct {
	ByName     bool
	Prefix     string // lower case; empty: all who have a name
	Part       string // lower case; empty: all
	AfterKey   string // Key of the last person of the page before
	After      id.Person
	Candidates int // how many addresses a page compares with Part
	Limit      int
}

// FoundPerson is a person of a page with the key of its order. The last candidate is in the page whether it was found or not: behind it the
// next page begins.
type FoundPerson struct {
	identity.ListedPerson
	Key         string
	Found, Last bool
}

// lastRune is after every other character in the order of bytes.
const lastRune = "\U0010FFFF"

// People returns a page of people, in the order of the bytes of addresses or of names in lower case. With a part of an address, none of a
// page may be found and another page follow.
func (s *Store) People(ctx context.Context, page PeoplePage) ([]FoundPerson, error) {
	key, uid, only := `a.address COLLATE "C"`, `a.person`, `a.is_primary`
	if page.ByName {
		key, uid, only = `lower(p.name) COLLATE "C"`, `p.uid`, `p.name IS NOT NULL`
	}
	if page.Part == "" {
		page.Candidates = page.Limit
	}
	return database.All[FoundPerson](ctx, s.q, "list people", `
		WITH candidates AS MATERIALIZED (
			SELECT p.uid, p.name, p.created_at, p.last_login_at, a.address, a.verified_at, `+key+` AS key
			FROM identity.persons p
			JOIN identity.addresses a ON a.person = p.uid AND a.is_primary
			WHERE p.deleted_at IS NULL AND `+only+` AND (`+key+`, `+uid+`) > ($1, $2) AND `+key+` < $3
			ORDER BY `+key+`, `+uid+` LIMIT $4
		), page AS MATERIALIZED ( -- first: the planner would read all authenticators for its EXISTS
			SELECT * FROM (SELECT c.*, strpos(c.address, $5) > 0 AS found, row_number() OVER (ORDER BY c.key, c.uid) = $4 AS last
				FROM candidates c) c
			WHERE c.found OR c.last ORDER BY c.key, c.uid LIMIT $6
		)
		SELECT p.uid, coalesce(p.name, '') AS name, p.address AS email, p.verified_at IS NOT NULL AS verified, p.created_at, p.last_login_at,
		       f.uid IS NOT NULL AS has_factor, r.person IS NOT NULL AS operator, o.uid AS organization, coalesce(o.name,
			'') AS organization_name, p.key, p.found, p.last
		FROM page p
		LEFT JOIN LATERAL (
			SELECT f.uid FROM identity.authenticators f WHERE f.person = p.uid AND f.verified AND f.type IN ('totp', 'webauthn') LIMIT 1
		) f ON true
		LEFT JOIN identity.operators r ON r.person = p.uid
		LEFT JOIN LATERAL (SELECT m.organization FROM identity.memberships m WHERE m.person = p.uid OFFSET 0) m ON true
		LEFT JOIN LATERAL (SELECT o.uid, o.name FROM identity.organizations o WHERE o.uid = m.organization OFFSET 0) o ON true
		ORDER BY p.key, p.uid`, max(page.Prefix, page.AfterKey), page.After, page.Prefix+lastRune, page.Candidates,
		page.Part, page.Limit)
}

// UploadVolume returns a person's own monthly volume in bytes, nil for the server's default.
// Errors: identity.ErrPersonNotFound.
func (s *Store) UploadVolume(ctx context.Context, p id.Person) (*int64, error) {
	return database.Scalar[*int64](ctx, s.q, "read upload volume", identity.ErrPersonNotFound, `
		SELECT upload_volume_bytes FROM identity.persons WHERE uid = $1 AND deleted_at IS NULL`, p)
}
