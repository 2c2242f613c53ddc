package postgres

import (
	"context"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// MemberPage selects a page of the members of an organization, oldest membership first.
type MemberPage struct {
	Organization id.Organization
	Search       string    // lower case, contained in name, address or reference; empty: all
	AfterSince   time.Time // of the member before the page; zero: from the oldest
	After        id.Person
	Candidates   int // how many members a page compares with Search
	Limit        int
}

// MemberPosition is a member and the beginning of the membership.
type MemberPosition struct {
	Person id.Person
	Since  time.Time
}

// FindMembers returns the members of a page, and the position behind which the next one begins, which is zero on the last page. With a
// search, a page may be empty and have a next one.
func (s *Store) FindMembers(ctx context.Context, page MemberPage) (found []id.Person, next MemberPosition, err error) {
	type row struct {
		MemberPosition
		Found, Last bool
	}
	if page.Search == "" {
		page.Candidates = page.Limit + 1
	}
	rows, err := database.All[row](ctx, s.q, "find members", `
		WITH candidates AS MATERIALIZED (
			SELECT m.person, m.created_at, m.reference FROM identity.memberships m
			WHERE m.organization = $1 AND (m.created_at, m.person) > ($2, $3) ORDER BY m.created_at, m.person LIMIT $4
		)
		SELECT person, since, found, last FROM (
			SELECT c.person, c.created_at AS since, row_number() OVER (ORDER BY c.created_at, c.person) = $4 AS last,
				$5 = '' OR strpos(lower(concat_ws(' ', c.reference, (SELECT p.name FROM identity.persons p WHERE p.uid = c.person),
				(SELECT a.address FROM identity.addresses a WHERE a.person = c.person AND a.is_primary))), $5) > 0 AS found
			FROM candidates c
		) c WHERE found OR last ORDER BY since, person LIMIT $6`,
		page.Organization, page.AfterSince, page.After, page.Candidates, page.Search, page.Limit+1)
	if err != nil {
		return nil, next, err
	}
	var last MemberPosition
	for _, r := range rows {
		if r.Found && len(found) == page.Limit {
			return found, last, nil
		}
		if r.Found {
			found, last = append(found, r.Person), r.MemberPosition
		}
		if r.Last {
			next = r.MemberPosition
		}
	}
	return found, next, nil
}

// SeenMembers returns members of an organization as an administrator sees them, oldest membership first. Sessions that were not used since
// idleSince have ended.
func (s *Store) SeenMembers(ctx context.Context, o id.Organization, persons []id.Person, now,
	idleSince time.Time) ([]identity.SeenMember, error) {
	const alive = `FROM identity.id_tokens t WHERE t.person = m.person AND t.state = 'active' AND t.expires_at > $3 AND coalesce(t.last_used_at, t.issued_at) > $4`
	return database.All[identity.SeenMember](ctx, s.q, "list members with state", `
		SELECT m.created_at AS since, a.verified_at IS NOT NULL AS verified,
			EXISTS (SELECT FROM identity.authenticators f WHERE f.person = m.person AND f.verified AND f.type IN ('totp', 'webauthn')) AS has_factor,
			(SELECT count(*) `+alive+`) AS sessions, greatest(p.last_login_at, (SELECT max(coalesce(t.last_used_at, t.issued_at)) `+alive+
		`)) AS used_at,`+memberColumns+`
		WHERE m.organization = $1 AND m.person = ANY ($2) ORDER BY m.created_at, m.person`, o, persons, now, idleSince)
}
