// Checks by query plans that lists of operators read no whole table.

package postgres

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/consign-dev/consign/internal/database"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit/pgtest"
	"github.com/consign-dev/consign/internal/testkit/plans"
)

// crowd makes organizations with two hostnames each, people with a passkey, and makes half of them members of one organization.
const crowd = `
	INSERT INTO identity.organizations (uid, free, name, locale, time_zone, created_at, updated_at)
	SELECT gen_random_uuid(), n = 1, 'Firm ' || n, 'en_US', 'UTC', now(), now() FROM generate_series(1, 3000) n;
	INSERT INTO identity.limits (organization, service_enabled) SELECT uid, true FROM identity.organizations;
	INSERT INTO identity.hosts (host, organization, active, created_at)
	SELECT a || replace(lower(name), ' ', '') || '.test', uid, a = '', now() FROM identity.organizations, unnest(ARRAY['', 'old-']) a;
	INSERT INTO identity.persons (uid, name, locale, time_zone, created_at) SELECT gen_random_uuid(), n::text, 'en_US', 'UTC', now()
		FROM generate_series(1, 3000) n;
	INSERT INTO identity.addresses (person, address, is_primary, verified_at, created_at) SELECT uid, 'p' || name || '@example.com', true,
		now(), now() FROM identity.persons;
	INSERT INTO identity.memberships (person, organization, roles, created_at)
	SELECT p.uid, o.uid, '{}', now() FROM identity.persons p, identity.organizations o
		WHERE o.name = CASE WHEN p.name::int % 2 = 0 THEN 'Firm 7' ELSE 'Firm ' || p.name END;
	INSERT INTO identity.authenticators (uid, person, type, verified, registered_at, updated_at) SELECT gen_random_uuid(), uid, 'webauthn',
		true, now(), now() FROM identity.persons;
	INSERT INTO identity.passkeys (authenticator, host, credential_id, public_key, sign_count, transports, backup_eligible, backed_up, aaguid)
	SELECT a.uid, 'firm' || p.name || '.test', a.uid::text::bytea, '', 0, '{}', false, false, '' FROM identity.authenticators a
		JOIN identity.persons p ON p.uid = a.person;
	ANALYZE;`

// TestListsOfOperatorsReadNoWholeTable: with thousands of people and organizations, no list of the console reads a table that grows with
// them from end to end, nor does the report of an organization.
func TestListsOfOperatorsReadNoWholeTable(t *testing.T) {
	t.Parallel()
	db, err := database.New(t.Context(), pgtest.URL(t), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if _, err := db.Pool.Exec(t.Context(), crowd); err != nil {
		t.Fatal(err)
	}
	var firm id.Organization
	var member id.Person
	if err := db.Pool.QueryRow(t.Context(), `
		SELECT o.uid, m.person FROM identity.organizations o JOIN identity.memberships m ON m.organization = o.uid
			WHERE o.name = 'Firm 7' LIMIT 1`).Scan(&firm.UUID, &member.UUID); err != nil {
		t.Fatal(err)
	}
	w := plans.New(t, db.Pool)
	s, ctx := New(db), t.Context()
	s.q = w
	find := func(q OrganizationsPage) func() (int, error) {
		q.Limit = 51
		return func() (int, error) { list, err := s.Organizations(ctx, q); return len(list), err }
	}
	for name, of := range map[string]struct {
		read func() (int, error)
		want int
	}{
		"all organizations": {find(OrganizationsPage{}), 51},
		"by name":           {find(OrganizationsPage{Prefix: "firm 77"}), 11},
		"by name, later":    {find(OrganizationsPage{Prefix: "firm 77", AfterKey: "firm 778", After: id.Organization{UUID: uuid.Max}}), 1},
		"by hostname":       {find(OrganizationsPage{ByHost: true, Prefix: "old-firm77"}), 11},
		"by any hostname":   {find(OrganizationsPage{ByHost: true}), 51},
		"one":               {find(OrganizationsPage{One: firm}), 1},
		"report":            {func() (int, error) { r, err := s.OrganizationState(ctx, firm); return r.Members, err }, 1501},
		"members": {func() (int, error) {
			list, err := s.MembersAfter(ctx, firm, identity.JoinedMember{}, 51)
			return len(list), err
		}, 51},
		"later members": {func() (int, error) {
			list, err := s.MembersAfter(ctx, firm, identity.JoinedMember{Member: identity.Member{UID: member}, Since: time.Unix(0, 0)}, 51)
			return len(list), err
		}, 51},
		"found members": {func() (int, error) {
			list, _, err := s.FindMembers(ctx, MemberPage{Organization: firm, Limit: 50})
			return len(list), err
		}, 50},
		"members by a part of the address": {func() (int, error) {
			list, _, err := s.FindMembers(ctx, MemberPage{Organization: firm, AfterSince: time.Unix(0, 0), Search: "example.com", Candidates: 100,
				Limit: 50})
			return len(list), err
		}, 50},
		"people by address": {func() (int, error) {
			list, err := s.People(ctx, PeoplePage{Limit: 51})
			return len(list), err
		}, 51},
		"people by a part of the address": {func() (int, error) {
			list, err := s.People(ctx, PeoplePage{Part: "10", Candidates: 100, Limit: 51})
			return len(list), err
		}, 51},
		"people by name": {func() (int, error) {
			list, err := s.People(ctx, PeoplePage{ByName: true, Prefix: "77", Limit: 51})
			return len(list), err
		}, 11},
	} {
		got, err := of.read()
		if err != nil || got != of.want {
			t.Errorf("%s: %d, want %d (%v)", name, got, of.want, err)
		}
		for _, table := range append(w.Scans, w.Generic...) {
			if slices.Contains([]string{"organizations", "hosts", "limits", "memberships", "persons", "addresses", "authenticators", "passkeys"},
				table) {
				t.Errorf("%s reads all of %s", name, table)
			}
		}
		if len(w.Removed) > 0 {
			t.Errorf("%s reads rows that it does not need: %v", name, w.Removed)
		}
	}
	blocks := func(q OrganizationsPage) int {
		if _, err := find(q)(); err != nil {
			t.Error(err)
		}
		return w.Blocks
	}
	first, later := blocks(OrganizationsPage{ByHost: true}), blocks(OrganizationsPage{ByHost: true, AfterKey: "firm9"})
	if later > 2*first {
		t.Errorf("a late page by hostname reads %d blocks, the first one %d", later, first)
	}
	rows, err := s.People(ctx, PeoplePage{Part: "p77", Candidates: 100, Limit: 51}) // a later address has it
	if err != nil || len(rows) != 1 || rows[0].Found || !rows[0].Last {
		t.Errorf("the last candidate, behind which the next page begins: %+v (%v)", rows, err)
	}
}
