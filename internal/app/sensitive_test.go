// Tests of sensitive changes of organizations, as the route tables declare them (contract 3.29).

package app_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/consign-dev/consign/internal/identity"
	"github.com/consign-dev/consign/internal/testkit"
	"github.com/consign-dev/consign/internal/token"
)

// organizationChanges are the routes that change an organization, of which each declares what is sensitive.
var organizationChanges = regexp.MustCompile(`^(/id/v3/(organizations|webhooks|invitations)|/transfer/v2/adminunit|/admin/v1/organizations)(/|$)`)

// TestSensitiveRoutesAreDeclared: a route that changes an organization says which sensitive changes it can make, or why none. One that
// always makes one takes no API tokens.
func TestSensitiveRoutesAreDeclared(t *testing.T) {
	t.Parallel()
	s := testkit.New(t)
	overseeing := map[string]bool{ // they change transfers, not the organization
		"/transfer/v2/adminunit/transfers/{uid}/extend": true, "/transfer/v2/adminunit/transfers/{uid}/revoke": true,
	}
	for _, r := range s.App.API.Routes() {
		name := r.Method + " " + r.Path
		changes := r.Method != http.MethodGet && r.Method != http.MethodHead && organizationChanges.MatchString(r.Path) && !overseeing[r.Path]
		declared := len(r.Sensitive) > 0 || r.Harmless != ""
		if changes != declared {
			t.Errorf("%s changes an organization: %v; it declares it: %v", name, changes, declared)
		}
		for _, c := range r.Sensitive {
			if c.When == "" && len(r.Auth.Scopes()) > 0 {
				t.Errorf("%s always makes the change %s, and takes API tokens", name, c.Change)
			}
		}
	}
}

// sensitiveWorld is an organization with two administrators and a member, whose sessions are old, an API token with all scopes, and an
// operator.
type sensitiveWorld struct {
	t                                   *testing.T
	s                                   *testkit.Server
	ann, bob, carl, dora, program, olga *testkit.Person
	organization, path, target          string
	code, key                           func() string // of olga's second factor; of the invitation of a case
}

const admin, use = identity.RoleOrganizationAdmin, identity.RoleTransferUse

func newSensitiveWorld(t *testing.T) *sensitiveWorld {
	w := &sensitiveWorld{t: t, s: testkit.New(t)}
	sign := func(name string) *testkit.Person { return w.s.SignUp(name + "@example.com") }
	w.ann, w.bob, w.carl, w.dora = sign("ann"), sign("bob"), sign("carl"), sign("dora")
	created := w.ann.Post(w.s.Identity+"/organizations", map[string]any{"name": "Acme"}).Want(http.StatusCreated)
	w.organization = created.String("uid")
	w.path = w.s.Identity + "/organizations/" + w.organization
	w.roles("bob", admin)
	w.roles("carl", use)
	w.ann, w.bob, w.carl = w.ann.Login(), w.bob.Login(), w.carl.Login()
	var scopes []string
	for _, scope := range token.Scopes {
		if scope != token.ScopeMailboxDrop {
			scopes = append(scopes, string(scope))
		}
	}
	w.program = w.s.Stranger().As(w.ann.As(w.ann.ID).Post(w.s.Identity+"/tokens", map[string]any{"name": "p", "scopes": scopes}).Want(
		http.StatusCreated).String("token"))
	w.target = w.s.Identity + "/webhooks/" + w.ann.Post(w.s.Identity+"/webhooks", w.exports("a.example.com", nil)).Want(
		http.StatusCreated).String("uid")
	w.olga, w.code = w.s.SignUpOperator("olga@example.com")
	return w
}

// roles gives a member roles, as a command.
func (w *sensitiveWorld) roles(name string, roles ...string) {
	w.t.Helper()
	if err := w.s.App.Identity.SetMember(w.t.Context(), testkit.Command, w.organization, name+"@example.com", roles); err != nil {
		w.t.Fatal(err)
	}
}

func (w *sensitiveWorld) exports(host string, proof map[string]any) map[string]any {
	return with(proof, "url", "webdav+https://"+host+"/in", "events", []string{"TRANSFER_RECEIVED"}, "user", "ann", "password", "secret",
		"organization", w.organization)
}

// with returns a proof with further members.
func with(proof map[string]any, more ...any) map[string]any {
	body := map[string]any{}
	for name, value := range proof {
		body[name] = value
	}
	for i := 0; i < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return body
}

// sensitiveCase makes one sensitive change.
type sensitiveCase struct {
	prepare func()
	late    func()          // prepares after the access token was renewed
	by      *testkit.Person // nil: ann
	body    func(proof map[string]any) map[string]any
	path    string // empty: that of the route with the uid of the organization
	want    int
}

// cases returns how to make each declared change, by route and change. They run in the order of the list.
func (w *sensitiveWorld) cases() (order []string, all map[string]sensitiveCase) {
	plain := func(proof map[string]any) map[string]any { return with(proof) }
	member := func(p *testkit.Person) string { return w.path + "/members/" + subject(p) }
	roles := func(list ...string) func(map[string]any) map[string]any {
		return func(proof map[string]any) map[string]any { return with(proof, "roles", list) }
	}
	profile := func(proof map[string]any) map[string]any {
		return with(proof, "name", "Acme", "locale", "en_US", "timeZone", "UTC", "inactiveHostnames", []string{})
	}
	var key string
	add := func(name string, c sensitiveCase) {
		order = append(order, name)
		if all == nil {
			all = map[string]sensitiveCase{}
		}
		all[name] = c
	}
	const of, operator = "/id/v3/organizations/{uid}", "/admin/v1/organizations/{organization}"
	at := strings.Replace(operator, "{organization}", w.organization, 1)
	for _, path := range []string{"/id/v3/webhooks", "/id/v3/webhooks/{uid}"} {
		c := sensitiveCase{body: func(proof map[string]any) map[string]any { return w.exports("b.example.com", proof) }, want: http.StatusCreated}
		method := "POST"
		if strings.HasSuffix(path, "}") {
			method, c.path, c.want = "PUT", w.target, http.StatusOK
			c.body = func(proof map[string]any) map[string]any {
				body := w.exports("c.example.com", proof)
				delete(body, "organization")
				return body
			}
		}
		add(method+" "+path+" "+string(token.TargetChanged), c)
	}
	add("PUT /transfer/v2/adminunit "+string(token.RulesLowered), sensitiveCase{want: http.StatusOK,
		prepare: func() {
			w.ann.Put(w.s.Transfer+"/adminunit", map[string]any{"protectionLevel": "password"}).Want(http.StatusOK)
		}, body: plain})
	hold := func(proof map[string]any) map[string]any {
		return with(proof, "kind", "person", "subject", "carl@example.com", "case", "Case 7", "reason", "Court order")
	}
	add("POST /transfer/v2/adminunit/holds "+string(token.HoldChanged), sensitiveCase{want: http.StatusCreated, body: hold})
	const held = "0193f0b1-0c2d-7e4f-8a91-6b5c4d3e2f30"
	add("POST /transfer/v2/adminunit/holds/{uid}/end "+string(token.HoldChanged), sensitiveCase{want: http.StatusNoContent,
		path: w.s.Transfer + "/adminunit/holds/" + held + "/end",
		prepare: func() {
			if _, err := w.s.App.DB.Pool.Exec(w.t.Context(), `INSERT INTO holds (uid, kind, subject, name, reason, created_at, organization)
				SELECT $1, 'person', person, 'Case 8', 'Court order', now(), $2 FROM identity.addresses WHERE address = 'carl@example.com'`,
				held, w.organization); err != nil {
				w.t.Fatal(err)
			}
		},
		body: func(proof map[string]any) map[string]any { return with(proof, "reason", "The case is closed") }})
	add("PUT "+of+"/uploadorigins "+string(token.OriginsChanged), sensitiveCase{want: http.StatusOK,
		body: func(proof map[string]any) map[string]any {
			return with(proof, "origins", []string{"https://evil.example.org"})
		}})
	add("PUT "+of+"/security "+string(token.FactorWaived), sensitiveCase{want: http.StatusOK,
		late: func() { // ann has no factor
			if _, err := w.s.App.DB.Pool.Exec(w.t.Context(), `UPDATE identity.organizations SET mfa_required = true WHERE uid = $1`,
				w.organization); err != nil {
				w.t.Fatal(err)
			}
		},
		body: func(proof map[string]any) map[string]any { return with(proof, "mfaRequired", false) }})
	add("POST "+of+"/invitations "+string(token.AdministratorInvited), sensitiveCase{want: http.StatusCreated,
		body: func(proof map[string]any) map[string]any {
			return with(proof, "address", "dora@example.com", "roles", []string{admin})
		}})
	add("PUT "+of+"/members/{person} "+string(token.AdministratorAdded), sensitiveCase{path: member(w.carl), want: http.StatusOK,
		body: roles(admin)})
	add("PUT "+of+"/members/{person} "+string(token.AdministratorRemoved), sensitiveCase{path: member(w.carl), want: http.StatusOK,
		body: roles(use)})
	add("DELETE "+of+"/members/{person} "+string(token.AdministratorRemoved), sensitiveCase{path: member(w.carl), want: http.StatusNoContent,
		prepare: func() { w.roles("carl", admin) }, body: plain})
	add("POST /id/v3/invitations/{key}/accept "+string(token.AdministratorAdded), sensitiveCase{by: w.dora, want: http.StatusNoContent,
		prepare: func() {
			key = w.ann.Get(w.path + "/invitations").Want(http.StatusOK).String("invitations.0.key")
		},
		body: plain})
	add("POST "+of+"/leave "+string(token.AdministratorRemoved), sensitiveCase{by: w.bob, body: plain, want: http.StatusNoContent,
		prepare: func() { w.bob.Refresh() }})
	add("POST /id/v3/invitations/{key}/accept "+string(token.AdministratorRemoved), sensitiveCase{by: w.dora, want: http.StatusNoContent,
		prepare: func() {
			w.roles("bob", admin)
			i, err := w.s.App.Identity.CreateSharedInvitation(w.t.Context(), testkit.Command, "free", []string{use})
			if err != nil {
				w.t.Fatal(err)
			}
			key = i.Key
		},
		body: func(proof map[string]any) map[string]any { return with(proof, "leave", true) }})
	add("POST "+operator+"/set-member "+string(token.AdministratorAdded), sensitiveCase{by: w.olga, path: at + "/set-member",
		want: http.StatusNoContent, body: func(map[string]any) map[string]any {
			return because("person", "carl@example.com", "roles", []string{admin})
		}})
	add("POST "+operator+"/set-member "+string(token.AdministratorRemoved), sensitiveCase{by: w.olga, path: at + "/set-member",
		want: http.StatusNoContent, body: func(map[string]any) map[string]any {
			return because("person", "carl@example.com", "roles", []string{use})
		}})
	add("POST "+operator+"/remove-member "+string(token.AdministratorRemoved), sensitiveCase{by: w.olga, path: at + "/remove-member",
		want: http.StatusNoContent, prepare: func() { w.roles("carl", admin) },
		body: func(map[string]any) map[string]any { return because("person", "carl@example.com") }})
	add("POST "+operator+"/set "+string(token.FactorWaived), sensitiveCase{by: w.olga, path: at + "/set", want: http.StatusNoContent,
		prepare: func() {
			err := w.s.App.Identity.SetOrganization(w.t.Context(), testkit.Command, w.organization,
				identity.OrganizationChange{MFARequired: new(true)})
			if err != nil {
				w.t.Fatal(err)
			}
		},
		body: func(map[string]any) map[string]any { return because("mfaRequired", false) }})
	add("POST "+operator+"/host "+string(token.HostnameChanged), sensitiveCase{by: w.olga, path: at + "/host", want: http.StatusNoContent,
		body: func(map[string]any) map[string]any { return because("hostname", "a.acme.test") }})
	add("PUT "+of+"/profile "+string(token.HostnameChanged), sensitiveCase{body: profile, want: http.StatusOK,
		prepare: func() {
			if err := w.s.App.Identity.SetHostname(w.t.Context(), testkit.Command, w.organization, "b.acme.test"); err != nil {
				w.t.Fatal(err)
			}
		}})
	add("DELETE "+of+" "+string(token.OrganizationDeleted), sensitiveCase{body: plain, want: http.StatusNoContent})
	for name, c := range all {
		if strings.Contains(name, "/accept ") {
			c.path = "key"
			all[name] = c
		}
	}
	w.key = func() string { return key }
	return order, all
}

// subject returns the uid of a person.
func subject(p *testkit.Person) string {
	return p.Get(p.Server.Identity + "/profile").Want(http.StatusOK).String("uid")
}

// TestAttackSensitiveChanges makes each sensitive change that a route table declares: with a session that is not young, with an API token
// of all scopes, and with a proof. What it sees is the table in docs/develop/sensitive-changes.md, which
// go test ./internal/app -run AttackSensitiveChanges -update writes.
func TestAttackSensitiveChanges(t *testing.T) {
	t.Parallel()
	w := newSensitiveWorld(t)
	w.ann.Put(w.path+"/security", map[string]any{"mfaRequired": false}).Want(http.StatusOK)
	order, all := w.cases()
	declared := map[string]string{}
	for _, r := range w.s.App.API.Routes() {
		for _, c := range r.Sensitive {
			name := r.Method + " " + r.Path + " " + string(c.Change)
			declared[name] = c.When
			if _, ok := all[name]; !ok {
				t.Errorf("%s has no case here", name)
			}
		}
	}
	rows := map[string]string{}
	for _, name := range order {
		when, ok := declared[name]
		if !ok {
			t.Errorf("%s is declared by no route", name)
			continue
		}
		rows[name] = w.attack(name, when, all[name])
	}
	slices.Sort(order)
	var doc strings.Builder
	doc.WriteString(sensitiveHead)
	for _, name := range order {
		doc.WriteString(rows[name])
	}
	checkGenerated(t, "docs/develop/sensitive-changes.md", doc.String())
}

const sensitiveHead = `# Sensitive changes of organizations

What the routes answer that can change who rules an organization, and what is then mailed and recorded (contract 3.29). The column
"young" is also a request with a proof. The test TestAttackSensitiveChanges makes each change and writes this table;
TestSensitiveRoutesAreDeclared checks that no route is missing.

| route | change, when | not young | API token | young | mail to administrators | audit |
|---|---|---|---|---|---|---|
`

// attack makes a change in each way, and returns the row about it.
func (w *sensitiveWorld) attack(name, when string, c sensitiveCase) string {
	w.t.Helper()
	w.t.Log(name)
	s := w.s
	if c.prepare != nil {
		c.prepare()
	}
	by := c.by
	if by == nil {
		by = w.ann
	}
	route, change := name[:strings.LastIndexByte(name, ' ')], name[strings.LastIndexByte(name, ' ')+1:]
	method, path, _ := strings.Cut(route, " ")
	switch c.path {
	case "":
		c.path = strings.Replace(path, "{uid}", w.organization, 1)
	case "key":
		c.path = strings.Replace(path, "{key}", w.key(), 1)
	}
	mails, last := w.number(mailsAboutOrganizations), w.number(lastEntry)
	s.Clock.Advance(16 * time.Minute)
	by.Refresh()
	if c.late != nil {
		c.late()
	}
	program := answered(w.program.Do(method, c.path, c.body(nil)))
	old := by.Do(method, c.path, c.body(nil))
	young := old
	if old.Status >= 300 {
		if w.number(mailsAboutOrganizations) != mails {
			w.t.Errorf("%s: a refused change was mailed", name)
		}
		if by == w.olga {
			by = by.As(by.Post("/admin/v1/session", map[string]any{"authKey": testkit.Password,
				"authFactor": map[string]any{"type": "totp", "key": w.code()}}).Want(http.StatusOK).String("token"))
		}
		young = by.Do(method, c.path, c.body(map[string]any{"authKey": testkit.Password}))
	}
	young.Want(c.want)
	if raw := strings.TrimPrefix(young.Header.Get("Authorization"), "Bearer "); raw != "" {
		by.ID = raw
	}
	mailed := "no"
	if w.number(mailsAboutOrganizations) > mails {
		mailed = "yes"
	}
	var actions string
	err := s.App.DB.Pool.QueryRow(w.t.Context(), `SELECT string_agg(DISTINCT action, ', ' ORDER BY action) FROM audit
		WHERE id > $1 AND kind <> 'job' AND action !~ '^(console|session|token)[.]'`, last).Scan(&actions)
	if err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |\n", route, strings.TrimSuffix(change+": "+when, ": "), answered(old), program,
		answered(young), mailed, actions)
}

const (
	mailsAboutOrganizations = `SELECT count(*) FROM mails WHERE template IN ('organization-changed', 'organization-deleted')`
	lastEntry               = `SELECT coalesce(max(id), 0) FROM audit`
)

// number returns the number that a query selects.
func (w *sensitiveWorld) number(sql string) (n int64) {
	w.t.Helper()
	if err := w.s.App.DB.Pool.QueryRow(w.t.Context(), sql).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// answered returns the code of an error, or the status.
func answered(r *testkit.Response) string {
	if r.Status < 300 {
		return fmt.Sprint(r.Status)
	}
	return fmt.Sprint(int(r.Number("error.code")))
}
