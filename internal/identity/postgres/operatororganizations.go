package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
)

// OrganizationsPage selects a page of organizations: One, or those whose name or hostname begins with Prefix. They follow the position of
// AfterKey and After, which are zero for the first page.
type OrganizationsPage struct {
	One      id.Organization
	ByHost   bool   // by hostname, also a former one; else by name, where those without a name are first
	Prefix   string // lower case; empty: all
	AfterKey string // Key of the last organization of the page before
	After    id.Organization
	Limit    int
}

// FoundOrganization is an organization of a page with the key of its order.
type FoundOrganization struct {
	identity.ListedOrganization
	Key string
}

// rows returns the statement of the uids and keys of a page. An organization is found by the first of its hostnames that match. They are
// read by its uid, because the range of all hostnames before one grows with each page.
func (q OrganizationsPage) rows() (sql string, args []any) {
	switch {
	case !q.One.IsZero():
		return `SELECT o.uid, '' AS key FROM identity.organizations o WHERE o.uid = $2`, []any{q.One}
	case q.ByHost:
		return `SELECT h.organization AS uid, h.host COLLATE "C" AS key FROM identity.hosts h
			WHERE (h.host COLLATE "C", h.organization) > ($2, $3) AND h.host COLLATE "C" < $4
			  AND (SELECT bool_and(x.host COLLATE "C" >= h.host COLLATE "C" OR x.host COLLATE "C" < $6)
				FROM identity.hosts x WHERE x.organization = h.organization)
			ORDER BY h.host COLLATE "C", h.organization LIMIT $5`,
			[]any{max(q.Prefix, q.AfterKey), q.After, q.Prefix + lastRune, q.Limit, q.Prefix}
	}
	return `SELECT o.uid, lower(coalesce(o.name, '')) COLLATE "C" AS key FROM identity.organizations o
			WHERE (lower(coalesce(o.name, '')) COLLATE "C", o.uid) > ($2, $3) AND lower(coalesce(o.name, '')) COLLATE "C" < $4
			ORDER BY lower(coalesce(o.name, '')) COLLATE "C", o.uid LIMIT $5`,
		[]any{max(q.Prefix, q.AfterKey), q.After, q.Prefix + lastRune, q.Limit}
}

// Organizations returns a page of organizations, in the order of the bytes of names in lower case, or of hostnames.
func (s *Store) Organizations(ctx context.Context, q OrganizationsPage) ([]FoundOrganization, error) {
	rows, args := q.rows()
	return database.All[FoundOrganization](ctx, s.q, "list organizations", `
		WITH page AS MATERIALIZED (`+rows+`)
		SELECT page.uid, coalesce(o.name, '') AS name, o.free, coalesce(h.host, '') AS hostname, o.mfa_required, o.created_at, page.key,
		       (SELECT count(*) FROM (SELECT FROM identity.memberships m WHERE m.organization = page.uid LIMIT $1) m) AS members,
		       coalesce((SELECT l.service_enabled FROM identity.limits l WHERE l.organization = page.uid),
		                (SELECT l.service_enabled FROM identity.limits l WHERE l.organization = (SELECT f.uid FROM identity.organizations f
			WHERE f.free)), false) AS service_enabled
		FROM page CROSS JOIN LATERAL (SELECT * FROM identity.organizations o WHERE o.uid = page.uid OFFSET 0) o
		LEFT JOIN LATERAL (SELECT h.host FROM identity.hosts h WHERE h.organization = page.uid AND h.active OFFSET 0) h ON true
		ORDER BY page.key COLLATE "C", page.uid`, append([]any{identity.MaxCountedMembers}, args...)...)
}

// OrganizationState is what only operators see of an organization beside its limitations.
type OrganizationState struct {
	CreatedAt time.Time
	Members   int
	Passkeys  int      // that belong to the active hostname
	OwnLimits []string // limitations that do not follow the plan, by their names in the client environment
}

// OrganizationState returns the state of an organization.
// Errors: identity.ErrOrganizationNotFound.
func (s *Store) OrganizationState(ctx context.Context, o id.Organization) (OrganizationState, error) {
	var own strings.Builder
	for _, l := range identity.Limitations() {
		own.WriteString(`CASE WHEN l.` + l.Column + ` IS NOT NULL THEN '` + l.Name + `' END, `)
	}
	return database.One[OrganizationState](ctx, s.q, "read state of organization", identity.ErrOrganizationNotFound, `
		SELECT o.created_at, (SELECT count(*) FROM identity.memberships m WHERE m.organization = o.uid) AS members,
		       (SELECT count(*) FROM identity.hosts h JOIN identity.passkeys k ON k.host = h.host WHERE h.organization = o.uid
			AND h.active) AS passkeys,
		       array_remove(ARRAY[`+own.String()+`NULL], NULL) AS own_limits
		FROM identity.organizations o LEFT JOIN identity.limits l ON l.organization = o.uid WHERE o.uid = $1`, o)
}
