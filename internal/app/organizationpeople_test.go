package app_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/consign-dev/consign/internal/audit"
	"github.com/consign-dev/consign/internal/fault"
	"github.com/consign-dev/consign/internal/id"
	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/testkit/poll"
	"github.com/consign-dev/consign/internal/token"
)

// peopleOf returns the path of the people of the organization at a host.
func peopleOf(t *testing.T, s *testkit.Server, host string) string {
	t.Helper()
	return s.Identity + "/organizations/" + organizationOf(t, s, host) + "/people"
}

// TestAdministratorsSeeTheirPeople: an administrator finds members by name, address and reference, page by page, with their state, and
// nobody of another organization.
func TestAdministratorsSeeTheirPeople(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	own := addFirm(t, s, "org.test", "")
	addFirm(t, s, "other.test", "o")
	at := peopleOf(t, s, "org.test")
	bob := own.bob.Get(s.Identity + "/profile").Want(http.StatusOK).String("uid")
	member := strings.TrimSuffix(at, "/people") + "/members/" + bob
	own.ann.Put(member, map[string]any{"roles": []string{"Service.Transfer.Use"}, "reference": "Ward 7"}).Want(http.StatusOK)
	list := func(query string) []map[string]any {
		t.Helper()
		var body struct{ People []map[string]any }
		own.ann.Get(at + query).Want(http.StatusOK).JSON(&body)
		return body.People
	}
	if got := list("?search=WARD"); len(got) != 1 || got[0]["email"] != "bob@example.com" || got[0]["hasFactor"] != false ||
		got[0]["verified"] != true || got[0]["sessions"] != 1.0 || got[0]["usedAt"] == nil {
		t.Errorf("Bob is %v", got)
	}
	if _, err := s.App.DB.Pool.Exec(t.Context(), `
		INSERT INTO identity.authenticators (uid, person, type, verified, secret, registered_at, updated_at) VALUES (gen_random_uuid(), $1,
			'totp', true, '\x00', now(), now())`, bob); err != nil {
		t.Fatal(err)
	}
	if got := list("?search=bob%40"); len(got) != 1 || got[0]["hasFactor"] != true {
		t.Errorf("Bob with a factor is %v", got)
	}
	for query, want := range map[string]int{"": 2, "?search=example.com": 2, "?search=obob": 0, "?search=%25": 0, "?search=%20ann@%20": 1} {
		if got := list(query); len(got) != want {
			t.Errorf("%q finds %v, want %d", query, got, want)
		}
	}
	for _, query := range []string{"?after=x", "?after=AAAAAAAAAAAAAAAAAAAAAAA", "?search=%00", "?search=%ff",
		"?search=" + strings.Repeat("x", 300)} {
		own.ann.Get(at + query).WantError(fault.ErrInvalid)
	}
	// Many members, some of the same time, of whom one of the last is called Zoe.
	if _, err := s.App.DB.Pool.Exec(t.Context(), `
		WITH p AS (
			INSERT INTO identity.persons (uid, name, locale, time_zone, created_at)
			SELECT gen_random_uuid(), CASE WHEN n = 2100 THEN 'Zoe' ELSE 'Many' END, 'en_US', 'UTC', now() + (n / 3) * interval '1 second'
				FROM generate_series(1, 2100) n RETURNING uid, created_at
		)
		INSERT INTO identity.memberships (person, organization, roles, created_at) SELECT p.uid, h.organization, '{}', p.created_at FROM p,
			identity.hosts h WHERE h.host = 'org.test'`); err != nil {
		t.Fatal(err)
	}
	got, pages := uids(t, own.ann, at, "people")
	slices.Sort(got)
	if different := len(slices.Compact(slices.Clone(got))); len(got) != 2102 || different != 2102 || pages != 43 {
		t.Errorf("%d people, %d of them different, in %d pages", len(got), different, pages)
	}
	if got, pages := uids(t, own.ann, at+"?search=zoe", "people"); len(got) != 1 || pages != 2 {
		t.Errorf("zoe finds %v in %d pages", got, pages)
	}
}

// TestWhoSeesPeople calls the list and the end of sessions as everybody who is no administrator of the organization.
func TestWhoSeesPeople(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	own, other := addFirm(t, s, "org.test", ""), addFirm(t, s, "other.test", "o")
	at := peopleOf(t, s, "org.test")
	bob := own.bob.Get(s.Identity + "/profile").Want(http.StatusOK).String("uid")
	end := strings.TrimSuffix(at, "/people") + "/members/" + bob + "/end-sessions"
	if err := s.App.Identity.AddOperator(t.Context(), testkit.Command, "bob@example.com", token.RoleOperator); err != nil {
		t.Fatal(err)
	}
	program := func(scope string) *testkit.Person {
		made := own.ann.As(own.ann.ID).Post(s.Identity+"/tokens",
			map[string]any{"name": "program", "scopes": []string{scope}}).Want(http.StatusCreated)
		return own.ann.As(made.String("token"))
	}
	reader, sender := program("organization:read"), program("transfers:send")
	for _, c := range []struct {
		who  *testkit.Person
		want *fault.Error
	}{
		{own.ann.As(""), token.ErrMissing}, {own.bob, identity.ErrRoleMissing},
		{own.bob.As(mintAccess(t, s, "bob@example.com", func(*token.Claims) {})), identity.ErrRoleMissing},
		{other.ann, identity.ErrNotMember}, {sender, token.ErrScope},
	} {
		c.who.Get(at).WantError(c.want)
		c.who.Post(end, nil).WantError(c.want)
	}
	reader.Get(at).Want(http.StatusOK)
	reader.Post(end, nil).WantError(token.ErrScope)
	stranger := other.bob.Get(s.Identity + "/profile").Want(http.StatusOK).String("uid")
	for _, uid := range []string{stranger, "x", id.New[id.Person]().String()} {
		own.ann.Post(strings.TrimSuffix(at, "/people")+"/members/"+uid+"/end-sessions", nil).WantError(identity.ErrMemberNotFound)
	}
	own.bob.Get(s.Identity + "/profile").Want(http.StatusOK)
	other.bob.Get(s.Identity + "/profile").Want(http.StatusOK)
}

// TestAdministratorEndsSessions: all sessions and API tokens of the member end, and nobody else's. The member can sign in again. The audit
// of the organization has it.
func TestAdministratorEndsSessions(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	own := addFirm(t, s, "org.test", "")
	at := peopleOf(t, s, "org.test")
	bob := own.bob.Get(s.Identity + "/profile").Want(http.StatusOK).String("uid")
	program := own.bob.As(own.bob.As(own.bob.ID).Post(s.Identity+"/tokens",
		map[string]any{"name": "program", "scopes": []string{"transfers:read"}}).Want(http.StatusCreated).String("token"))
	program.Get(s.Transfer + "/transfers").Want(http.StatusOK)
	end := strings.TrimSuffix(at, "/people") + "/members/" + bob + "/end-sessions"
	own.ann.Post(end, nil).Want(http.StatusNoContent)
	own.ann.Post(end, nil).Want(http.StatusNoContent) // a repeated request
	for _, p := range []*testkit.Person{own.bob, program} {
		poll.Until(t, "the session ends", func() bool { return p.Get(s.Transfer+"/transfers").Status == http.StatusUnauthorized })
	}
	if got := own.bob.As(own.bob.ID).Post(s.Identity+"/auth/access", nil); got.Status != http.StatusUnauthorized {
		t.Errorf("the ID token gets %d %s", got.Status, got.Body)
	}
	own.ann.Get(at).Want(http.StatusOK)
	signIn(s.Stranger().With("Host", "org.test"), "bob@example.com").Get(s.Transfer + "/transfers").Want(http.StatusOK)
	seen := own.ann.Get(strings.TrimSuffix(at, "/people") + "/audit?action=session.end-all").Want(http.StatusOK)
	if seen.String("entries.0.actor.email") != "ann@example.com" || seen.String("entries.0.target.email") != "bob@example.com" {
		t.Errorf("the audit of the organization has %s", seen.Body)
	}
	for _, lines := range []*testkit.Response{
		own.ann.Get(strings.TrimSuffix(at, "/people") + "/audit?action=session.end-all&format=jsonl").Want(http.StatusOK),
		own.ann.With("Accept", "application/x-ndjson").Get(strings.TrimSuffix(at, "/people") + "/audit?action=session.end-all&person=" +
			bob).Want(http.StatusOK),
	} {
		var entries []map[string]any
		for decoder := json.NewDecoder(bytes.NewReader(lines.Body)); decoder.More(); {
			var e map[string]any
			if err := decoder.Decode(&e); err != nil {
				t.Fatal(err)
			}
			entries = append(entries, e)
		}
		if len(entries) != 2 || entries[1]["action"] != "session.end-all" || bytes.Count(lines.Body, []byte("\n")) != 2 ||
			strings.Contains(string(lines.Body), "127.0.0.1") {
			t.Errorf("as lines of JSON: %s", lines.Body)
		}
	}
	// A person's own sign-out everywhere is not the organization's.
	own.ann.As(own.ann.ID).Post(s.Identity+"/auth/logout?jti=all", nil)
	uid, err := id.Parse[id.Organization](organizationOf(t, s, "org.test"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := audit.List(t.Context(), s.App.DB.Pool, audit.Filter{Action: "session.end-all", Organization: uid})
	if err != nil || len(entries) != 2 {
		t.Errorf("%d entries of the organization (%v)", len(entries), err)
	}
}
